"""Decisions to do nothing, in a few words, and runs of them as one line."""

from __future__ import annotations

from schemas.decision import Decision, is_noop, noop_reason, noop_text


def same_noop(left: Decision, right: Decision) -> bool:
    """Say whether two decisions to do nothing can stand in one line: by the same rule, of the same agents."""
    return (
        is_noop(left)
        and is_noop(right)
        and (left.rule, left.missing, left.profile) == (right.rule, right.missing, right.profile)
    )


def noop_run_text(first_cycle: int, newest: Decision, count: int) -> str:
    """Return one line for `count` decisions in a row, of which the newest says why."""
    if count == 1:
        return noop_text(newest)
    return (
        f"cycles {first_cycle} to {newest.cycle}  nothing to do, {count} times; "
        f"the last time: {noop_reason(newest)}"
    )
