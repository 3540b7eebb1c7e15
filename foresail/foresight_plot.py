"""The picture of a foreseen rise: requests, the band ahead, what replicas bear with us and without, and what failed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from foresail.plots import COLOURS, empty_figure, page_style, set_tip, svg_of
from projections.figures import number
from projections.times import clock
from services.dashboard.foresight import foresight_json

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from projections.foresight.log import ForesightLog

WIDTH, LEFT, RIGHT = 1100, 76, 24
RATES_TOP, RATES_HEIGHT = 92, 300
FAILED_TOP, FAILED_HEIGHT = 440, 110
HEIGHT = 586
TICK_SECONDS = 300
HEADROOM_RATIO = 1.18
"""Height of the picture over its highest curve: the names of moments stand there."""
MOMENTS = {
    "foreseen": ("foreseen", "prediction"),
    "asked": ("replicas asked for", "foresail"),
    "ready": ("ready", "foresail"),
    "rise": ("the rise", "demand"),
}
Panel = Mapping[str, Any]


def foresight_svg(log: ForesightLog) -> Any:
    """Return the picture of the Service with the most to tell; None where a log has no foreseen rise."""
    panel = foresight_json(log)
    return None if panel is None or not panel["marks"] else _picture(panel)


@page_style
def _picture(panel: Panel) -> Any:
    figure, add_axes = empty_figure(WIDTH, HEIGHT)
    width = WIDTH - LEFT - RIGHT
    rates = add_axes(LEFT, RATES_TOP, width, RATES_HEIGHT)
    failed = add_axes(LEFT, FAILED_TOP, width, FAILED_HEIGHT)
    _draw_rates(rates, panel)
    _draw_failed(failed, panel)
    for axes in (rates, failed):
        first = -(-panel["from"] // TICK_SECONDS) * TICK_SECONDS
        ticks = [first + TICK_SECONDS * place for place in range(40)]
        shown = [at for at in ticks if at <= panel["to"]]
        axes.set_xticks(shown, [clock(at)[:5] for at in shown])
        axes.set_xlim(panel["from"], panel["to"])
        axes.margins(y=0)
    figure.text(16 / WIDTH, 1 - 24 / HEIGHT, panel["heading"], size=14, weight="bold")
    handles, labels = rates.get_legend_handles_labels()
    place = ((LEFT - 8) / WIDTH, 1 - 34 / HEIGHT)
    figure.legend(
        handles, labels, loc="upper left", bbox_to_anchor=place, ncols=5, columnspacing=2.4
    )
    return svg_of(figure, panel["heading"])


def _draw_rates(axes: Axes, panel: Panel) -> None:
    measured, untouched, band = panel["measured"], panel["untouched"], panel["band"]
    colour = COLOURS["prediction"]
    for low, high, alpha, name in (
        ("lowest", "highest", 0.13, "9 of 10"),
        ("low", "high", 0.22, "8 of 10"),
    ):
        _fill(axes, band, (low, high), colour, alpha, f"foreseen, {name}")
    axes.plot(band["at"], band["middle"], "--", color=colour, lw=1.4)
    for world, name, style, shade in (
        (untouched, "without us", ":", "vanished"),
        (measured, "with us", "-", "foresail"),
    ):
        if world is not None:
            (line,) = axes.step(
                *_known(world["at"], world["bears"]), style, where="post", color=COLOURS[shade], lw=2,
                label=f"its replicas bear, {name}",
            )  # fmt: skip
            set_tip(line, f"what its replicas bear {name}")
    (line,) = axes.plot(
        measured["at"], measured["rate"], color=COLOURS["ink"], lw=2, label="requests"
    )
    set_tip(line, "requests a second")
    curves = (measured["rate"], measured["bears"], band["high"], band["highest"])
    top = HEADROOM_RATIO * max(value for curve in curves for value in curve if value is not None)
    axes.set_ylim(0.0, top)
    for place, mark in enumerate(panel["marks"]):
        _draw_moment(axes, mark, top * (0.97 - 0.06 * place))
    axes.set_title(f"requests a second of {panel['service']}")


def _draw_moment(axes: Axes, mark: Mapping[str, Any], height: float) -> None:
    name, shade = MOMENTS[mark["name"]]
    axes.axvline(mark["at"], color=COLOURS[shade], lw=1.2)
    words = f"{name}, {clock(mark['at'])[:5]}"
    place: Any = {"textcoords": "offset points", "va": "top"}
    axes.annotate(words, (mark["at"], height), (5, 0), color=COLOURS[shade], **place)


def _draw_failed(axes: Axes, panel: Panel) -> None:
    worlds = (
        (panel["untouched"], "without us", "vanished", panel["untouched_failed"]),
        (panel["measured"], "with us", "foresail", panel["failed"]),
    )
    for world, name, shade, total in worlds:
        if world is None:
            continue
        label = f"{name}: {number(total)}"
        axes.fill_between(world["at"], 0.0, world["failed"], color=COLOURS[shade], alpha=0.18, lw=0)
        (line,) = axes.plot(world["at"], world["failed"], color=COLOURS[shade], lw=2, label=label)
        set_tip(line, f"failed requests a second {name}")
    asked = next((mark["at"] for mark in panel["marks"] if mark["name"] == "asked"), panel["from"])
    axes.set_title(f"failed requests a second; how many since {clock(asked)[:5]}")
    axes.set_ylim(bottom=0.0)
    axes.locator_params("y", nbins=3)
    axes.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=2, columnspacing=2.4)


def _fill(
    axes: Axes, band: Mapping[str, Sequence[float | None]], ends: tuple[str, str], colour: str, alpha: float, label: str
) -> None:  # fmt: skip
    low, high = (band[end] for end in ends)
    known = [
        place for place, value in enumerate(low) if value is not None and high[place] is not None
    ]
    at = [band["at"][place] for place in known]
    area = axes.fill_between(
        at, [low[place] for place in known], [high[place] for place in known],  # type: ignore[arg-type]
        color=colour, alpha=alpha, lw=0, label=label,
    )  # fmt: skip
    set_tip(area, label)


def _known(
    times: Sequence[float], values: Sequence[float | None]
) -> tuple[list[float], list[float]]:
    pairs = [(at, value) for at, value in zip(times, values, strict=True) if value is not None]
    return [at for at, _ in pairs], [value for _, value in pairs]
