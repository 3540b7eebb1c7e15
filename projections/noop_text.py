"""Decisions to do nothing, in a few words, and runs of them as one line."""

from __future__ import annotations

from schemas.actions import ActionKind
from schemas.decision import Decision, RefereeRule

RULES = {
    RefereeRule.NO_PROPOSALS: "nobody proposed anything",
    RefereeRule.ALL_NOOP: "nobody wants anything done",
    RefereeRule.HIGHEST_VALUE: "what is expected to gain most for an hour",
    RefereeRule.SAFETY_FIRST: "A's action goes before everything",
    RefereeRule.ADMISSION_PROTECTS: "C's protection goes before efficiency",
    RefereeRule.EFFICIENCY_BY_SCORE: "the efficiency action with the highest score",
    RefereeRule.SAFETY_BLIND: "A could not judge, so nothing but a plain admit may be done",
    RefereeRule.FIXED_ORDER: "A before C before B, then the higher score",
    RefereeRule.SUPERSEDED: "a newer observation was there first, so nothing is done",
}
"""Each rule in words."""


def is_noop(decision: Decision) -> bool:
    """Say whether a decision is to do nothing."""
    return decision.action.kind is ActionKind.NOOP


def noop_reason(decision: Decision) -> str:
    """Return why nothing is done: what the first agent saw, or else the referee's rule."""
    if decision.rule is RefereeRule.ALL_NOOP and decision.considered:
        return decision.considered[0].text
    return RULES[decision.rule]


def same_noop(left: Decision, right: Decision) -> bool:
    """Say whether two decisions to do nothing can stand in one line: by the same rule, of the same agents."""
    return (
        is_noop(left)
        and is_noop(right)
        and (left.rule, left.missing, left.profile) == (right.rule, right.missing, right.profile)
    )


def noop_run_text(first_cycle: int, newest: Decision, count: int) -> str:
    """Return one line for `count` decisions in a row, of which the newest says why."""
    reason = noop_reason(newest)
    if count == 1:
        return f"cycle {newest.cycle:>4}  nothing to do: {reason}"
    return f"cycles {first_cycle} to {newest.cycle}  nothing to do, {count} times; the last time: {reason}"
