"""The report on a model of attempts of every age, as Markdown."""

from __future__ import annotations

from typing import Any

from lab.forecast.risk.age_cells import LEAST_RATIO, MOST_RATIO
from lab.forecast.risk.ages_evaluation import AgesReport
from lab.forecast.risk.scoring import MODEL


def ages_markdown(report: AgesReport) -> str:
    """Return the report as Markdown."""
    figures = report.figures
    lines = [
        f"# {report.model_id} on {report.dataset}, attempts of every age, {figures['minutes']} minutes",
        "",
        f"{figures['rows']:,} rows that the model did not learn from; {figures['positives']:,} fail in time.",
        "",
        "## Windows",
        "",
        *_windows(figures["windows"]),
        "",
        (
            "The skill of a rule is what it would reach with the best rising map to probabilities, fitted on "
            "the window itself; the model's is as published. A constant at the window's own rate has 0."
        ),
        "",
        f"## Expected / observed by window and age, wanted {LEAST_RATIO} to {MOST_RATIO}",
        "",
        (
            "| window | age | rows | positives | failing jobs | expected / observed | 95 % by job | by user "
            "| Brier skill | holds |"
        ),
        "|---|---|---|---|---|---|---|---|---|---|",
        *(_cell(cell) for cell in figures["cells"]),
        "",
        "## Average precision on placements",
        "",
        "| split | rows / positives | model | " + " | ".join(_rules(figures["splits"])) + " |",
        "|---|---|---|" + "---|" * len(_rules(figures["splits"])),
        *(_split(name, one, _rules(figures["splits"])) for name, one in figures["splits"].items()),
        "",
        *words(figures),
        "",
    ]
    return "\n".join(lines)


def words(figures: dict[str, Any]) -> list[str]:
    """Return what holds and what does not, a sentence each."""
    judged = [cell for cell in figures["cells"] if cell["judged"]]
    good = sum(cell["holds"] for cell in judged)
    skilled = sum(window["brier_skill"] > 0 for window in figures["windows"])
    return [
        f"Expected / observed lies within {LEAST_RATIO} to {MOST_RATIO} in {good} of {len(judged)} cells.",
        f"Brier skill lies above 0 in {skilled} of {len(figures['windows'])} windows.",
    ]


def _windows(windows: list[dict[str, Any]]) -> list[str]:
    rules = sorted({rule for one in windows for rule in one["brier_skill_of_rules_in_hindsight"]})
    head = "| window | rows | positives (failing jobs) | AP | expected / observed | Brier skill | "
    lines = [head + " | ".join(rules) + " |", "|---|---|---|---|---|---|" + "---|" * len(rules)]
    for one in windows:
        skills = one["brier_skill_of_rules_in_hindsight"]
        cells = [f"{skills[rule]:.3f}" if rule in skills else "" for rule in rules]
        lines.append(
            f"| {one['window']} | {one['rows']:,} | {one['positives']:,} ({one['failing_jobs']}) | "
            f"{one['average_precision']:.3f} | {one['expected_observed']:.2f} | {one['brier_skill']:.3f} | "
            + " | ".join(cells)
            + " |"
        )
    return lines


def _cell(cell: dict[str, Any]) -> str:
    holds = ("yes" if cell["holds"] else "no") if cell["judged"] else "too few"
    low, high = cell["by_job"]
    least, most = cell["by_user"]
    return (
        f"| {cell['window']} | {cell['ages']} | {cell['rows']:,} | {cell['positives']:,} | {cell['failing_jobs']} | "
        f"{cell['expected_observed']:.2f} | {low:.2f} to {high:.2f} | {least:.2f} to {most:.2f} | "
        f"{cell['brier_skill']:.3f} | {holds} |"
    )


def _rules(splits: dict[str, Any]) -> list[str]:
    return list(next(iter(splits.values()))["model_minus"]) if splits else []


def _split(name: str, one: dict[str, Any], rules: list[str]) -> str:
    values = one["average_precision"]
    model = values[MODEL]
    parts = [
        f"{values[rule]['value']:.3f} ({step['low']:+.3f} to {step['high']:+.3f})"
        for rule in rules
        for step in [one["model_minus"][rule]]
    ]
    return (
        f"| {name} | {one['rows']:,} / {one['positives']:,} | {model['value']:.3f} ({model['low']:.3f} to "
        f"{model['high']:.3f}) | " + " | ".join(parts) + " |"
    )
