"""The pictures of an experiment's page, in pixels: forest plots, arms between two goals, profiles, pressure lanes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from foresail.sweep_page import Axis
from lab.experiments.effects import ConfidenceInterval, Verdict
from lab.experiments.metrics import METRICS
from lab.experiments.pressure import Lane
from lab.experiments.profiles import TAUS, Profile
from lab.experiments.tradeoffs import Tradeoff
from lab.experiments.wording import amount, metric_name, unit_of

WIDTH, LEFT, RIGHT = 1100, 240, 1060
ROW_HEIGHT, TOP = 28, 34
SQUARE_TOP, SQUARE_BOTTOM, SQUARE_HEIGHT = 24, 330, 380
LANE_HEIGHT = 70
COLOURS = {"helps": "appeared", "harms": "vanished"}
LINES = ("demand", "prediction", "autoscaler", "scheduler", "damage", "kubelet", "foresail", "node")
"""Colours of arms, by their place; a ninth arm begins again, dashed."""


@dataclass(frozen=True, slots=True)
class Tick:
    """A place on an axis."""

    at: float
    value: float


@dataclass(frozen=True, slots=True)
class ForestRow:
    """A mean difference and its interval."""

    name: str
    y: float
    x: float
    low: float
    high: float
    colour: str
    text: str


@dataclass(frozen=True, slots=True)
class Forest:
    """Differences below each other, with a line at 0."""

    name: str
    zero: float
    ticks: Sequence[Tick]
    rows: Sequence[ForestRow]
    better_right: bool
    height: int
    width: int = WIDTH
    left: int = LEFT
    right: int = RIGHT
    top: int = TOP


def draw_forest(
    metric: str, entries: Sequence[tuple[str, ConfidenceInterval, Verdict, str]]
) -> Forest | None:
    """Return the picture of (name, difference, verdict, text) entries; None where no difference is a number."""
    scale = 100.0 if unit_of(metric) == "ratio" else 1.0
    limits = [scale * end for _, one, _, _ in entries for end in _ends(one) if math.isfinite(end)]
    if not limits:
        return None
    axis = Axis.over([0.0, *limits], LEFT, RIGHT)
    rows = []
    for place, (name, one, verdict, text) in enumerate(entries):
        low, high, value = (axis.at(scale * end) for end in _ends(one))
        y = TOP + (place + 0.5) * ROW_HEIGHT
        rows.append(ForestRow(name, y, value, low, high, COLOURS.get(verdict, "soft"), text))
    unit = "percentage points" if scale > 1.0 else unit_of(metric)
    return Forest(
        f"{metric_name(metric)}, difference in {unit}",
        axis.at(0.0),
        [Tick(axis.at(value), value) for value in axis.ticks()],
        rows,
        METRICS[metric].better == "higher",
        TOP + len(rows) * ROW_HEIGHT + 30,
    )


def _ends(one: ConfidenceInterval) -> tuple[float, float, float]:
    """Return low, high and value; without an interval the value for all three."""
    if one.known:
        return one.low, one.high, one.value
    return one.value, one.value, one.value


@dataclass(frozen=True, slots=True)
class Dot:
    """An arm between two goals."""

    name: str
    x: float
    y: float
    on_front: bool
    text: str
    anchor: str


@dataclass(frozen=True, slots=True)
class Scatter:
    """Arms between cost, across, and service, up; less is better on both."""

    across: str
    up: str
    ticks_x: Sequence[Tick]
    ticks_y: Sequence[Tick]
    dots: Sequence[Dot]
    front: Sequence[Dot]
    width: int = WIDTH
    height: int = SQUARE_HEIGHT
    left: int = 90
    right: int = RIGHT
    top: int = SQUARE_TOP
    bottom: int = SQUARE_BOTTOM


def draw_tradeoff(one: Tradeoff) -> Scatter:
    """Return the picture of arms between two goals."""
    scale = 100.0 if unit_of(one.service) == "ratio" else 1.0
    axis_x = Axis.over([point.cost for point in one.points], 90, RIGHT)
    axis_y = Axis.over([scale * point.service for point in one.points], SQUARE_BOTTOM, SQUARE_TOP)
    dots = []
    for point in one.points:
        x, y = axis_x.at(point.cost), axis_y.at(scale * point.service)
        cost = amount(point.cost, unit_of(one.cost))
        text = f"{point.arm}: {cost}, {amount(point.service, unit_of(one.service))}"
        dots.append(
            Dot(point.arm, x, y, point.on_front, text, "end" if x > WIDTH * 0.8 else "start")
        )
    return Scatter(
        f"{metric_name(one.cost)}, {unit_of(one.cost)}",
        f"{metric_name(one.service)}, {'%' if scale > 1.0 else unit_of(one.service)}",
        [Tick(axis_x.at(value), value) for value in axis_x.ticks()],
        [Tick(axis_y.at(value), value) for value in axis_y.ticks()],
        dots,
        sorted((dot for dot in dots if dot.on_front), key=lambda dot: (dot.x, dot.y)),
    )


@dataclass(frozen=True, slots=True)
class Curve:
    """An arm's line."""

    name: str
    colour: str
    dashed: bool
    points: str
    """As `polyline` wants them."""
    band: str = ""
    """Outline of what lies between seeds."""


