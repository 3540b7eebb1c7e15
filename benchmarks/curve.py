"""Line charts as plain SVG: both axes logarithmic, one line per series, values at the points.

No library draws them, so a chart changes only when a figure does.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from xml.sax.saxutils import escape

WIDTH, HEIGHT, MARGIN = 640, 360, 60
COLORS = ("#1f6feb", "#d1570a", "#1a7f37", "#8250df")

Points = Sequence[tuple[float, float]]


def chart(title: str, x_name: str, y_name: str, series: Mapping[str, Points]) -> str:
    """Return an SVG document; every value must be greater than zero."""
    every = [point for points in series.values() for point in points]
    x_range = _decades([x for x, _ in every])
    y_range = _decades([y for _, y in every])
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}">',
        "<style>text { font: 12px sans-serif }</style>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        _text(WIDTH / 2, 22, title, "middle"),
        _text(WIDTH / 2, HEIGHT - 12, x_name, "middle"),
        _text(8, 40, y_name, "start"),
    ]
    for power in range(x_range[0], x_range[1] + 1):
        x = _at_x(10.0**power, x_range)
        parts += [_line(x, MARGIN, x, HEIGHT - MARGIN), _text(x, HEIGHT - 40, f"{10**power:,}")]
    for power in range(y_range[0], y_range[1] + 1):
        y = _at_y(10.0**power, y_range)
        parts += [_line(MARGIN, y, WIDTH - MARGIN, y), _text(52, y + 4, f"{10.0**power:g}", "end")]
    for number, (name, points) in enumerate(series.items()):
        color = COLORS[number % len(COLORS)]
        path = " ".join(f"{_at_x(x, x_range):.1f},{_at_y(y, y_range):.1f}" for x, y in points)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{color}" stroke-width="2"/>')
        for x, y in points:
            at = (_at_x(x, x_range), _at_y(y, y_range))
            parts.append(f'<circle cx="{at[0]:.1f}" cy="{at[1]:.1f}" r="3" fill="{color}"/>')
            parts.append(_text(at[0], at[1] - 8, f"{y:,.3g}"))
        parts.append(_text(WIDTH - MARGIN, 40 + 15 * number, name, "end", color))
    return "\n".join([*parts, "</svg>"]) + "\n"


def _decades(values: Sequence[float]) -> tuple[int, int]:
    low = math.floor(math.log10(min(values)))
    return low, max(low + 1, math.ceil(math.log10(max(values))))


def _at_x(value: float, decades: tuple[int, int]) -> float:
    share = (math.log10(value) - decades[0]) / (decades[1] - decades[0])
    return MARGIN + share * (WIDTH - 2 * MARGIN)


def _at_y(value: float, decades: tuple[int, int]) -> float:
    share = (math.log10(value) - decades[0]) / (decades[1] - decades[0])
    return HEIGHT - MARGIN - share * (HEIGHT - 2 * MARGIN)


def _line(x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="#d0d7de"/>'


def _text(x: float, y: float, text: str, anchor: str = "middle", color: str = "#1f2328") -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{color}">{escape(text)}</text>'
    )
