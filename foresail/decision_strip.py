"""Where two runs of decisions part, as a picture: cycles from left to right, a lane for each kind."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from itertools import pairwise

from lab.rerun.what_if import CLASSES, LISTED, DecisionChange

WIDTH, LEFT, RIGHT = 1100, 90, 1080
LANE_HEIGHT, TOP = 34, 8
LEAST_PIXELS = 3.0
TICKS = 6


def decision_strip(changes: Sequence[DecisionChange], first: int, last: int) -> str:
    """Return the picture as a figure; nothing when no decision differs.

    Args:
        changes: the decisions that differ, in order of their cycles.
        first: the first cycle that was compared.
        last: the last one.
    """
    if not changes:
        return ""
    lanes = [kind for kind in CLASSES[1:] if any(change.kind == kind for change in changes)]
    bottom = TOP + LANE_HEIGHT * len(lanes)
    width = max(LEAST_PIXELS, (RIGHT - LEFT) / max(1, last - first + 1))
    marks = "".join(_mark(change, lanes, first, last, width) for change in changes)
    rules = "".join(_lane(kind, row, changes) for row, kind in enumerate(lanes))
    ticks = "".join(_tick(cycle, first, last, bottom) for cycle in _tick_cycles(first, last))
    more = f" The first {LISTED} are drawn." if len(changes) >= LISTED else ""
    return (
        f'<figure><svg viewBox="0 0 {WIDTH} {bottom + 26}" role="img" '
        f'aria-label="cycles whose decision differs">{rules}{ticks}{marks}</svg>'
        f"<figcaption>Each mark is a cycle whose decision differs; point at it to read both.{more}"
        "</figcaption></figure>"
    )


def _x(cycle: float, first: int, last: int) -> float:
    span = max(1, last - first + 1)
    return round(LEFT + (cycle - first) / span * (RIGHT - LEFT), 1)


def _mark(change: DecisionChange, lanes: Sequence[str], first: int, last: int, width: float) -> str:
    y = TOP + LANE_HEIGHT * lanes.index(change.kind) + 5
    text = f"cycle {change.cycle}, {change.kind}: {change.before} / {change.after}"
    return (
        f'<rect x="{_x(change.cycle, first, last)}" y="{y}" width="{round(width, 1)}" '
        f'height="{LANE_HEIGHT - 10}" style="fill:var(--{change.kind})"><title>{escape(text)}</title></rect>'
    )


def _lane(kind: str, row: int, changes: Sequence[DecisionChange]) -> str:
    middle = TOP + LANE_HEIGHT * row + LANE_HEIGHT // 2
    count = sum(change.kind == kind for change in changes)
    return (
        f'<text x="{LEFT - 10}" y="{middle + 4}" text-anchor="end">{count} {kind}</text>'
        f'<line class="rule" x1="{LEFT}" x2="{RIGHT}" y1="{middle}" y2="{middle}"/>'
    )


def _tick_cycles(first: int, last: int) -> list[int]:
    steps = [first + round((last - first) * part / (TICKS - 1)) for part in range(TICKS)]
    return [one for one, after in pairwise([*dict.fromkeys(steps), None]) if one is not None]


def _tick(cycle: int, first: int, last: int, bottom: int) -> str:
    x = _x(cycle, first, last)
    return (
        f'<line class="rule" x1="{x}" x2="{x}" y1="{TOP}" y2="{bottom}"/>'
        f'<text class="soft" x="{x}" y="{bottom + 18}" text-anchor="middle">cycle {cycle}</text>'
    )
