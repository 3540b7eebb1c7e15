"""Where two runs of decisions part, as a picture: cycles from left to right, a lane for each kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from lab.rerun.what_if import CLASSES, LISTED, DecisionChange

WIDTH, LEFT, RIGHT = 1100, 90, 1080
LANE_HEIGHT, TOP = 34, 8
LEAST_PIXELS = 3.0
TICKS = 6


@dataclass(frozen=True, slots=True)
class StripLane:
    """A row of the picture: one kind of difference."""

    kind: str
    count: int
    middle: int


@dataclass(frozen=True, slots=True)
class StripTick:
    """A cycle's number below the lanes."""

    cycle: int
    x: float


@dataclass(frozen=True, slots=True)
class StripMark:
    """A cycle whose decision differs."""

    kind: str
    x: float
    y: int
    text: str


@dataclass(frozen=True, slots=True)
class Strip:
    """What `templates/decision_strip.html` draws; everything in pixels of its own."""

    bottom: int
    lanes: Sequence[StripLane]
    ticks: Sequence[StripTick]
    marks: Sequence[StripMark]
    mark_width: float
    shortened_to: int | None
    """So many marks are drawn although more decisions differ; `None`: all are."""
    width: int = WIDTH
    left: int = LEFT
    right: int = RIGHT
    top: int = TOP
    mark_height: int = LANE_HEIGHT - 10


def decision_strip(changes: Sequence[DecisionChange], first: int, last: int) -> Strip | None:
    """Return the picture; `None` when no decision differs.

    Args:
        changes: the decisions that differ, in order of their cycles.
        first: the first cycle that was compared.
        last: the last one.
    """
    if not changes:
        return None
    kinds = [kind for kind in CLASSES[1:] if any(change.kind == kind for change in changes)]
    return Strip(
        bottom=TOP + LANE_HEIGHT * len(kinds),
        lanes=[_lane(kind, row, changes) for row, kind in enumerate(kinds)],
        ticks=[StripTick(cycle, _x(cycle, first, last)) for cycle in _tick_cycles(first, last)],
        marks=[_mark(change, kinds.index(change.kind), first, last) for change in changes],
        mark_width=round(max(LEAST_PIXELS, (RIGHT - LEFT) / max(1, last - first + 1)), 1),
        shortened_to=LISTED if len(changes) >= LISTED else None,
    )


def counts_text(counts: Mapping[str, int]) -> str:
    """Return how many decisions fall into each class, in words."""
    return ", ".join(f"{count} {name}" for name, count in counts.items())


def _x(cycle: float, first: int, last: int) -> float:
    span = max(1, last - first + 1)
    return round(LEFT + (cycle - first) / span * (RIGHT - LEFT), 1)


def _mark(change: DecisionChange, row: int, first: int, last: int) -> StripMark:
    text = f"cycle {change.cycle}, {change.kind}: {change.before} / {change.after}"
    return StripMark(change.kind, _x(change.cycle, first, last), TOP + LANE_HEIGHT * row + 5, text)


def _lane(kind: str, row: int, changes: Sequence[DecisionChange]) -> StripLane:
    count = sum(change.kind == kind for change in changes)
    return StripLane(kind, count, TOP + LANE_HEIGHT * row + LANE_HEIGHT // 2)


def _tick_cycles(first: int, last: int) -> list[int]:
    steps = [first + round((last - first) * part / (TICKS - 1)) for part in range(TICKS)]
    return [one for one, after in pairwise([*dict.fromkeys(steps), None]) if one is not None]