@dataclass(frozen=True, slots=True)
class Curves:
    """Lines of arms over one axis."""

    name: str
    across: str
    ticks_x: Sequence[Tick]
    ticks_y: Sequence[Tick]
    curves: Sequence[Curve]
    zero: float | None
    bottom: int
    height: int
    width: int = WIDTH
    left: int = 90
    right: int = RIGHT
    top: int = SQUARE_TOP


def draw_profiles(profiles: Sequence[Profile]) -> Curves:
    """Return the shares of worlds above each relative gain."""
    axis_x = Axis(100 * TAUS[0], 100 * TAUS[-1], 90, RIGHT)
    axis_y = Axis(0.0, 100.0, SQUARE_BOTTOM, SQUARE_TOP)
    shown = [one for one in profiles if not math.isnan(one.shares[0])]
    curves = [
        Curve(
            one.arm, *line_of(place),
            " ".join(f"{axis_x.at(100 * tau)},{axis_y.at(100 * share)}"
                     for tau, share in zip(TAUS, one.shares, strict=True)),
        )
        for place, one in enumerate(shown)
    ]  # fmt: skip
    return Curves(
        "share of worlds above, %",
        "gain, % of the reference's mean",
        [Tick(axis_x.at(value), value) for value in axis_x.ticks()],
        [Tick(axis_y.at(value), value) for value in axis_y.ticks()],
        curves,
        axis_x.at(0.0),
        SQUARE_BOTTOM,
        SQUARE_HEIGHT,
    )


def draw_lanes(lanes: Sequence[Lane]) -> list[tuple[str, list[Curves]]]:
    """Return for each workload the arms' pods without a node over time, one lane below the other, on one scale."""
    drawn = []
    known = [lane for lane in lanes if lane.seconds]
    for workload, group in groupby(known, lambda lane: lane.workload):
        of_workload = list(group)
        most = max(max(lane.high) for lane in of_workload) or 1.0
        drawn.append((workload, [_lane(lane, most) for lane in of_workload]))
    return drawn


def _lane(lane: Lane, most: float) -> Curves:
    hours = [second / 3_600 for second in lane.seconds]
    axis_x = Axis(hours[0], max(hours[-1], hours[0] + 1e-9), LEFT, RIGHT)
    axis_y = Axis(0.0, most, LANE_HEIGHT, 8)

    def line(values: Sequence[float]) -> list[str]:
        return [
            f"{axis_x.at(hour)},{axis_y.at(value)}"
            for hour, value in zip(hours, values, strict=True)
        ]

    band = " ".join([*line(lane.high), *reversed(line(lane.low))])
    curve = Curve(lane.arm, "demand", False, " ".join(line(lane.middle)), band)
    return Curves(
        lane.arm,
        f"{lane.seeds} seeds",
        [Tick(axis_x.at(value), value) for value in axis_x.ticks()],
        [Tick(axis_y.at(most), most), Tick(axis_y.at(0.0), 0.0)],
        [curve],
        None,
        LANE_HEIGHT,
        LANE_HEIGHT + 24,
        left=LEFT,
        top=8,
    )


def line_of(place: int) -> tuple[str, bool]:
    """Return the colour of the arm at a place, and whether its line is dashed."""
    return LINES[place % len(LINES)], place >= len(LINES)
