"""A sweep as a picture in characters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from projections.figures import number

Row = Mapping[str, Any]
WIDTH, HEIGHT = 60, 16


def terminal_plot(rows: Sequence[Row], front: Sequence[Row], across: str, up: str) -> str:
    """Return the plot in characters: `.` a point, `o` on the front, `*` what was recorded."""
    baseline = rows[0]["baseline"]
    xs = [float(row[across]) for row in (*rows, baseline)]
    ys = [float(row[up]) for row in (*rows, baseline)]
    grid = [[" "] * WIDTH for _ in range(HEIGHT)]

    def put(row: Row, sign: str) -> None:
        column = _place(float(row[across]), min(xs), max(xs), WIDTH)
        line = HEIGHT - 1 - _place(float(row[up]), min(ys), max(ys), HEIGHT)
        grid[line][column] = sign

    for one in rows:
        put(one, ".")
    for one in front:
        put(one, "o")
    put(baseline, "*")
    lines = [f"{up}: {number(min(ys))} to {number(max(ys))}"]
    lines.extend("|" + "".join(line).rstrip() for line in grid)
    lines.append("+" + "-" * WIDTH)
    lines.append(
        f" {across}: {number(min(xs))} to {number(max(xs))}    o Pareto front   * recorded"
    )
    return "\n".join(lines)


def _place(value: float, low: float, high: float, cells: int) -> int:
    return 0 if high <= low else min(cells - 1, round((value - low) / (high - low) * (cells - 1)))
