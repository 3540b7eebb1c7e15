"""The pictures of an experiment's page: forest plots, arms between two goals, profiles, pressure lanes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby
from typing import Any

from foresail.plots import COLOURS, LINES, Dot, new_figure, page_style, scatter_svg, set_tip, svg_of
from lab.experiments.effects import ConfidenceInterval, Verdict
from lab.experiments.metrics import METRICS
from lab.experiments.pressure import Lane
from lab.experiments.profiles import TAUS, Profile
from lab.experiments.tradeoffs import Tradeoff
from lab.experiments.wording import amount, metric_name, unit_of
from projections.figures import signed_text

WIDTH, LEFT, RIGHT = 1100, 240, 40
ROW_HEIGHT, LANE_HEIGHT, HEIGHT = 28, 76, 380
VERDICT_COLOURS = {"helps": "appeared", "harms": "vanished"}


@page_style
def forest_svg(metric: str, entries: Sequence[tuple[str, ConfidenceInterval, Verdict, str]]) -> Any:
    """Return (name, difference, verdict, text) entries below each other; None where no difference is a number."""
    scale = 100.0 if unit_of(metric) == "ratio" else 1.0
    if not any(math.isfinite(end) for _, one, _, _ in entries for end in _ends(one)):
        return None
    size = (WIDTH, 64 + len(entries) * ROW_HEIGHT)
    figure, (axes,) = new_figure(size, (LEFT, RIGHT, 34, 30))
    axes.axvline(0.0, color=COLOURS["ink"], lw=1)
    for row, (name, one, verdict, text) in enumerate(entries):
        low, high, value = (scale * end for end in _ends(one))
        colour = COLOURS[VERDICT_COLOURS.get(verdict, "soft")]
        (line,) = axes.plot([low, high], [row, row], color=colour, lw=2.5)
        (mark,) = axes.plot(value, row, "s", ms=9, color=colour)
        for artist in (line, mark):
            set_tip(artist, f"{name}: {text}")
    axes.set_yticks(range(len(entries)), [name for name, *_ in entries])
    axes.set_ylim(len(entries) - 0.5, -0.5)
    axes.tick_params("y", labelcolor=COLOURS["ink"])
    axes.locator_params("x", nbins=7)
    axes.grid(visible=False, axis="y")
    axes.xaxis.set_major_formatter(lambda value, _: signed_text(value))
    unit = "percentage points" if scale > 1.0 else unit_of(metric)
    title = f"{metric_name(metric)}, difference in {unit}"
    axes.set_title(title)
    better = "better \u2192" if METRICS[metric].better == "higher" else "\u2190 better"
    axes.set_title(better, loc="right", color=COLOURS["soft"])
    return svg_of(figure, title)


def _ends(one: ConfidenceInterval) -> tuple[float, float, float]:
    """Return low, high and value; without an interval the value for all three."""
    if one.known:
        return one.low, one.high, one.value
    return one.value, one.value, one.value


def tradeoff_svg(one: Tradeoff) -> Any:
    """Return arms between cost, across, and service, up; less is better on both."""
    scale = 100.0 if unit_of(one.service) == "ratio" else 1.0
    dots = []
    for point in one.points:
        cost = amount(point.cost, unit_of(one.cost))
        text = f"{point.arm}: {cost}, {amount(point.service, unit_of(one.service))}"
        dots.append(Dot(point.cost, scale * point.service, text, point.on_front, point.arm))
    across = f"{metric_name(one.cost)}, {unit_of(one.cost)}"
    unit = "%" if scale > 1.0 else unit_of(one.service)
    return scatter_svg(dots, across, f"{metric_name(one.service)}, {unit}")


@page_style
def profiles_svg(profiles: Sequence[Profile]) -> Any:
    """Return the shares of worlds above each relative gain; a ninth arm has the first one's colour, dashed."""
    figure, (axes,) = new_figure((WIDTH, HEIGHT), (90, RIGHT, 30, 56))
    axes.axvline(0.0, color=COLOURS["ink"], lw=1)
    shown = [one for one in profiles if not math.isnan(one.shares[0])]
    for place, one in enumerate(shown):
        style = "--" if place >= len(LINES) else "-"
        (line,) = axes.plot(
            [100 * tau for tau in TAUS], [100 * share for share in one.shares],
            style, color=COLOURS[LINES[place % len(LINES)]], lw=2, label=one.arm,
        )  # fmt: skip
        set_tip(line, one.arm)
    axes.set_xlim(100 * TAUS[0], 100 * TAUS[-1])
    if shown:
        axes.legend(loc="upper right")
    axes.set_title("share of worlds above, %", x=-0.06)
    axes.set_xlabel("gain, % of the reference's mean", loc="right")
    return svg_of(figure, "share of worlds by gain")


def lane_svgs(lanes: Sequence[Lane]) -> list[Any]:
    """Return for each workload the arms' pods without a node over time, one lane below the other, on one scale."""
    known = [lane for lane in lanes if lane.seconds]
    return [_lanes(name, list(group)) for name, group in groupby(known, lambda one: one.workload)]


@page_style
def _lanes(workload: str, lanes: Sequence[Lane]) -> Any:
    size = (WIDTH, LANE_HEIGHT * len(lanes) + 40)
    figure, rows = new_figure(size, (LEFT, RIGHT, 8, 32), len(lanes))
    most = max(max(lane.high) for lane in lanes) or 1.0
    for axes, lane in zip(rows, lanes, strict=True):
        hours = [second / 3_600 for second in lane.seconds]
        band = axes.fill_between(
            hours, lane.low, lane.high, color=COLOURS["demand"], alpha=0.2, lw=0
        )
        (line,) = axes.plot(hours, lane.middle, color=COLOURS["demand"], lw=2)
        for artist in (band, line):
            set_tip(artist, lane.arm)
        axes.set_ylim(0.0, most)
        axes.set_yticks([0.0, most])
        axes.margins(x=0)
        if axes is not rows[-1]:
            axes.tick_params("x", labelbottom=False)
        axes.text(20 - LEFT, 0.6, lane.arm, transform=_pixels_from_left(axes))
        text = f"{lane.seeds} seeds"
        axes.text(20 - LEFT, 0.3, text, color=COLOURS["soft"], transform=_pixels_from_left(axes))
    return svg_of(figure, f"pods without a node on {workload} by hours")


def _pixels_from_left(axes: Any) -> Any:
    """Return x in pixels from the left edge of axes, and y as a share of their height."""
    from matplotlib.transforms import Affine2D, blended_transform_factory  # noqa: PLC0415

    left = Affine2D().translate(axes.bbox.x0, 0)
    return blended_transform_factory(left, axes.transAxes)
