"""A sweep as one page: what it says, the picture of two figures, every point."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from foresail.html_page import page_text
from lab.rerun.what_if import OPEN_LOOP
from projections.figures import cell, number

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


def sweep_page(result: SweepResult) -> str:
    """Return the page's text."""
    names = ", ".join(result.rows[0]["point"])
    about = (
        f"{result.file}, {len(result.rows)} points, {len(result.front)} on the Pareto front of "
        f"{' and '.join(result.goals)}: no other point is better in both."
    )
    parts = [
        f"<p class=loop>{escape(OPEN_LOOP)}</p>",
        f"<p>{escape(about)}</p>",
        _picture(result) if result.usable else "",
        f"<div class=wide>{_table(result)}</div>",
    ]
    rows = {"rows": result.rows, "front": [row["point"] for row in result.front]}
    return page_text(f"Sweep: {names}", parts, rows)


def _picture(result: SweepResult) -> str:
    across, up = result.goals
    baseline = result.usable[0]["baseline"]
    axis_x = Axis.over([row[across] for row in (*result.usable, baseline)], LEFT, RIGHT)
    axis_y = Axis.over([row[up] for row in (*result.usable, baseline)], BOTTOM, TOP)
    front = sorted(result.front, key=lambda row: (row[across], row[up]))
    line = " ".join(f"{axis_x.at(row[across])},{axis_y.at(row[up])}" for row in front)
    points = "".join(
        f'<circle cx="{axis_x.at(row[across])}" cy="{axis_y.at(row[up])}" r="{6 if row in front else 4}" '
        f'style="fill:var(--{"front" if row in front else "soft"})"><title>{escape(_point(row))}</title></circle>'
        for row in result.usable
    )
    x, y = axis_x.at(baseline[across]), axis_y.at(baseline[up])
    recorded = (
        f'<path d="M{x - 8} {y}H{x + 8}M{x} {y - 8}V{y + 8}" style="stroke:var(--vanished);stroke-width:3">'
        "<title>recorded</title></path>"
    )
    ticks = [
        f'<line class="rule" x1="{axis_x.at(value)}" x2="{axis_x.at(value)}" y1="{TOP}" y2="{BOTTOM}"/>'
        f'<text class="soft" x="{axis_x.at(value)}" y="{BOTTOM + 18}" text-anchor="middle">{number(value)}</text>'
        for value in axis_x.ticks()
    ] + [
        f'<line class="rule" x1="{LEFT}" x2="{RIGHT}" y1="{axis_y.at(value)}" y2="{axis_y.at(value)}"/>'
        f'<text class="soft" x="{LEFT - 8}" y="{axis_y.at(value) + 4}" text-anchor="end">{number(value)}</text>'
        for value in axis_y.ticks()
    ]
    return (
        f'<figure><svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(up)} by {escape(across)}">'
        f'{"".join(ticks)}<polyline points="{line}" style="fill:none;stroke:var(--front);stroke-width:2"/>'
        f'{points}{recorded}<text x="{RIGHT}" y="{BOTTOM + 40}" text-anchor="end">{escape(across)}</text>'
        f'<text x="{LEFT}" y="{TOP - 6}" text-anchor="middle">{escape(up)}</text></svg>'
        "<figcaption>Blue: the Pareto front. Grey: the other points. Red cross: what was recorded. Point at one "
        "to read its values.</figcaption></figure>"
    )


def _point(row: Row) -> str:
    return ", ".join(f"{name} = {cell(value)}" for name, value in row["point"].items())


def _table(result: SweepResult) -> str:
    names = list(result.rows[0]["point"])
    heads = "".join(f"<th class=n>{escape(name)}" for name in (*names, *result.figures))
    body = []
    if result.usable:
        baseline = result.usable[0]["baseline"]
        figures = "".join(f"<td class=n>{number(baseline[name])}" for name in result.figures)
        body.append(f"<tr><td colspan={len(names)}>recorded{figures}")
    for row in result.rows:
        values = "".join(f"<td class=n>{escape(cell(value))}" for value in row["point"].values())
        if "refused" in row:
            why = "refused: these values do not go together"
            body.append(f"<tr>{values}<td colspan={len(result.figures)}>{why}")
            continue
        figures = "".join(f"<td class=n>{number(row[name])}" for name in result.figures)
        body.append(f"<tr{' class=front' if row in result.front else ''}>{values}{figures}")
    return f"<table><tr>{heads}{''.join(body)}</table>"


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
