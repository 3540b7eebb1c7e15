"""A sweep as one page: what it says, the picture of two figures, every point."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from foresail.html_page import render
from lab.rerun.what_if import OPEN_LOOP
from projections.figures import cell
from schemas.wording import count_text

Row = Mapping[str, Any]
WIDTH, HEIGHT = 900, 420
LEFT, RIGHT, TOP, BOTTOM = 90, 860, 20, 360
TICKS = 5
ROUND_STEPS = (1, 2, 5, 10)


@dataclass(frozen=True, slots=True)
class SweepResult:
    """What a sweep computed."""

    file: str
    rows: Sequence[Row]
    usable: Sequence[Row]
    """Rows whose values go together."""
    front: Sequence[Row]
    goals: tuple[str, str]
    figures: tuple[str, ...]
    """Names of the figures of a row that are shown."""


@dataclass(frozen=True, slots=True)
class Point:
    """A point of the picture, in pixels."""

    x: float
    y: float
    text: str
    on_front: bool = False


@dataclass(frozen=True, slots=True)
class Picture:
    """Two figures of every point; `templates/sweep.html` draws it."""

    across: str
    up: str
    ticks_x: Sequence[tuple[float, float]]
    """Pixel and value."""
    ticks_y: Sequence[tuple[float, float]]
    points: Sequence[Point]
    front: Sequence[Point]
    """Those of the Pareto front, from left to right."""
    recorded: Point
    width: int = WIDTH
    height: int = HEIGHT
    left: int = LEFT
    right: int = RIGHT
    top: int = TOP
    bottom: int = BOTTOM


def sweep_page(result: SweepResult) -> str:
    """Return the page's text."""
    names = list(result.rows[0]["point"])
    about = (
        f"{result.file}, {count_text(len(result.rows), 'point')}, {len(result.front)} on the Pareto front of "
        f"{' and '.join(result.goals)}: no other point is better in both."
    )
    return render(
        "sweep.html",
        title=f"Sweep: {', '.join(names)}",
        loop_note=OPEN_LOOP,
        about=about,
        picture=_picture(result) if result.usable else None,
        names=names,
        figures=list(result.figures),
        baseline=result.usable[0]["baseline"] if result.usable else None,
        rows=result.rows,
        front=result.front,
        result={"rows": result.rows, "front": [row["point"] for row in result.front]},
    )


def _picture(result: SweepResult) -> Picture:
    across, up = result.goals
    baseline = result.usable[0]["baseline"]
    axis_x = Axis.over([row[across] for row in (*result.usable, baseline)], LEFT, RIGHT)
    axis_y = Axis.over([row[up] for row in (*result.usable, baseline)], BOTTOM, TOP)

    def place(row: Row, text: str) -> Point:
        return Point(axis_x.at(row[across]), axis_y.at(row[up]), text, row in result.front)

    points = [place(row, _point(row)) for row in result.usable]
    return Picture(
        across=across,
        up=up,
        ticks_x=[(axis_x.at(value), value) for value in axis_x.ticks()],
        ticks_y=[(axis_y.at(value), value) for value in axis_y.ticks()],
        points=points,
        front=sorted(
            (point for point in points if point.on_front), key=lambda point: (point.x, -point.y)
        ),
        recorded=place(baseline, "recorded"),
    )


def _point(row: Row) -> str:
    return ", ".join(f"{name} = {cell(value)}" for name, value in row["point"].items())


@dataclass(frozen=True, slots=True)
class Axis:
    """From values to pixels."""

    low: float
    high: float
    begin: float
    end: float

    @classmethod
    def over(cls, values: Sequence[float], begin: float, end: float) -> Axis:
        """Return an axis with a little room at both ends."""
        low, high = float(min(values)), float(max(values))
        room = (high - low) * 0.06 or max(1.0, abs(high)) * 0.06
        return cls(low - room, high + room, begin, end)

    def at(self, value: float) -> float:
        """Return where a value stands."""
        share = (value - self.low) / (self.high - self.low)
        return round(self.begin + share * (self.end - self.begin), 1)

    def ticks(self) -> list[float]:
        """Return round values inside it, at equal distances."""
        rough = (self.high - self.low) / TICKS
        power = 10.0 ** math.floor(math.log10(rough))
        step = next(size * power for size in ROUND_STEPS if size * power >= rough)
        first = math.ceil(self.low / step)
        return [step * place for place in range(first, math.floor(self.high / step) + 1)]
