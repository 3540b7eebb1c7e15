"""Capacity of one replica of a Service, by what was seen of it. Pure."""

from __future__ import annotations

from schemas.numbers import rounded

FORGET = 0.999
"""Per step: what a replica was seen to bear counts a little less with time."""


def after_step(
    borne: float, broken: float, rate: float, *, violates: bool | None, violated: bool
) -> tuple[float, float]:
    """Return the greatest rate that one replica was seen to bear, and the smallest at which it was not enough.

    Args:
        borne: the first, before this step.
        broken: the second; 0: none was seen.
        rate: requests a second of one ready replica in this step.
        violates: whether the objective was violated; None says nothing of either.
        violated: whether some requests of the step before were bad.
    """
    borne *= FORGET
    if violates is False:
        borne = max(borne, rate)
        if broken and rate >= broken:  # it was something else then
            broken = 0.0
    elif violates and violated and rate > 0.0:
        broken = min(broken, rate) if broken else rate
        borne = min(borne, broken)
    return rounded(borne), rounded(broken)


def in_time_after_step(known: float, rate: float, *, violates: bool) -> float:
    """Return the greatest rate that one replica served in time while others of its requests were bad."""
    return rounded(max(FORGET * known, rate) if violates else FORGET * known)
