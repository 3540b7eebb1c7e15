"""A sweep as one page: what it says, the picture of two figures, every point."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from foresail.html_page import render
from foresail.plots import Dot, scatter_svg
from lab.rerun.what_if import OPEN_LOOP
from projections.figures import cell
from schemas.wording import count_text

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class SweepResult:
    """Result of a sweep."""

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
        picture=sweep_svg(result) if result.usable else None,
        names=names,
        figures=list(result.figures),
        baseline=result.usable[0]["baseline"] if result.usable else None,
        rows=result.rows,
        front=result.front,
        result={"rows": result.rows, "front": [row["point"] for row in result.front]},
    )


def sweep_svg(result: SweepResult) -> Any:
    """Return the picture of two figures of every point, as an SVG element."""
    across, up = result.goals
    baseline = result.usable[0]["baseline"]
    dots = [Dot(row[across], row[up], _point(row), row in result.front) for row in result.usable]
    return scatter_svg(dots, across, up, (baseline[across], baseline[up]))


def _point(row: Row) -> str:
    return ", ".join(f"{name} = {cell(value)}" for name, value in row["point"].items())
