"""Where everything goes in the picture of a day: panels below each other on one axis of time. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from foresail.day.day import FAULTS, LEVELS, MARKS, Day, Moment, Period
from projections.figures import number
from projections.times import clock

WIDTH, LEFT, RIGHT = 1180, 168, 1156
TOP, GAP, LANE = 34, 46, 22
TALL, FLAT = 170, 92
MOST_TYPES = 6
MINUTES = 5  # characters of a time of day without its seconds
LEAST_SPAN = 3.0
HEADING = 22
LABEL_GAP, LETTER = 5.0, 6.2
"""Between a block and its label, and the width of a letter of it."""
LATENCY = "Latency"
Corners = list[tuple[float, float]]
_COLOURS = ("scheduler", "kubelet", "autoscaler", "demand", "prediction", "node")
_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
_DAMAGE = ("evicted", "oom", "failed", "restart")
_HOUR = 3_600.0
_TICK_HOURS = (1 / 60, 1 / 12, 0.25, 0.5, 1.0, 2.0, 3.0, 6.0, 12.0, 24.0)


@dataclass(frozen=True, slots=True)
class Line:
    """One series: an SVG path, and its name in the legend."""

    name: str
    colour: str
    path: str
    area: str = ""
    """What is below it, closed; empty for a line alone."""
    text: str = ""
    """What is read when it is pointed at."""


@dataclass(slots=True)
class Panel:
    """One diagram: y grows down, ticks are (y, text)."""

    title: str
    unit: str
    top: float
    bottom: float
    ticks: list[tuple[float, str]] = field(default_factory=list)
    lines: list[Line] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Block:
    """A mark or a span in a lane."""

    x: float
    width: float
    strength: float
    text: str
    label: str = ""
    """What stands behind it; empty where there is no room."""
    label_x: float = 0.0


@dataclass(frozen=True, slots=True)
class Lane:
    """Things that happened, in a row of their own."""

    title: str
    colour: str
    y: float
    count: str
    blocks: tuple[Block, ...]
    heading: str = ""
    """What stands above it: it begins a group."""


@dataclass(frozen=True, slots=True)
class Picture:
    """Everything that the template draws."""

    width: int
    height: float
    left: int
    right: int
    top: float
    bottom: float
    """Of the lines of time, which go through all panels."""
    hours: tuple[tuple[float, str], ...]
    panels: tuple[Panel, ...]
    lanes: tuple[Lane, ...]


@dataclass(frozen=True, slots=True)
class _Series:
    name: str
    colour: str
    values: Sequence[float]
    filled: bool = False
    base: Sequence[float] = ()
    """Where a stacked one begins."""


@dataclass(frozen=True, slots=True)
class _Axis:
    """From values to places; linear from 0, or logarithmic over whole decades."""

    low: float
    high: float
    top: float
    bottom: float
    ticks: tuple[float, ...]
    logarithmic: bool = False

    def at(self, value: float) -> float:
        """Return the place of a value; what is below the axis stands at its foot."""
        if self.logarithmic:
            span = math.log10(self.high / self.low)
            share = math.log10(max(value, self.low) / self.low) / span
        else:
            share = value / self.high
        return round(self.bottom - (self.bottom - self.top) * share, 1)


def draw_day(day: Day) -> Picture:
    """Return the picture."""
    top = float(TOP)
    panels: list[Panel] = []
    for title, unit, height, lines in _contents(day):
        panels.append(_panel(day, (title, unit), (top, top + height), lines))
        top += height + GAP
    lanes = tuple(_lanes(day, top - LANE))
    bottom = lanes[-1].y + LANE if lanes else top - GAP
    hours = tuple(_hours(day))
    return Picture(WIDTH, bottom + 34.0, LEFT, RIGHT, TOP, bottom, hours, tuple(panels), lanes)


def _contents(day: Day) -> Iterable[tuple[str, str, int, list[_Series]]]:
    """Yield title, unit, height and series of each panel."""
    moments = day.moments
    capacity = [moment.capacity_cores for moment in moments]
    requested = [moment.requested_cores for moment in moments]
    used = [moment.used_cores for moment in moments]
    yield (
        "CPU",
        "cores",
        TALL,
        [
            _Series("allocatable on ready nodes", "node", capacity, filled=True),
            _Series("requested", "scheduler", requested),
            _Series("used", "foresail", used, filled=True),
        ],
    )
    if day.serves:
        rates = [moment.requests_per_second for moment in moments]
        latencies = [1_000.0 * moment.latency_p95_seconds for moment in moments]
        failed = [100.0 * moment.failed_ratio for moment in moments]
        yield (
            "Requests",
            "per second",
            FLAT,
            [_Series("all Services", "demand", rates, filled=True)],
        )
        yield LATENCY, "ms", FLAT, [_Series("95 of 100 are faster", "prediction", latencies)]
        if any(failed):
            line = _Series("of all requests", "damage", failed, filled=True)
            yield "Failed or lost", "%", FLAT // 2, [line]
    pending = [float(moment.pending) for moment in moments]
    line = _Series("the most of each sample", "damage", pending, filled=True)
    yield "Pods without a node", "pods", FLAT, [line]
    yield "Ready machines", "nodes", FLAT, list(_machine_series(moments))
    if day.rents:
        dollars = [moment.dollars_per_hour for moment in moments]
        line = _Series("rented machines", "autoscaler", dollars, filled=True)
        yield "Price", "dollars per hour", FLAT // 2, [line]


def _machine_series(moments: Sequence[Moment]) -> Iterable[_Series]:
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
        yield _Series(title, _COLOURS[place % len(_COLOURS)], values, filled=True, base=base)
        base = values


def _panel(
    day: Day, heading: tuple[str, str], place: tuple[float, float], lines: Sequence[_Series]
) -> Panel:
    known = [value for line in lines for value in line.values if not math.isnan(value)]
    axis = _latency_axis(known, *place) if heading[0] == LATENCY else _axis(known, *place)
    panel = Panel(*heading, *place)
    panel.ticks = [(axis.at(value), number(value)) for value in axis.ticks]
    for line in lines:
        values = [value for value in line.values if not math.isnan(value)]
        text = f"{line.name}: {_range(values)} {heading[1]}" if values else line.name
        path = "".join(map(_open_path, _stretches(day, line.values, axis)))
        area = _area(day, line, axis) if line.filled else ""
        panel.lines.append(Line(line.name, line.colour, path, area, text))
    return panel


def _axis(known: Sequence[float], top: float, bottom: float) -> _Axis:
    most = max(known, default=0.0)
    whole = all(value == int(value) for value in known)
    step = _tick_step(most, 2.0 if bottom - top < FLAT else 4.0, least=1.0 if whole else 0.0)
    count = max(1, math.ceil(most / step - 1e-9))
    ticks = tuple(step * place for place in range(count + 1))
    return _Axis(0.0, ticks[-1], top, bottom, ticks)


def _latency_axis(known: Sequence[float], top: float, bottom: float) -> _Axis:
    """Return whole decades: what a healthy and an overloaded Service show lies far apart."""
    low = 10.0 ** math.floor(math.log10(max(min(known, default=1.0), 1e-3)))
    high = 10.0 ** math.ceil(math.log10(max(max(known, default=1.0), 10.0 * low)))
    decades = round(math.log10(high / low))
    ticks = tuple(low * 10.0**place for place in range(decades + 1))
    return _Axis(low, high, top, bottom, ticks, logarithmic=True)


def _range(values: Sequence[float]) -> str:
    mean = math.fsum(values) / len(values)
    return f"{number(min(values))} to {number(max(values))}, mean {number(mean)}"


def _stretches(day: Day, values: Sequence[float], axis: _Axis) -> Iterable[Corners]:
    """Yield the corners of steps from moment to moment; a stretch ends where there is no value."""
    corners: Corners = []
    begin = 0.0
    for moment, value in zip(day.moments, values, strict=True):
        left, right = _x(day, begin), _x(day, moment.at_seconds)
        begin = moment.at_seconds
        if not math.isnan(value):
            corners += [(left, axis.at(value)), (right, axis.at(value))]
        elif corners:
            yield _without_repeats(corners)
            corners = []
    if corners:
        yield _without_repeats(corners)


def _open_path(corners: Corners) -> str:
    return "M" + "L".join(f"{x},{y}" for x, y in corners)


def _area(day: Day, line: _Series, axis: _Axis) -> str:
    """Return what lies between a series without gaps and its base."""
    floor = line.base or [0.0] * len(line.values)
    upper = [corner for part in _stretches(day, line.values, axis) for corner in part]
    lower = [corner for part in _stretches(day, floor, axis) for corner in part]
    return _open_path([*upper, *reversed(lower)]) + "Z" if upper else ""


def _without_repeats(corners: Corners) -> Corners:
    """Leave out corners in the middle of a level stretch."""
    kept = corners[:1]
    for place in range(1, len(corners)):
        last = place == len(corners) - 1
        level = kept[-1][1] == corners[place][1]
        if last or not level or corners[place + 1][1] != corners[place][1]:
            kept.append(corners[place])
    return kept


def _lanes(day: Day, top: float) -> Iterable[Lane]:
    y = top - 14.0
    for heading, rows in day.groups():
        y += HEADING
        title_of = heading
        for lane, spans in rows:
            blocks = tuple(_span_blocks(day, spans))
            colour = "controller" if lane in (FAULTS, LEVELS) else "damage"
            yield Lane(lane, colour, y, str(len(spans)), blocks, title_of)
            title_of, y = "", y + LANE
    for mark, title in MARKS.items():
        counts = [moment.marks.get(mark, 0) for moment in day.moments]
        if any(counts):
            colour = "damage" if mark in _DAMAGE else "controller"
            blocks = tuple(_mark_blocks(day, counts))
            yield Lane(title, colour, y, str(sum(counts)), blocks, title_of)
            title_of, y = "", y + LANE


def _span_blocks(day: Day, spans: Sequence[Period]) -> Iterable[Block]:
    """Yield the blocks of a lane; those that have room behind them are named there."""
    ordered = sorted(spans, key=lambda span: span.begin)
    for place, span in enumerate(ordered):
        left, right = _x(day, span.begin), _x(day, min(span.end, day.seconds))
        width = round(max(LEAST_SPAN, right - left), 1)
        ends = max(_x(day, min(one.end, day.seconds)) for one in ordered[: place + 1])
        next_left = _x(day, ordered[place + 1].begin) if place + 1 < len(ordered) else RIGHT
        begin = max(ends, left + width) + LABEL_GAP
        label = span.name if begin + len(span.name) * LETTER < next_left else ""
        until = "" if span.end == span.begin else f" to {_clock(day, min(span.end, day.seconds))}"
        text = f"{span.name}: {_clock(day, span.begin)}{until}"
        yield Block(left, width, 1.0, text, label, round(begin, 1))


def _mark_blocks(day: Day, counts: Sequence[int]) -> Iterable[Block]:
    begin = 0.0
    for moment, count in zip(day.moments, counts, strict=True):
        left, right = _x(day, begin), _x(day, moment.at_seconds)
        begin = moment.at_seconds
        if count:
            strength = round(0.35 + 0.65 * math.sqrt(count / max(counts)), 2)
            width = round(max(LEAST_SPAN, right - left), 1)
            yield Block(left, width, strength, f"{_clock(day, moment.at_seconds)}: {count}")


def _hours(day: Day) -> Iterable[tuple[float, str]]:
    hours = day.seconds / _HOUR
    step = _HOUR * next((each for each in _TICK_HOURS if hours / each <= 12.0), 24.0)
    for place in range(int(day.seconds / step + 1e-9) + 1):
        yield _x(day, place * step), _clock(day, place * step)


def _clock(day: Day, seconds: float) -> str:
    return clock(day.start_time + seconds)[:MINUTES]


def _x(day: Day, seconds: float) -> float:
    return round(LEFT + (RIGHT - LEFT) * seconds / day.seconds, 1)


def _tick_step(most: float, count: float, *, least: float) -> float:
    """Return a round step of which at most `count` make the largest value."""
    if most <= 0.0:
        return 1.0
    size = 10.0 ** math.floor(math.log10(most / count))
    steps = [size * each for each in _STEPS if size * each >= least]
    return next((step for step in steps if most / step <= count + 1e-9), max(least, size * 10.0))
