"""Where two runs of decisions part, as a picture: cycles from left to right, a lane for each kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from foresail.plots import COLOURS, new_figure, page_style, set_tip, svg_of
from lab.rerun.what_if import CLASSES, LISTED, DecisionChange

WIDTH, LEFT, RIGHT = 1100, 100, 20
LANE_HEIGHT = 34
LEAST_PIXELS = 3.0


class Strip(NamedTuple):
    """Model of `templates/decision_strip.html`."""

    svg: Any
    shortened_to: int | None
    """So many marks are drawn although more decisions differ; `None`: all are."""


@page_style
def decision_strip(changes: Sequence[DecisionChange], first: int, last: int) -> Strip | None:
    """Return the picture; `None` when no decision differs.

    Args:
        changes: the decisions that differ, in order of their cycles.
        first: the first cycle that was compared.
        last: the last one.
    """
    if not changes:
        return None
    counts = {kind: sum(change.kind == kind for change in changes) for kind in CLASSES[1:]}
    kinds = [kind for kind in reversed(CLASSES[1:]) if counts[kind]]
    figure, (axes,) = new_figure((WIDTH, LANE_HEIGHT * len(kinds) + 50), (LEFT, RIGHT, 8, 42))
    cycles = max(1, last - first + 1)
    width = max(1.0, LEAST_PIXELS * cycles / (WIDTH - LEFT - RIGHT))
    for change in changes:
        row, colour = kinds.index(change.kind), COLOURS[change.kind]
        mark = axes.broken_barh([(change.cycle, width)], (row - 0.35, 0.7), facecolor=colour)
        set_tip(mark, f"cycle {change.cycle}, {change.kind}: {change.before} / {change.after}")
    axes.set_xlim(first, first + cycles)
    axes.set_ylim(-0.5, len(kinds) - 0.5)
    axes.set_yticks(range(len(kinds)), [f"{counts[kind]} {kind}" for kind in kinds])
    axes.locator_params("x", integer=True)
    axes.set_xlabel("cycle", loc="right")
    picture = svg_of(figure, "cycles whose decision differs")
    return Strip(picture, LISTED if len(changes) >= LISTED else None)


def counts_text(counts: Mapping[str, int]) -> str:
    """Return how many decisions fall into each class, in words."""
    return ", ".join(f"{count} {name}" for name, count in counts.items())
