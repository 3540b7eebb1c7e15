"""The model card of a demand model: what it is for, its figures, its limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lab.forecast.demand.report import bar_table
from lab.forecast.demand.table import FamilyTable

LIMITS = (
    "Limits: the published quantiles are calibrated once and drift; only online following "
    "(`features/series/adapt.py`) keeps a target. Sudden starts of load that the "
    "past does not announce are missed. Savings are measured against a peak known only in "
    "hindsight. Use of single pods on a shared node was not among the data."
)


def card(
    name: str,
    tables: Sequence[FamilyTable],
    thresholds: Mapping[str, float],
    budgets: Mapping[str, float],
    pool_rows: int,
) -> str:
    """Return the card as Markdown."""
    budget_lines = [
        f"| `{field}` | {budgets[field]:.0%} of rows | {value:.6f} |"
        for field, value in thresholds.items()
    ]
    lines = [
        f"# {name}",
        "",
        (
            "Quantiles of the largest five-minute window of use within the horizon, from the series' own "
            "past of a day in windows and a week in hourly peaks. A booster's number is spreads above the "
            "mean of the last two hours; `factor` applies to that number."
        ),
        "",
        (
            f"- Data: {pool_rows:,} rows pooled from all families, each origin's future left out of its "
            "features."
        ),
        (
            "- Split: by time, by owner as well where there are many; the last quarter of training "
            "calibrates, the test is later than both."
        ),
        "- Weights: a miss weighs what it costs, as a share of the largest window so far.",
        "",
        "On test, followed online (violation, savings), next to the rules in their best way of use:",
        "",
        *bar_table(tables),
        "",
    ]
    if budget_lines:
        lines += [
            (
                "Thresholds by action budget: the share of a machine that p90 stays below in the stated share "
                "of calibration rows, from batch jobs that fill 16 cores each; derive them anew from a "
                "recording of your own nodes."
            ),
            "",
            "| threshold | budget | value |",
            "|---|---|---|",
            *budget_lines,
            "",
        ]
    return "\n".join([*lines, LIMITS, ""])
