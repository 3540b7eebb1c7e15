"""Plots for pages, by matplotlib: in the page's own colours, light and dark, each mark with a text to point at.

One pixel is one point of matplotlib. The same figures give the same bytes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from io import StringIO
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar
from xml.sax.saxutils import quoteattr

from foresail.html_page import render
from projections.figures import number

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

P = ParamSpec("P")
T = TypeVar("T")
NAMES = (
    *("page", "card", "ink", "soft", "rule", "grid", "demand", "prediction", "autoscaler", "controller"),
    *("scheduler", "kubelet", "node", "foresail", "damage", "changed", "appeared", "vanished", "front"),
)  # fmt: skip
COLOURS: Mapping[str, str] = {name: f"#fe01{place:02x}" for place, name in enumerate(NAMES)}
"""What stands for a colour of `templates/layout.html` until the SVG text is written: matplotlib knows no variables."""
LINES = ("demand", "prediction", "autoscaler", "scheduler", "damage", "kubelet", "foresail", "node")
"""Colours of arms or series, by their place."""
DPI = 72
ROW_GAP = 16
TIP = "tip:"
STYLE = {
    "svg.fonttype": "none", "svg.hashsalt": "foresail", "font.size": 12.0, "axes.grid": True, "axes.axisbelow": True,
    "axes.spines.top": False, "axes.spines.right": False, "axes.spines.left": False, "axes.spines.bottom": False,
    "xtick.major.size": 0.0, "ytick.major.size": 0.0, "xtick.minor.size": 0.0, "ytick.minor.size": 0.0,
    "text.color": COLOURS["ink"], "axes.labelcolor": COLOURS["ink"], "axes.titlecolor": COLOURS["ink"],
    "xtick.color": COLOURS["soft"], "ytick.color": COLOURS["soft"], "grid.color": COLOURS["grid"],
    "axes.titlesize": 12.0, "axes.titlelocation": "left", "figure.facecolor": "none", "axes.facecolor": "none",
    "legend.frameon": False, "text.parse_math": False, "axes.xmargin": 0.06, "axes.ymargin": 0.06,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Dot:
    """A point between two goals."""

    x: float
    y: float
    text: str
    on_front: bool
    name: str = ""
    """Written beside it; empty: only its text, where it is pointed at."""


def page_style(draw: Callable[P, T]) -> Callable[P, T]:
    """Let a function that draws do so in the style of pages."""

    @wraps(draw)
    def styled(*args: P.args, **named: P.kwargs) -> T:
        import matplotlib as mpl  # noqa: PLC0415 - takes a second to load

        with mpl.rc_context(STYLE):  # type: ignore[arg-type]
            return draw(*args, **named)

    return styled


def new_figure(
    size: tuple[int, int], margins: tuple[int, int, int, int], rows: int = 1
) -> tuple[Figure, list[Axes]]:
    """Return a figure of that size and its axes, below each other within (left, right, top, bottom), in pixels."""
    left, right, top, bottom = margins
    width, height = size[0] - left - right, (size[1] - top - bottom + ROW_GAP) // rows
    figure, add_axes = empty_figure(*size)
    axes = [add_axes(left, top + row * height, width, height - ROW_GAP) for row in range(rows)]
    return figure, axes


def empty_figure(width: int, height: int) -> tuple[Figure, Callable[[int, int, int, int], Axes]]:
    """Return a figure and what adds axes to it, by left, top, width and height; all in pixels."""
    from matplotlib.figure import Figure as NewFigure  # noqa: PLC0415

    figure = NewFigure(figsize=(width / DPI, height / DPI), dpi=DPI)

    def add_axes(left: int, top: int, wide: int, high: int) -> Axes:
        place = (left / width, 1 - (top + high) / height, wide / width, high / height)
        axes = figure.add_axes(place)
        axes.xaxis.set_major_formatter(lambda value, _: number(value))
        axes.yaxis.set_major_formatter(lambda value, _: number(value))
        return axes

    return figure, add_axes


def set_tip(artist: Artist, text: str) -> None:
    """Let a mark show a text when it is pointed at."""
    artist.set_gid(TIP + text)


def svg_of(figure: Figure, label: str) -> Any:
    """Return a figure as an SVG element to be put into a page as it is; `label` is read aloud in its place."""
    from markupsafe import Markup  # noqa: PLC0415 - comes with jinja2

    out = StringIO()
    nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    figure.savefig(out, format="svg", metadata=nothing)
    text = re.sub(
        r"<defs>\s*<style.*?</style>\s*</defs>|<!--.*?-->", "", out.getvalue(), flags=re.DOTALL
    )
    text = re.sub(rf'<g id="{TIP}([^"]*)">', r"<g><title>\1</title>", text)
    text = re.sub(r' id="[a-z]\w*_\d+"', "", text).replace("xlink:href", "href")
    text = re.sub(r"font-(size|family): [^;\"]*;? ?", "", text)  # the page's own
    text = re.sub(r"\s*\n\s*", " ", re.sub(r"<g/>", "", text))
    text = re.sub(
        r' d="[^"]*"', lambda path: re.sub(r"(\.\d)\d+", r"\1", path[0]), text
    )  # a tenth of a pixel
    for name, stand_in in COLOURS.items():
        text = text.replace(stand_in, f"var(--{name})")
    size = " ".join(str(round(edge * DPI)) for edge in figure.get_size_inches())
    head = f'<svg viewBox="0 0 {size}" role="img" aria-label={quoteattr(label)}>'
    return Markup(re.sub(r".*?<svg.*?>", lambda _: head, text, count=1, flags=re.DOTALL))  # noqa: S704 - escaped by matplotlib


@page_style
def scatter_svg(
    dots: Sequence[Dot], across: str, up: str, recorded: tuple[float, float] | None = None
) -> Any:
    """Return points between two goals, the Pareto front joined, and a cross where something was recorded."""
    figure, (axes,) = new_figure((1100, 380), (90, 40, 30, 52))
    xs = [dot.x for dot in dots]
    right = min(xs) + 0.8 * (max(xs) - min(xs))
    front = sorted((dot.x, dot.y) for dot in dots if dot.on_front)
    axes.plot([x for x, _ in front], [y for _, y in front], color=COLOURS["front"], lw=2)
    for dot in dots:
        colour = COLOURS["front" if dot.on_front else "soft"]
        (mark,) = axes.plot(dot.x, dot.y, "o", ms=12 if dot.on_front else 8, color=colour)
        set_tip(mark, dot.text)
        inwards = -1 if dot.x > right else 1  # its name stays within the picture
        place: Any = {"textcoords": "offset points", "ha": "right" if inwards < 0 else "left"}
        axes.annotate(dot.name, (dot.x, dot.y), (10 * inwards, 8), **place)
    if recorded is not None:
        (mark,) = axes.plot(*recorded, "+", ms=16, mew=3, color=COLOURS["vanished"])
        set_tip(mark, "recorded")
    axes.set_xlabel(across, loc="right")
    axes.set_title(up, x=-0.06)
    return svg_of(figure, f"{up} by {across}")


def svg_file(picture: str) -> str:
    """Return an SVG element of a page as the text of a file that stands alone."""
    head, _, rest = str(picture).partition(">")
    space = 'xmlns="http://www.w3.org/2000/svg"'
    return f"{head.replace('<svg', f'<svg {space}')}>\n{render('picture.svg')}{rest}\n"
