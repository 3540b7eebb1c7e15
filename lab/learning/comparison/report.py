"""What a benchmark says, as sections that pages and Markdown both show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lab.experiments.markdown import table_markdown
from lab.experiments.section import Section, Table
from lab.learning.comparison.judgement import (
    THRESHOLDS,
    Standing,
    WorkloadJudgement,
    statement,
    totals,
)
from lab.learning.evaluation.statistics import Interval
from projections.figures import duration, number

LEARNED_MARK = " (learned)"
TRUTH_MARK = " (knows true times)"


@dataclass(frozen=True, slots=True)
class Report:
    """A benchmark's answer."""

    judgements: Sequence[WorkloadJudgement]
    about: Sequence[str]
    """How it was made: commands, machine, splits."""

    def sections(self) -> list[Section]:
        """Return the tables, workload by workload, then what learning cost."""
        made = []
        for one in self.judgements:
            made += [_figures(one), _profiles(one)]
        return [*made, _cost(self.judgements)] if made else []

    def markdown(self) -> str:
        """Return the report as Markdown."""
        parts = [
            "# Learned admission beside simple rules",
            "\n".join(f"- {line}" for line in statement(self.judgements)),
        ]
        parts.append("## How it was made\n\n" + "\n".join(f"- {line}" for line in self.about))
        parts += [
            f"## {section.title}\n\n{section.about}\n\n{table_markdown(section.table)}"
            for section in self.sections()
        ]
        return "\n\n".join(parts) + "\n"


def _name(standing: Standing) -> str:
    arm = standing.played.arm
    return arm.name + LEARNED_MARK * arm.learned + TRUTH_MARK * arm.knows_truth


def _limits(interval: Interval) -> str:
    return (
        "" if interval.low != interval.low else f"{number(interval.low)} to {number(interval.high)}"
    )


def _percent(interval: Interval | None) -> str:
    if interval is None:
        return "the best rule"
    return f"{interval.value:+.1%} ({interval.low:+.1%} to {interval.high:+.1%})"


def _figures(one: WorkloadJudgement) -> Section:
    columns = (
        "arm", "seeds", "mean slowdown", "95 % interval", "interquartile mean over seeds", f"below {one.best_rule}",
        "likely better", "wait, min", "longest wait, h", "completed", "unfinished", "cpu, %",
    )  # fmt: skip
    rows = []
    for standing in one.standings:
        mean = totals(standing)
        seeds = len(standing.played.arm.seeds)
        middle = standing.interquartile
        rows.append((
            _name(standing), str(seeds), number(standing.mean.value), _limits(standing.mean),
            f"{number(middle.value)} ({_limits(middle)})" if seeds > 1 else "",
            _percent(standing.gain),
            "" if standing.improvement is None else f"{standing.improvement.value:.0%}",
            number(mean["wait_minutes"]),
                number(mean["longest_wait_hours"]), number(mean["completed"]), number(mean["unfinished"]),
            number(mean["utilization_percent"]),
        ))  # fmt: skip
    about = (
        f"{one.streams} streams of the test split, the same for all. Mean bounded slowdown of all jobs; "
        "intervals resample seeds and streams. The best rule was settled on the development split."
    )
    return Section("effect", one.workload, about, Table(columns, tuple(rows)))


def _profiles(one: WorkloadJudgement) -> Section:
    columns = ("arm", *(f"at most {threshold:g} x" for threshold in THRESHOLDS))
    rows = tuple(
        (_name(standing), *(f"{share:.0%}" for share in standing.profile))
        for standing in one.standings
    )
    about = f"Share of seeds and streams whose slowdown is at most so many times {one.best_rule}'s on the same stream."
    return Section("profile", f"{one.workload}: performance profile", about, Table(columns, rows))


def _cost(judgements: Sequence[WorkloadJudgement]) -> Section:
    arms = {s.played.arm.name: s.played.arm for one in judgements for s in one.learned()}
    rows = tuple(
        (
            name,
            str(len(arm.seeds)),
            number(arm.steps),
            duration(arm.seconds),
            duration(arm.cpu_seconds),
        )
        for name, arm in sorted(arms.items())
    )
    columns = ("policy", "seeds", "steps", "wall time", "processor time")
    return Section(
        "cost",
        "What learning cost",
        "All seeds together; rules cost nothing.",
        Table(columns, rows),
    )
