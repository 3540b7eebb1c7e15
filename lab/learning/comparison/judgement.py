"""Whether learning was worth it: each learned arm beside the best simple rule, workload by workload.

Which rule is the best is settled on the development split; the test split only measures. Rules that know how long jobs
really take are shown and compared with nobody.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from lab.learning.comparison.benchmark import Floats, Played
from lab.learning.evaluation.statistics import (
    Interval,
    aggregate,
    probability_of_improvement,
    relative_gain,
    two_way_mean,
)

MEASURE = "slowdown"
"""What is judged; smaller is better."""
GOAL = 0.10
"""A tenth less than the best rule, with an interval that excludes 0."""
THRESHOLDS = (0.5, 0.75, 0.9, 1.0, 1.1, 1.25, 1.5, 2.0, 4.0)
"""Of performance profiles: slowdown as a multiple of the best rule's on the same stream."""


@dataclass(frozen=True, slots=True)
class Standing:
    """An arm on one workload of the test split."""

    played: Played
    mean: Interval
    """Of the measure, over seeds and streams."""
    interquartile: Interval
    """Over seeds, of each one's mean over streams."""
    gain: Interval | None
    """By which part it is below the best rule; None: it is that rule."""
    improvement: Interval | None
    """How likely a stream of ours is better than the same kind of stream of the best rule's."""
    profile: tuple[float, ...]
    """Share of seeds and streams at or below each of THRESHOLDS."""


@dataclass(frozen=True, slots=True)
class WorkloadJudgement:
    """All arms on one workload."""

    workload: str
    streams: int
    best_rule: str
    standings: tuple[Standing, ...]
    repeated: float = 0.0
    """Share of the streams' jobs that stand in an earlier stream, too: 0 where streams are independent."""

    def learned(self) -> list[Standing]:
        """Return the learned arms."""
        return [one for one in self.standings if one.played.arm.learned]


def best_rule(development: Sequence[Played]) -> str:
    """Return the simple rule with the smallest mean on the development split."""
    rules = [one for one in development if not (one.arm.learned or one.arm.knows_truth)]
    return min(rules, key=lambda one: (float(one.values[MEASURE].mean()), one.arm.name)).arm.name


def judge_workload(
    workload: str, best: str, test: Sequence[Played], seed: int, repeated: float = 0.0
) -> WorkloadJudgement:
    """Return how every arm stands beside the best rule.

    Args:
        workload: its name.
        best: the rule that the development split chose.
        test: what the arms made of the test split's streams, the best rule among them.
        seed: of the resampling.
        repeated: share of the streams' jobs that stand in several streams.
    """
    against = next(one for one in test if one.arm.name == best).values[MEASURE]
    reference = against.mean(axis=0)
    standings = []
    for one in test:
        values = one.values[MEASURE]
        is_best = one.arm.name == best
        standings.append(
            Standing(
                one,
                two_way_mean(values, seed),
                aggregate([values.mean(axis=1)], seed),
                None if is_best else relative_gain(values, reference, seed),
                None if is_best else probability_of_improvement(
                    [-values.mean(axis=0)], [-reference], seed
                ),
                _profile(values, reference),
            )
        )  # fmt: skip
    order = sorted(standings, key=lambda one: one.mean.value)
    return WorkloadJudgement(workload, values.shape[1], best, tuple(order), repeated)


def statement(judgements: Sequence[WorkloadJudgement]) -> list[str]:
    """Return in plain sentences whether learning beat the best simple rule, by how much, and where not."""
    lines = []
    for one in judgements:
        for standing in one.learned():
            gain = standing.gain
            assert gain is not None
            rule = next(each for each in one.standings if each.played.arm.name == one.best_rule)
            verdict = _verdict(gain, one.best_rule)
            lines.append(
                f"On {one.workload}, {standing.played.arm.name} {verdict}. {_waits(standing, rule)}"
            )
    return lines


def headlines(judgements: Sequence[WorkloadJudgement]) -> dict[str, str]:
    """Return by learned arm on which workloads it beat the best simple rule, lost, or showed neither."""
    by_arm: dict[str, dict[str, list[str]]] = {}
    for one in judgements:
        for standing in one.learned():
            gain = standing.gain
            assert gain is not None
            sign = "beats" if gain.low > 0.0 else "is worse than" if gain.high < 0.0 else ""
            by_arm.setdefault(standing.played.arm.name, {}).setdefault(sign, []).append(
                one.workload
            )
    return {name: _headline(name, found, len(judgements)) for name, found in by_arm.items()}


def _headline(name: str, found: Mapping[str, Sequence[str]], count: int) -> str:
    won, lost, neither = (found.get(sign, ()) for sign in ("beats", "is worse than", ""))
    parts = [f"{name} beat the best simple rule on {len(won)} of {count} workloads{_listed(won)}"]
    parts += [f"was worse on {len(lost)}{_listed(lost)}"] if lost else []
    parts += [f"on {len(neither)} neither is shown{_listed(neither)}"] if neither else []
    return "; ".join(parts) + "."


def _listed(names: Sequence[str]) -> str:
    return f" ({', '.join(names)})" if names else ""


def _verdict(gain: Interval, rule: str) -> str:
    times = f"{1.0 - gain.value:.3g} times the rule's (95 % interval {1.0 - gain.high:.3g} to {1.0 - gain.low:.3g})"
    if not gain.excludes_zero:
        return f"is neither shown better nor worse than {rule}: its slowdown is {times}"
    if gain.value < 0.0:
        return f"did not beat {rule}: its slowdown is {times}"
    reached = "" if gain.value >= GOAL else f", short of the goal of {GOAL:.0%} less"
    return f"beat {rule}: its slowdown is {times}{reached}"


def _profile(values: Floats, reference: Floats) -> tuple[float, ...]:
    ratios = values / reference[None, :]
    return tuple(float((ratios <= threshold).mean()) for threshold in THRESHOLDS)


def _waits(ours: Standing, rule: Standing) -> str:
    """Return what a smaller slowdown may have been bought with: a few long jobs can wait for all others."""
    mine, theirs = totals(ours), totals(rule)
    return (
        f"Mean wait {mine['wait_minutes']:.0f} min (the rule's {theirs['wait_minutes']:.0f}), "
        f"longest {mine['longest_wait_hours']:.0f} h ({theirs['longest_wait_hours']:.0f}), "
        f"cpu in use {mine['utilization_percent']:.0f} % ({theirs['utilization_percent']:.0f})."
    )


def totals(standing: Standing) -> Mapping[str, float]:
    """Return the mean of each measure over seeds and streams."""
    return {name: float(np.mean(values)) for name, values in standing.played.values.items()}
