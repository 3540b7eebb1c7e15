"""When a number began to rise: the demand that an autoscaler answers later."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

LEVEL_RATIO = 0.25
"""A rise has begun when this share of the way from floor to peak is passed."""
LEAST_RISE_RATIO = 0.2
"""A peak that is not so much above the floor is no rise."""


@dataclass(frozen=True, slots=True)
class Rise:
    """A rise: when it began, when it could first be seen, and from what to what."""

    time_seconds: float
    """The last sample that was still low: the rise began after it."""
    seen_seconds: float
    """The first sample above the level."""
    floor: float
    peak: float


def rise_before(
    samples: Sequence[tuple[float, float]], until_seconds: float, window_seconds: float
) -> Rise | None:
    """Return the rise that led to the highest value of the window before a moment.

    The floor is the lowest value before the peak; the rise begins with the last sample that was not
    above floor + a quarter of the way to the peak, so it is right to one sampling interval.

    Args:
        samples: (cluster time, value), oldest first.
        until_seconds: the moment that the rise explains.
        window_seconds: how far back to look.
    """
    window = [
        sample for sample in samples if until_seconds - window_seconds <= sample[0] <= until_seconds
    ]
    if len(window) < 2:
        return None
    at = max(range(len(window)), key=lambda place: (window[place][1], -place))
    floor = min(value for _, value in window[: at + 1])
    peak = window[at][1]
    if peak <= floor * (1 + LEAST_RISE_RATIO) or peak <= 0:
        return None
    level = floor + LEVEL_RATIO * (peak - floor)
    below = [place for place in range(at + 1) if window[place][1] <= level]
    return Rise(window[below[-1]][0], window[below[-1] + 1][0], floor, peak)
