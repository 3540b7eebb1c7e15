"""What a benchmark says, as sections that pages and Markdown both show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from lab.experiments.markdown import table_markdown
from lab.experiments.section import Section, Table
from lab.learning.comparison.ablations import ablations
from lab.learning.comparison.judgement import (
    THRESHOLDS,
    Standing,
    WorkloadJudgement,
    headlines,
    statement,
    totals,
)
from lab.learning.comparison.overall import Overall
from lab.learning.evaluation.statistics import Interval
from projections.figures import duration, number
from schemas.wording import count_text

WORTH_SAYING = 0.01
"""Share of repeated jobs; fewer change no interval."""
PROFILE = "Performance profile"
LEARNED_MARK = " (learned)"
TRUTH_MARK = " (knows true times)"


@dataclass(frozen=True, slots=True)
class Report:
    """A benchmark's answer."""

    judgements: Sequence[WorkloadJudgement]
    together: Sequence[Overall]
    """Of all workloads (`overall`)."""
    about: Sequence[str]
    """How it was made: commands, machine, splits."""
    first: str | None = None
    """The learned arm that ablations are held against; None: nothing was learned."""
    missing: Sequence[str] = field(default=())
    """Workloads that have not been played to their end, with how far they are."""

    def sections(self) -> list[Section]:
        """Return the tables: all workloads, ablations, what learning cost, then workload by workload."""
        if not self.judgements:
            return []
        made = [_together(self.together, len(self.judgements)), _shares(self.together)]
        made += [] if self.first is None else _ablations(self.judgements, self.first)
        made.append(_cost(self.judgements))
        for one in self.judgements:
            made += [_figures(one), _profiles(one)]
        return made

    def headlines(self) -> list[str]:
        """Return in plain sentences whether learning was worth it, and what is not played yet."""
        middles = {one.arm.name: one.interquartile for one in self.together}
        return [
            *(f"Not played to its end: {one}." for one in self.missing),
            *(
                f"{line} {_together_text(middles[name])}"
                for name, line in headlines(self.judgements).items()
            ),
            *([] if self.first else ["No learned policy was played."]),
        ]

    def statement(self) -> list[str]:
        """Return the headlines, and how each policy did on each workload."""
        return [*self.headlines(), *statement(self.judgements)]

    def markdown(self) -> str:
        """Return the report as Markdown."""
        parts = [
            "# Learned admission beside simple rules",
            "\n".join(f"- {line}" for line in self.statement()),
        ]
        parts.append("## How it was made\n\n" + "\n".join(f"- {line}" for line in self.about))
        parts += [
            f"## {section.title}\n\n{section.about}\n\n{table_markdown(section.table)}"
            for section in self.sections()
        ]
        return "\n\n".join(parts) + "\n"


def _together_text(middle: Interval) -> str:
    return (
        f"Over all of them its slowdown is {number(middle.value)} times the best rules' (interquartile mean; "
        f"95 % interval {_limits(middle) or 'unknown'})."
    )


def _name(standing: Standing | Overall) -> str:
    arm = standing.arm if isinstance(standing, Overall) else standing.played.arm
    return arm.name + LEARNED_MARK * arm.learned + TRUTH_MARK * arm.knows_truth


def _limits(interval: Interval) -> str:
    return (
        "" if interval.low != interval.low else f"{number(interval.low)} to {number(interval.high)}"
    )


def _percent(interval: Interval | None) -> str:
    if interval is None:
        return "the best rule"
    return f"{interval.value:+.1%} ({interval.low:+.1%} to {interval.high:+.1%})"


def _together(arms: Sequence[Overall], workloads: int) -> Section:
    limits = "95 % interval"
    columns = ("arm", "seeds", "interquartile mean", limits, "mean", limits, "median", limits)
    rows = tuple(
        (
            _name(one), str(len(one.arm.seeds)),
            *(
                text
                for middle in (one.interquartile, one.mean, one.median)
                for text in (number(middle.value), _limits(middle))
            ),
        )
        for one in arms
    )  # fmt: skip
    about = (
        f"Slowdown of a seed on a stream over that of the workload's best rule on the same stream, "
        f"{count_text(workloads, 'workload')} together; 1 is the best rule, less is better. Stratified bootstrap: "
        "seeds and streams are resampled within "
        "each workload."
    )
    return Section("overall", "All workloads", about, Table(columns, rows))


def _shares(arms: Sequence[Overall]) -> Section:
    columns = ("arm", *(f"at most {threshold:g} x" for threshold in THRESHOLDS))
    rows = tuple(
        (_name(one), *(f"{s.value:.0%} ({s.low:.0%} to {s.high:.0%})" for s in one.profile))
        for one in arms
    )
    about = "Share of seeds and streams whose slowdown is at most so many times the best rule's, with 95 % intervals."
    return Section("profile", PROFILE, about, Table(columns, rows))


def _ablations(judgements: Sequence[WorkloadJudgement], first: str) -> list[Section]:
    found = ablations(judgements, first)
    if not found:
        return []
    columns = (
        "policy", f"differs from {first} by", "workload", "seeds", "slowdown", f"{first}'s", "slowdown less by",
        "wait, min", f"{first}'s", "longest wait, h", f"{first}'s",
    )  # fmt: skip
    rows = []
    for one in found:
        ours, whole = totals(one.changed), totals(one.whole)
        pairs = [
            (number(ours[name]), number(whole[name]))
            for name in ("wait_minutes", "longest_wait_hours")
        ]
        rows.append((
            one.changed.played.arm.name, one.difference, one.workload, str(len(one.changed.played.arm.seeds)),
            number(one.changed.mean.value), number(one.whole.mean.value), _percent(one.gain), *pairs[0], *pairs[1],
        ))  # fmt: skip
    about = (
        f"Policies whose training differs from {first}'s in one thing, on the same streams. An interval below 0 says "
        "that the thing helps, one above 0 that it harms; seeds of both and streams are resampled."
    )
    return [Section("ablations", "Ablations", about, Table(columns, tuple(rows), 3))]


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
    if one.repeated > WORTH_SAYING:
        about += (
            f" The record is short: {one.repeated:.0%} of the streams' jobs stand in an earlier stream, too, so that "
            "intervals are narrower than those of as many independent streams."
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
