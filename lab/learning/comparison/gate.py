"""Whether a learned policy may act: a gain over the best simple rule, shown on jobs that nothing was chosen by.

The same question as `foresail experiment gate` asks of arms in whole worlds: is a gain shown, and is nothing harmed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lab.learning.comparison.judgement import Standing, WorkloadJudgement, totals
from services.learned_policy.card import Figure, Gate, PolicyCard

MOST_HARM = 1.1
"""Waits may be so many times the rule's: bounded slowdown alone is bettered by letting a few long jobs wait for all."""
GUARDED = {"wait_minutes": "mean wait, min", "longest_wait_hours": "longest wait, h"}
LEAST_STREAMS = 20
"""Fewer say too little, whatever their interval."""


@dataclass(frozen=True, slots=True)
class GateAnswer:
    """Yes or no, and why."""

    passes: bool
    reasons: tuple[str, ...]
    """What speaks against it; of one that passes, what speaks for it."""


def judge_gate(judgements: Sequence[WorkloadJudgement], name: str) -> GateAnswer:
    """Return whether the policy of that name may act.

    It passes when its slowdown is below the best rule's on some workload with an interval that excludes 0, above it on
    none, and when on none it leaves more jobs unfinished than the rule, or lets them wait a tenth longer, on the mean
    or at the longest.
    """
    against: list[str] = []
    shown: list[str] = []
    for one in judgements:
        ours = _standing(one, name)
        rule = _standing(one, one.best_rule)
        assert ours.gain is not None
        limits = f"{ours.gain.low:+.1%} to {ours.gain.high:+.1%}"
        if one.streams < LEAST_STREAMS:
            against.append(
                f"{one.workload}: {one.streams} streams, and {LEAST_STREAMS} are asked for"
            )
        if ours.gain.high < 0.0:
            against.append(f"{one.workload}: slowdown above {one.best_rule}'s (gain {limits})")
        if ours.gain.low > 0.0:
            shown.append(
                f"{one.workload}: slowdown below {one.best_rule}'s by {ours.gain.value:.1%} ({limits})"
            )
        mine, theirs = totals(ours), totals(rule)
        against += [
            f"{one.workload}: {what} {mine[name]:.4g}, {theirs[name]:.4g} by {one.best_rule}"
            for name, what in GUARDED.items()
            if mine[name] > MOST_HARM * theirs[name]
        ]
        left, rule_left = totals(ours)["unfinished"], totals(rule)["unfinished"]
        if left > rule_left:
            against.append(
                f"{one.workload}: {left:g} jobs unfinished, {rule_left:g} by {one.best_rule}"
            )
    if not shown:
        against.append("a gain over the best simple rule is shown on no workload")
    return GateAnswer(not against, tuple(against or shown))


def with_gate(
    card: PolicyCard, judgements: Sequence[WorkloadJudgement], answer: GateAnswer, code: str
) -> PolicyCard:
    """Return the card with the answer and the figures behind it.

    Args:
        card: of the policy that was played.
        judgements: of every workload.
        answer: of the gate.
        code: version of the code that played it.
    """
    figures = []
    for one in judgements:
        ours = _standing(one, card.name)
        figures.append(
            Figure(
                metric="mean bounded slowdown", split="test", workload=one.workload, episodes=one.streams,
                value=ours.mean.value, low=_known(ours.mean.low), high=_known(ours.mean.high),
            )
        )  # fmt: skip
    gate = Gate(
        experiment=", ".join(one.workload for one in judgements),
        split="test",
        seeds=min(one.streams for one in judgements),
        code=code,
        passes=answer.passes,
        first_reason=answer.reasons[0],
        weights_sha256=card.weights_sha256,
    )
    return card.model_copy(update={"gate": gate, "figures": tuple(figures)})


def _standing(one: WorkloadJudgement, name: str) -> Standing:
    return next(each for each in one.standings if each.played.arm.name == name)


def _known(limit: float) -> float | None:
    return None if limit != limit else limit
