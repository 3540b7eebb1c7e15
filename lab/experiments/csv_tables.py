"""The figures of a report as CSV, unrounded, for papers and notebooks: effects, workloads, trials."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from lab.experiments.effects import ArmEffect
from lab.experiments.metrics import METRICS
from lab.experiments.report import Report
from lab.experiments.results import TrialCost, TrialResult
from lab.experiments.wording import unit_of

Cell = str | int | float
EFFECTS, WORKLOADS, TRIALS = "effects.csv", "workloads.csv", "trials.csv"
_EFFECT_COLUMNS = (
    "metric", "unit", "better", "arm", "reference", "pairs", "arm_mean", "reference_mean", "difference",
    "difference_low", "difference_high", "interquartile_mean", "interquartile_low", "interquartile_high", "better_in",
    "equal_in", "improvement", "improvement_low", "improvement_high", "p", "p_holm", "detectable", "worst_workload",
    "worst_seed", "worst_difference", "worst_tenth", "verdict",
)  # fmt: skip
_WORKLOAD_COLUMNS = (
    "metric", "unit", "arm", "reference", "workload", "pairs", "arm_mean", "reference_mean", "difference",
    "difference_low", "difference_high", "p", "worst_seed", "worst_difference", "worst_tenth", "verdict",
)  # fmt: skip


def csv_tables(
    report: Report, results: Sequence[TrialResult], costs: Mapping[str, TrialCost]
) -> dict[str, str]:
    """Return the text of each table by its file's name; an unknown figure is an empty cell.

    Args:
        report: whose effects stand in the tables.
        results: its trials.
        costs: of trials, by fingerprint.
    """
    effects = list(report.analysis.effects.values())
    return {
        EFFECTS: _table(_EFFECT_COLUMNS, map(_effect_row, effects)),
        WORKLOADS: _table(
            _WORKLOAD_COLUMNS, (row for effect in effects for row in _workload_rows(effect))
        ),
        TRIALS: _trials(results, costs),
    }


def write_csv_tables(folder: Path, tables: dict[str, str]) -> list[Path]:
    """Write the tables into a folder, which is made if need be; return the files.

    Raises:
        OSError: a file cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / name for name in tables]
    for path, text in zip(paths, tables.values(), strict=True):
        path.write_text(text, encoding="utf-8", newline="")
    return paths


def _effect_row(effect: ArmEffect) -> tuple[Cell, ...]:
    difference, middle, improvement = effect.difference, effect.middle, effect.improvement
    return (
        effect.metric, unit_of(effect.metric), METRICS[effect.metric].better, effect.arm, effect.reference,
        effect.pairs, effect.arm_mean, effect.reference_mean, difference.value, difference.low, difference.high,
        middle.value, middle.low, middle.high, effect.better, effect.equal, improvement.value, improvement.low,
        improvement.high, effect.p, effect.p_adjusted, effect.detectable, effect.worst.workload, effect.worst.seed,
        effect.worst.difference, effect.worst_tenth, effect.verdict,
    )  # fmt: skip


def _workload_rows(effect: ArmEffect) -> Iterable[tuple[Cell, ...]]:
    for one in effect.workloads:
        yield (
            effect.metric, unit_of(effect.metric), effect.arm, effect.reference, one.workload, one.pairs,
            one.arm_mean, one.reference_mean, one.difference.value, one.difference.low, one.difference.high, one.p,
            one.worst.seed, one.worst.difference, one.worst_tenth, one.verdict,
        )  # fmt: skip


def _trials(results: Sequence[TrialResult], costs: Mapping[str, TrialCost]) -> str:
    metrics = [name for name in METRICS if any(name in result.metrics for result in results)]
    rows: Iterable[Sequence[Cell]] = (
        (
            result.workload, result.arm, result.seed,
            *(result.metrics.get(name, math.nan) for name in metrics),
            costs[result.fingerprint].cpu_seconds if result.fingerprint in costs else math.nan,
        )
        for result in results
    )  # fmt: skip
    return _table(("workload", "arm", "seed", *metrics, "cpu_seconds"), rows)


def _table(columns: Sequence[str], rows: Iterable[Sequence[Cell]]) -> str:
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([_cell(cell) for cell in row] for row in rows)
    return text.getvalue()


def _cell(value: Cell) -> str:
    if isinstance(value, float):
        return "" if math.isnan(value) else repr(value)
    return str(value)
