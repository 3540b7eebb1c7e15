"""The picture of a day: panels below each other on one axis of time, and lanes of what happened."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from foresail.day.day import FAULTS, LEVELS, MARKS, Day, Moment, Period
from foresail.plots import COLOURS, empty_figure, page_style, set_tip
from projections.figures import number
from projections.times import clock

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH, LEFT, RIGHT = 1180, 168, 1156
TOP, GAP, LANE, HEADING, FOOT = 34, 46, 22, 22, 34
TALL, FLAT = 170, 92
MOST_TYPES = 6
MINUTES = 5  # characters of a time of day without its seconds
LEAST_SPAN = 3.0
LABEL_GAP, LETTER = 5.0, 6.2
"""Between a block and its label, and the width of a letter of it; pixels, as all the above."""
LATENCY = "Latency"
_COLOURS = ("scheduler", "kubelet", "autoscaler", "demand", "prediction", "node")
_DAMAGE = ("evicted", "oom", "failed", "restart")
_HOUR = 3_600.0
_TICK_HOURS = (1 / 60, 1 / 12, 0.25, 0.5, 1.0, 2.0, 3.0, 6.0, 12.0, 24.0)


@dataclass(frozen=True, slots=True)
class Series:
    """A value of each moment."""

    name: str
    colour: str
    values: Sequence[float]
    filled: bool = False
    base: Sequence[float] = ()
    """Where a stacked one begins."""


@dataclass(frozen=True, slots=True)
class Panel:
    """One diagram, its height in pixels."""

    title: str
    unit: str
    height: int
    series: Sequence[Series]


@dataclass(frozen=True, slots=True)
class Block:
    """A mark or a span in a lane, in seconds."""

    begin: float
    end: float
    strength: float
    text: str
    label: str = ""


@dataclass(frozen=True, slots=True)
class Lane:
    """Things that happened, in a row of their own."""

    title: str
    colour: str
    count: int
    blocks: Sequence[Block]


@page_style
def draw_day(day: Day) -> Figure:
    """Return the picture: axes of each panel, then those of all lanes."""
    panels = list(_panels(day))
    groups = [(heading, lanes) for heading, lanes in _groups(day) if lanes]
    lanes_height = sum(HEADING + LANE * len(lanes) for _, lanes in groups)
    top = TOP + sum(panel.height + GAP for panel in panels)
    figure, add_axes = empty_figure(WIDTH, top + lanes_height + FOOT - GAP // 2)
    at = TOP
    for panel in panels:
        _draw_panel(day, panel, add_axes(LEFT, at, RIGHT - LEFT, panel.height))
        at += panel.height + GAP
    axes = add_axes(LEFT, at - GAP // 2, RIGHT - LEFT, max(1, lanes_height))
    axes.set_ylim(max(1, lanes_height), 0)
    axes.set_yticks([])
    y = 0
    for heading, lanes in groups:
        y += HEADING
        axes.text(0, y - 6, heading, weight="bold")
        for lane in lanes:
            _draw_lane(day, lane, y, axes)
            y += LANE
    for one in figure.axes:
        one.set_xlim(0, day.seconds)
        one.set_xticks([at for at, _ in _ticks(day)], [])
    axes.set_xticks(*zip(*_ticks(day), strict=True))
    return figure


def _panels(day: Day) -> Iterator[Panel]:
    moments = day.moments
    capacity = [moment.capacity_cores for moment in moments]
    requested = [moment.requested_cores for moment in moments]
    used = [moment.used_cores for moment in moments]
    cores = [
        Series("allocatable on ready nodes", "node", capacity, filled=True),
        Series("requested", "scheduler", requested),
        Series("used", "foresail", used, filled=True),
    ]
    yield Panel("CPU", "cores", TALL, cores)
    if day.serves:
        rates = [moment.requests_per_second for moment in moments]
        latencies = [1_000.0 * moment.latency_p95_seconds for moment in moments]
        failed = [100.0 * moment.failed_ratio for moment in moments]
        line = Series("all Services", "demand", rates, filled=True)
        yield Panel("Requests", "per second", FLAT, [line])
        yield Panel(LATENCY, "ms", FLAT, [Series("95 of 100 are faster", "prediction", latencies)])
        if any(failed):
            line = Series("of all requests", "damage", failed, filled=True)
            yield Panel("Failed or lost", "%", FLAT // 2, [line])
    pending = [float(moment.pending) for moment in moments]
    line = Series("the most of each sample", "damage", pending, filled=True)
    yield Panel("Pods without a node", "pods", FLAT, [line])
    yield Panel("Ready machines", "nodes", FLAT, list(_machine_series(moments)))
    if day.rents:
        dollars = [moment.dollars_per_hour for moment in moments]
        line = Series("rented machines", "autoscaler", dollars, filled=True)
        yield Panel("Price", "dollars per hour", FLAT // 2, [line])


def _machine_series(moments: Sequence[Moment]) -> Iterator[Series]:
    """Yield machine types stacked on each other; many types make one `others`."""
    names = sorted({name for moment in moments for name in moment.machines})
    weight = {name: sum(m.machines.get(name, 0) for m in moments) for name in names}
    shown = sorted(names, key=lambda name: (-weight[name], name))[:MOST_TYPES]
    rest = [name for name in names if name not in shown]
    base = [0.0] * len(moments)
    groups = [(name, [name]) for name in shown] + ([("others", rest)] if rest else [])
    for place, (title, members) in enumerate(groups):
        values = [
            low + sum(moment.machines.get(name, 0) for name in members)
            for low, moment in zip(base, moments, strict=True)
        ]
        yield Series(title, _COLOURS[place % len(_COLOURS)], values, filled=True, base=base)
        base = values


def _draw_panel(day: Day, panel: Panel, axes: Axes) -> None:
    known = [value for one in panel.series for value in one.values if not math.isnan(value)]
    for one in panel.series:
        colour = COLOURS[one.colour]
        edges, values, base = _steps(day, one)
        if one.filled:
            axes.stairs(values, edges, baseline=base, fill=True, color=colour, alpha=0.2)
        line = axes.stairs(values, edges, baseline=None, color=colour, lw=1.6, label=one.name)
        set_tip(line, f"{one.name}: {_range(one.values)} {panel.unit}")
    if panel.title == LATENCY:  # whole decades: a healthy and an overloaded Service lie far apart
        low = 10.0 ** math.floor(math.log10(max(min(known, default=1.0), 1e-3)))
        high = 10.0 ** math.ceil(math.log10(max(max(known, default=1.0), 10.0 * low)))
        axes.set_yscale("log")
        axes.set_ylim(low, high)
        axes.yaxis.set_major_formatter(lambda value, _: number(value))
    else:
        whole = all(value == int(value) for value in known)
        axes.locator_params("y", nbins=2 if panel.height < FLAT else 4, integer=whole)
        most = max(known, default=0.0) or 1.0
        axes.set_ylim(0.0, axes.yaxis.get_major_locator().tick_values(0.0, most)[-1])
    axes.set_title(f"{panel.title}, {panel.unit}", weight="bold")
    axes.legend(
        loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=8, borderpad=0.2, borderaxespad=0.0,
        labelcolor=COLOURS["soft"], handlelength=0.8, handletextpad=0.4, columnspacing=1.2,
    )  # fmt: skip


def _steps(day: Day, one: Series) -> tuple[list[float], list[float], list[float]]:
    """Return edges, values and bases of a series, level stretches in one piece."""
    base = one.base or [0.0] * len(one.values)
    edges, values, bases = [0.0], list[float](), list[float]()
    for moment, value, low in zip(day.moments, one.values, base, strict=True):
        if values and (value, low) == (values[-1], bases[-1]):
            edges[-1] = moment.at_seconds
        else:
            edges.append(moment.at_seconds)
            values.append(value)
            bases.append(low)
    return edges, values, bases


def _range(series: Sequence[float]) -> str:
    values = [value for value in series if not math.isnan(value)]
    if not values:
        return "-"
    mean = math.fsum(values) / len(values)
    return f"{number(min(values))} to {number(max(values))}, mean {number(mean)}"


def _groups(day: Day) -> Iterator[tuple[str, list[Lane]]]:
    """Yield headings with their lanes; marks follow below the last."""
    groups = day.groups()
    for place, (heading, rows) in enumerate(groups):
        lanes = [_span_lane(day, name, spans) for name, spans in rows]
        if place == len(groups) - 1:
            lanes += _mark_lanes(day)
        yield heading, lanes


def _span_lane(day: Day, name: str, spans: Sequence[Period]) -> Lane:
    colour = "controller" if name in (FAULTS, LEVELS) else "damage"
    return Lane(name, colour, len(spans), list(_span_blocks(day, spans)))


def _mark_lanes(day: Day) -> Iterator[Lane]:
    for mark, title in MARKS.items():
        counts = [moment.marks.get(mark, 0) for moment in day.moments]
        if any(counts):
            colour = "damage" if mark in _DAMAGE else "controller"
            yield Lane(title, colour, sum(counts), list(_mark_blocks(day, counts)))


def _span_blocks(day: Day, spans: Sequence[Period]) -> Iterator[Block]:
    """Yield the blocks of a lane; those that have room behind them are named there."""
    ordered = sorted(spans, key=lambda span: span.begin)
    ends = 0.0
    for place, span in enumerate(ordered):
        end = min(span.end, day.seconds)
        ends = max(ends, end, span.begin + _seconds_wide(day, LEAST_SPAN))
        following = ordered[place + 1].begin if place + 1 < len(ordered) else day.seconds
        needed = _seconds_wide(day, LABEL_GAP + len(span.name) * LETTER)
        until = "" if span.end == span.begin else f" to {_clock(day, end)}"
        text = f"{span.name}: {_clock(day, span.begin)}{until}"
        yield Block(span.begin, end, 1.0, text, span.name if ends + needed < following else "")


def _mark_blocks(day: Day, counts: Sequence[int]) -> Iterator[Block]:
    begin = 0.0
    for moment, count in zip(day.moments, counts, strict=True):
        if count:
            strength = 0.35 + 0.65 * math.sqrt(count / max(counts))
            text = f"{_clock(day, moment.at_seconds)}: {count}"
            yield Block(begin, moment.at_seconds, strength, text)
        begin = moment.at_seconds


def _draw_lane(day: Day, lane: Lane, y: int, axes: Axes) -> None:
    axes.axhline(y + 16, color=COLOURS["grid"], lw=0.8)
    left = -_seconds_wide(day, 8)
    axes.text(left, y + 13, f"{lane.title}: {lane.count}", ha="right")
    for block in lane.blocks:
        width = max(_seconds_wide(day, LEAST_SPAN), block.end - block.begin)
        bar: Any = {"facecolor": COLOURS[lane.colour], "alpha": block.strength}
        set_tip(axes.broken_barh([(block.begin, width)], (y + 3, 11), **bar), block.text)
        if block.label:
            x = block.begin + width + _seconds_wide(day, LABEL_GAP)
            axes.text(x, y + 13, block.label, color=COLOURS["soft"])


def _ticks(day: Day) -> Iterable[tuple[float, str]]:
    hours = day.seconds / _HOUR
    step = _HOUR * next((each for each in _TICK_HOURS if hours / each <= 12.0), 24.0)
    for place in range(int(day.seconds / step + 1e-9) + 1):
        yield place * step, _clock(day, place * step)


def _clock(day: Day, seconds: float) -> str:
    return clock(day.start_time + seconds)[:MINUTES]


def _seconds_wide(day: Day, pixels: float) -> float:
    return pixels * day.seconds / (RIGHT - LEFT)
