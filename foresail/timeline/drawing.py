"""The picture of an incident: curves above lanes, waits as bars, marks that can be asked."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from foresail.timeline.terminal import duration_text, lag, window_of
from projections import figures
from projections.incidents.executions import REFUSED
from projections.incidents.incident import Curve, DamageKind, Incident, Lane, Step
from projections.times import clock

WIDTH, LEFT, RIGHT = 1160, 120, 1140
CURVE_HEIGHT, LANE_HEIGHT, TOP = 64, 30, 34
COLOURS = ("autoscaler", "prediction", "damage")
"""Of the curves, in turn; names of the layout's colours."""
TICKS = (5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400)
MOST_TICKS = 9


@dataclass(frozen=True, slots=True)
class Frame:
    """Where things go: from cluster time to x."""

    begin_seconds: float
    end_seconds: float

    def x(self, at_seconds: float) -> float:
        """Return the place of a time, in pixels."""
        span = max(1.0, self.end_seconds - self.begin_seconds)
        share = min(1.0, max(0.0, (at_seconds - self.begin_seconds) / span))
        return round(LEFT + share * (RIGHT - LEFT), 1)


@dataclass(frozen=True, slots=True)
class Tick:
    """A time below the lanes."""

    x: float
    text: str


@dataclass(frozen=True, slots=True)
class CurveShape:
    """One signal over time."""

    name: str
    peak: str
    """Its highest value, with its unit."""
    colour: str
    line: str
    """Its points, as SVG has them."""
    first_x: float
    last_x: float
    base: int
    name_y: int


@dataclass(frozen=True, slots=True)
class Bar:
    """How long something was damaged or waited."""

    x: float
    y: float
    width: float
    height: float
    strong: bool
    text: str


@dataclass(frozen=True, slots=True)
class LaneLine:
    """Where a lane's marks stand."""

    name: str
    middle: int


@dataclass(frozen=True, slots=True)
class Mark:
    """A step of the chain, in its lane."""

    x: float
    last_x: float
    y: int
    colour: str
    hollow: bool
    text: str
    seq: int


@dataclass(frozen=True, slots=True)
class Lead:
    """How far ahead of the damage the prediction was."""

    alarm_x: float
    middle_x: float
    text: str


@dataclass(frozen=True, slots=True)
class Drawing:
    """Model of `templates/timeline.html`, in pixels of its own."""

    bottom: int
    begin_seconds: float
    end_seconds: float
    curves_json: str
    """The curves' values, for the page's script."""
    ticks: Sequence[Tick]
    curves: Sequence[CurveShape]
    damage_y: int
    bars: Sequence[Bar]
    lanes: Sequence[LaneLine]
    marks: Sequence[Mark]
    begin_x: float | None
    """Where it began; `None` if that is where the damage began."""
    damage_x: float
    lead: Lead | None
    width: int = WIDTH
    left: int = LEFT
    right: int = RIGHT
    top: int = TOP


def drawing(incident: Incident) -> Drawing:
    """Return the picture."""
    begin, end = window_of(incident)
    margin = 0.03 * max(30.0, end - begin)
    frame = Frame(begin - margin, end + margin)
    lanes = [lane for lane in Lane if any(step.lane is lane for step in incident.steps)]
    lanes_top = TOP + CURVE_HEIGHT * len(incident.curves)
    middles = {
        lane: lanes_top + LANE_HEIGHT * (row + 1) + LANE_HEIGHT // 2
        for row, lane in enumerate(lanes)
    }
    curves = [
        {"name": curve.name, "times": curve.times_seconds, "values": curve.values}
        for curve in incident.curves
    ]
    early = incident.begin_seconds < incident.damage_seconds
    return Drawing(
        bottom=lanes_top + LANE_HEIGHT * (len(lanes) + 1),
        begin_seconds=frame.begin_seconds,
        end_seconds=frame.end_seconds,
        curves_json=json.dumps(curves, separators=(",", ":")),
        ticks=list(_ticks(frame)),
        curves=list(_curves(incident, frame)),
        damage_y=lanes_top + 20,
        bars=list(_bars(incident, frame, lanes_top)),
        lanes=[LaneLine(str(lane), middle) for lane, middle in middles.items()],
        marks=[_mark(step, frame, middles[step.lane]) for step in incident.steps],
        begin_x=frame.x(incident.begin_seconds) if early else None,
        damage_x=frame.x(incident.damage_seconds),
        lead=_lead(incident, frame),
    )


def _ticks(frame: Frame) -> Iterator[Tick]:
    span = frame.end_seconds - frame.begin_seconds
    step = next((tick for tick in TICKS if span / tick <= MOST_TICKS), TICKS[-1])
    at = -(-frame.begin_seconds // step) * step
    while at <= frame.end_seconds:
        yield Tick(frame.x(at), clock(at))
        at += step


def _curves(incident: Incident, frame: Frame) -> Iterator[CurveShape]:
    for number, curve in enumerate(incident.curves):
        top = TOP + CURVE_HEIGHT * number
        base = top + CURVE_HEIGHT - 8
        peak = max(*curve.values, 1e-9)
        points = _curve_points(curve, frame, base, peak)
        if len(points) < 2:
            continue
        yield CurveShape(
            name=curve.name,
            peak=f"{figures.number(peak)} {curve.unit}",
            colour=COLOURS[number % len(COLOURS)],
            line=" ".join(f"{x},{y}" for x, y in points),
            first_x=points[0][0],
            last_x=points[-1][0],
            base=base,
            name_y=top + 12,
        )


def _curve_points(curve: Curve, frame: Frame, base: int, peak: float) -> list[tuple[float, float]]:
    height = CURVE_HEIGHT - 18
    return [
        (frame.x(at), round(base - value / peak * height, 1))
        for at, value in zip(curve.times_seconds, curve.values, strict=True)
        if frame.begin_seconds <= at <= frame.end_seconds
    ]


def _bars(incident: Incident, frame: Frame, top: int) -> Iterator[Bar]:
    height = max(1.5, min(8.0, (LANE_HEIGHT - 6) / max(1, len(incident.spans))))
    for number, span in enumerate(incident.spans):
        x = frame.x(span.begin_seconds)
        until = frame.end_seconds if span.end_seconds is None else span.end_seconds
        how_long = duration_text(until - span.begin_seconds)
        yield Bar(
            x=x,
            y=round(top + 3 + (number * height) % (LANE_HEIGHT - 6), 1),
            width=max(2.0, round(frame.x(until) - x, 1)),
            height=round(height - 0.4, 1),
            strong=span.kind is not DamageKind.WAITING,
            text=f"{span.kind} {span.subject} {span.pending_class} {how_long}",
        )


def _mark(step: Step, frame: Frame, middle: int) -> Mark:
    when = f"{clock(step.time_seconds)} {lag(step.since_begin_seconds)}"
    return Mark(
        x=frame.x(step.time_seconds),
        last_x=frame.x(step.until_seconds),
        y=middle,
        colour="damage" if step.damage else str(step.lane),
        hollow=step.kind == REFUSED,
        text=f"{when} {step.lane}: {step.text}",
        seq=step.seq,
    )


def _lead(incident: Incident, frame: Frame) -> Lead | None:
    ahead = incident.lead_seconds
    active = next((alarm for alarm in incident.alarms if not alarm.shadow), None)
    if active is None or not ahead:
        return None
    alarm, damage = frame.x(active.time_seconds), frame.x(incident.damage_seconds)
    word = "ahead" if ahead > 0 else "late"
    return Lead(alarm, round((alarm + damage) / 2, 1), f"{duration_text(ahead)} {word}")
