"""The demand tables as markdown and as JSON; equal tables give equal bytes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from lab.forecast.demand.scores import Difference, Score
from lab.forecast.demand.table import MODEL, FamilyTable, MethodRow, RuleComparison

NAMES = {
    "last_value": "last value",
    "same_time_yesterday": "same time yesterday",
    "n_sigma": "N-sigma (5), 2 h",
    "rc_like": "RC-like p95, all history",
    "rc_like_2h": "RC-like p95, 2 h",
    "max_n_sigma_rc": "max(N-sigma 2 h, RC-like all history)",
    "max_n_sigma_rc_2h": "max(N-sigma, RC-like), both 2 h",
    "vpa": "VPA (p90, +15 %, 24 h)",
    MODEL: "**model**",
}
BAR_HEAD = (
    "| family | series / origins | model: violation, savings | max(N-sigma, RC-like) "
    "| same, both 2 h | VPA | gain over the best of them | oracle |"
)
METHOD_HEAD = (
    "| method | as it is: violation, savings, pinball | scaled | followed "
    "| series above 10 %, followed |"
)


def as_json(tables: Sequence[FamilyTable], target: float, about: dict[str, Any]) -> dict[str, Any]:
    """Return everything that the tables hold."""
    return about | {
        "target": target,
        "tables": [
            _round(asdict(table)) | {"kept": table.keeps_target(target), "won": table.won}
            for table in tables
        ],
    }


def as_markdown(tables: Sequence[FamilyTable], target: float, about: dict[str, Any]) -> str:
    """Return the report: the bar's table, then every method of every family."""
    lines = [f"# Demand model {about.get('name', '')}", "", _definitions(target), ""]
    for horizon in _horizons(tables):
        chosen = [table for table in tables if table.horizon.title == horizon]
        lines += [f"## Horizon {horizon}: model against the rules", "", *bar_table(chosen), ""]
        lines += [_summary(chosen, target), ""]
        lines += [f"## Horizon {horizon}: quantiles on test", "", *_quantile_table(chosen), ""]
    for table in tables:
        lines += [f"## {table.family}, {table.horizon.title}", "", *_method_table(table), ""]
        lines += [f"{note}." for note in table.notes] + [""] * bool(table.notes)
    return "\n".join(lines).rstrip() + "\n"


def bar_table(tables: Sequence[FamilyTable]) -> list[str]:
    """Return the one table of the bar, a row per family."""
    lines = [BAR_HEAD, "|---" * 8 + "|"]
    for table in tables:
        own = table.method(MODEL).followed
        by_rule = {verdict.rule: verdict for verdict in table.verdicts}
        cells = [
            table.family,
            f"{table.series} / {table.origins}",
            f"{_percent(own.violation)}, **{_percent(own.savings)}**",
            *(_against(by_rule[rule]) for rule in ("max_n_sigma_rc", "max_n_sigma_rc_2h", "vpa")),
            _interval(verdict_gain(table)),
            _percent(table.oracle_savings),
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def verdict_gain(table: FamilyTable) -> Difference:
    """Return the model's gain over the rule that comes nearest to it."""
    return min((verdict.gain for verdict in table.verdicts), key=lambda gain: gain.value)


def _interval(gain: Difference) -> str:
    low, high = 100 * gain.low, 100 * gain.high
    return f"{100 * gain.value:+.1f} ({low:+.1f} to {high:+.1f}, {gain.units} {gain.unit})"


def _definitions(target: float) -> str:
    return (
        f"Violation: the largest five-minute window of the horizon lies above the limit; target "
        f"{_percent(target)}. Savings: mean of 1 - limit / largest window of the whole series, in "
        "hindsight. *As it is*: the limit unchanged. *Scaled*: one factor for the family, found on "
        "the calibration part of training. *Followed*: that factor follows the target online, from "
        "peaks that have passed, for the family and a little for each series. No limit exceeds a "
        "capacity that is known. Of each rule the way of use counts that saves most in hindsight "
        "among those with a violation of at most the target and one point. Intervals: 95 %, "
        "whole series (of a single series: days) drawn anew 500 times."
    )


def _summary(tables: Sequence[FamilyTable], target: float) -> str:
    keeping = sum(table.keeps_target(target) for table in tables)
    won = sum(table.won for table in tables)
    lost = [table.family for table in tables if not table.won]
    text = (
        f"The followed model keeps the target within one point on {keeping} of {len(tables)} families "
        f"and saves more than all three on {won}."
    )
    return text + (f" Not on: {', '.join(lost)}." if lost else "")


def _against(verdict: RuleComparison) -> str:
    return f"{_percent(verdict.rule_violation)}, {_percent(verdict.rule_savings)} ({verdict.way})"


def _quantile_table(tables: Sequence[FamilyTable]) -> list[str]:
    levels = [row.quantile for row in tables[0].quantiles] if tables else []
    head = " | ".join(f"p{100 * level:g}: as it is, followed; pinball" for level in levels)
    lines = [f"| family | {head} |", "|---" * (len(levels) + 1) + "|"]
    for table in tables:
        cells = [
            f"{_percent(row.plain_violation)}, {_percent(row.followed_violation)}; "
            f"{row.followed_pinball:.4f}"
            for row in table.quantiles
        ]
        lines.append(f"| {table.family} | " + " | ".join(cells) + " |")
    return lines


def _method_table(table: FamilyTable) -> list[str]:
    lines = [METHOD_HEAD, "|---" * 5 + "|"]
    return lines + [_method_line(row) for row in table.methods]


def _method_line(row: MethodRow) -> str:
    ways = " | ".join(_cell(way) for way in (row.plain, row.scaled, row.followed))
    return f"| {NAMES[row.method]} | {ways} | {_percent(row.followed.owners_over)} |"


def _cell(score: Score) -> str:
    return f"{_percent(score.violation)}, {_percent(score.savings)}, {score.pinball:.4f}"


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _horizons(tables: Sequence[FamilyTable]) -> list[str]:
    return list(dict.fromkeys(table.horizon.title for table in tables))


def _round(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, 6)
    if isinstance(value, dict):
        return {key: _round(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_round(inner) for inner in value]
    return value
