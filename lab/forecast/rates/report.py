"""A backtest's report as JSON and as markdown; equal findings give equal bytes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from features.demand.rules import RULES
from lab.forecast.rates.backtest import Backtest
from lab.forecast.rates.scores import FORECAST

NAMES = {
    "last_value": "last value",
    "hour_mean": "mean of the last hour",
    "seasonal_day": "same time yesterday",
    "seasonal_week": "same time last week",
    "holt_winters": "Holt-Winters",
    "fourier": "Fourier, as Crane",
}
SHORT = dict(zip(RULES, ("last", "hour", "day", "week", "H-W", "FFT"), strict=True))
NOTE = (
    "Weighted quantile loss: 2 * pinball / outcomes, mean over the quantiles 0.05, 0.1, 0.5, 0.9 and 0.95, over all "
    "series, origins and horizons. The columns behind it are ratios of the forecast's loss to a rule's (the best one, "
    "last value, mean of the last hour, same time yesterday, same time last week, Holt-Winters, Fourier as Crane): "
    "below 1 the forecast is better. Each rule has bands from its own past errors. In band: outcomes between the "
    "quantiles 0.1 and 0.9, 80 % are meant. Rising edge: the last quarter of an hour lies 10 % or more above the "
    "one an hour before the origin."
)


def as_json(found: Backtest, model_id: str) -> dict[str, Any]:
    """Return everything that was found."""
    return {
        "dataset": found.dataset,
        "model_id": model_id,
        "step_seconds": found.step_seconds,
        "series": found.series,
        "predictions": found.predictions,
        "repairs": asdict(found.repairs),
        "silent_origins": dict(sorted(found.silent.items())),
        "parts": found.parts,
    }


def as_markdown(found: Backtest, model_id: str) -> str:
    """Return the report as markdown."""
    lines = [f"# Backtest of {model_id} on {found.dataset}", "", f"{NOTE}", ""]
    lines += [f"- {text}" for text in about(found)] + [""]
    for name, part in found.parts.items():
        lines += [f"## Part {name}", "", *_sentences(part), ""]
        lines += [
            "| horizon | " + " | ".join(head_row()) + " |",
            "|---" * (len(head_row()) + 1) + "|",
        ]
        for title, figures in rows_of(part):
            lines.append(f"| {title} | " + " | ".join(row(figures)) + " |")
        lines.append("")
    return "\n".join(lines)


def about(found: Backtest) -> list[str]:
    """Return what the table was like, in words."""
    words = [
        f"{found.series:,} series, steps of {found.step_seconds} s, {found.predictions:,} predictions",
        *found.repairs.sentences(),
    ]
    return words + [
        f"the model was silent at {count:,} origins: {why}"
        for why, count in sorted(found.silent.items())
    ]


def rows_of(part: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """Return the rows of a part's table: all horizons, then each."""
    return [
        ("all", part),
        *((f"{minutes} min", one) for minutes, one in part["by_minutes"].items()),
    ]


def head_row() -> Sequence[str]:
    """Return the heads of a part's table behind the horizon."""
    return ("WQL", "to best", *(SHORT[name] for name in RULES), "in band", "on edges")


def row(figures: dict[str, Any]) -> list[str]:
    """Return one row's cells."""
    edges = figures["inside_80_edges"]
    return [
        f"{figures['wql'][FORECAST]:.4f}",
        _number(figures["ratio"]),
        *(_number(figures["ratios"][name]) for name in RULES),
        f"{figures['inside_80'][FORECAST]:.1%}",
        f"{edges[FORECAST]:.1%}" if edges else "-",
    ]


def _sentences(part: dict[str, Any]) -> list[str]:
    equal = part["equal"]
    words = [
        (
            f"{part['rows']:,} outcomes, {part['rows_on_edges']:,} of them on rising edges; the model had a say in "
            f"{part['by_model']:.1%}. Best rule: {NAMES[part['best_rule']]}."
        ),
    ]
    if equal:
        words.append(
            f"Every series weighed the same ({equal['series']:,} with demand): ratio {_number(equal['ratio'])} to "
            f"{NAMES[equal['best_rule']]}."
        )
    return words


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
