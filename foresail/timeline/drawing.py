"""The picture of an incident: curves above lanes, waits as bars, marks that can be asked."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape

from foresail.timeline.terminal import duration_text, lag, window_of
from projections import figures
from projections.incidents.executions import REFUSED
from projections.incidents.incident import Curve, DamageKind, Incident, Lane, Step
from projections.times import clock

WIDTH, LEFT, RIGHT = 1160, 120, 1140
CURVE_HEIGHT, LANE_HEIGHT, TOP = 64, 30, 34
COLOURS = ("var(--autoscaler)", "var(--prediction)", "var(--damage)")
TICKS = (5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400)
MOST_TICKS = 9
DAMAGE = "damage"


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


def drawing(incident: Incident) -> str:
    """Return the picture as SVG."""
    begin, end = window_of(incident)
    margin = 0.03 * max(30.0, end - begin)
    frame = Frame(begin - margin, end + margin)
    lanes = [lane for lane in Lane if any(step.lane is lane for step in incident.steps)]
    lanes_top = TOP + CURVE_HEIGHT * len(incident.curves)
    bottom = lanes_top + LANE_HEIGHT * (len(lanes) + 1)
    height = bottom + 34
    parts = [
        *_ticks(frame, bottom),
        *_curves(incident, frame),
        *_damage(incident, frame, lanes_top),
        *_lanes(incident, frame, lanes, lanes_top + LANE_HEIGHT),
        *_lines(incident, frame, bottom),
        f'<line id="cross" y1="{TOP - 10}" y2="{bottom}" x1="0" x2="0"/>',
        f'<text id="cross-text" y="{TOP - 14}"></text>',
    ]
    curves = [
        {"name": curve.name, "times": curve.times_seconds, "values": curve.values}
        for curve in incident.curves
    ]
    data = escape(json.dumps(curves, separators=(",", ":")), quote=True)
    return (
        f'<svg viewBox="0 0 {WIDTH} {height}" role="group" aria-label="timeline" data-curves="{data}" '
        f'data-left="{LEFT}" data-right="{RIGHT}" data-from="{frame.begin_seconds}" '
        f'data-until="{frame.end_seconds}">\n' + "\n".join(parts) + "\n</svg>"
    )


def _ticks(frame: Frame, bottom: int) -> Iterator[str]:
    span = frame.end_seconds - frame.begin_seconds
    step = next((tick for tick in TICKS if span / tick <= MOST_TICKS), TICKS[-1])
    at = -(-frame.begin_seconds // step) * step
    while at <= frame.end_seconds:
        x = frame.x(at)
        yield f'<line class="grid" x1="{x}" x2="{x}" y1="{TOP}" y2="{bottom}"/>'
        yield f'<text x="{x}" y="{bottom + 18}" text-anchor="middle">{clock(at)}</text>'
        at += step


def _curves(incident: Incident, frame: Frame) -> Iterator[str]:
    for number, curve in enumerate(incident.curves):
        top = TOP + CURVE_HEIGHT * number
        colour = COLOURS[number % len(COLOURS)]
        yield from _curve(curve, frame, top, colour)


def _curve(curve: Curve, frame: Frame, top: int, colour: str) -> Iterator[str]:
    height, peak = CURVE_HEIGHT - 18, max(*curve.values, 1e-9)
    base = top + CURVE_HEIGHT - 8
    points = [
        (frame.x(at), round(base - value / peak * height, 1))
        for at, value in zip(curve.times_seconds, curve.values, strict=True)
        if frame.begin_seconds <= at <= frame.end_seconds
    ]
    if len(points) < 2:
        return
    line = " ".join(f"{x},{y}" for x, y in points)
    first, last = points[0][0], points[-1][0]
    yield f'<line class="rule" x1="{LEFT}" x2="{RIGHT}" y1="{base}" y2="{base}"/>'
    yield f'<polygon class="area" points="{first},{base} {line} {last},{base}" style="fill:{colour}"/>'
    yield f'<polyline class="curve" points="{line}" style="stroke:{colour}"/>'
    name, what = escape(curve.name), escape(f"{figures.number(peak)} {curve.unit}")
    yield f'<text class="name" x="{LEFT + 4}" y="{top + 12}">{name} <tspan opacity=".7">to {what}</tspan></text>'


def _damage(incident: Incident, frame: Frame, top: int) -> Iterator[str]:
    yield f'<text class="name" x="{LEFT - 10}" y="{top + 20}" text-anchor="end">{DAMAGE}</text>'
    most = len(incident.spans)
    height = max(1.5, min(8.0, (LANE_HEIGHT - 6) / max(1, most)))
    for number, span in enumerate(incident.spans):
        x = frame.x(span.begin_seconds)
        until = frame.end_seconds if span.end_seconds is None else span.end_seconds
        width = max(2.0, round(frame.x(until) - x, 1))
        y = round(top + 3 + (number * height) % (LANE_HEIGHT - 6), 1)
        strong = span.kind is not DamageKind.WAITING
        style = ' style="fill:var(--damage);opacity:.55"' if strong else ""
        label = escape(
            f"{span.kind} {span.subject} {span.pending_class} {duration_text(until - span.begin_seconds)}"
        )
        yield (
            f'<rect class="wait" x="{x}" y="{y}" width="{width}" height="{round(height - 0.4, 1)}"{style}>'
            f"<title>{label}</title></rect>"
        )


def _lanes(incident: Incident, frame: Frame, lanes: list[Lane], top: int) -> Iterator[str]:
    for row, lane in enumerate(lanes):
        middle = top + LANE_HEIGHT * row + LANE_HEIGHT // 2
        yield f'<text class="name" x="{LEFT - 10}" y="{middle + 4}" text-anchor="end">{lane}</text>'
        yield f'<line class="rule" x1="{LEFT}" x2="{RIGHT}" y1="{middle}" y2="{middle}"/>'
    for number, step in enumerate(incident.steps):
        yield _mark(
            number, step, frame, top + LANE_HEIGHT * lanes.index(step.lane) + LANE_HEIGHT // 2
        )


def _mark(number: int, step: Step, frame: Frame, middle: int) -> str:
    colour = "var(--damage)" if step.damage else f"var(--{step.lane})"
    first, last = frame.x(step.time_seconds), frame.x(step.until_seconds)
    label = escape(
        f"{clock(step.time_seconds)} {lag(step.since_begin_seconds)} {step.lane}: {step.text}"
    )
    place = f'y1="{middle}" y2="{middle}" style="stroke:{colour};stroke-width:4;opacity:.45"'
    line = f'<line x1="{first}" x2="{last}" {place}/>' if last > first else ""
    fill = "var(--card)" if step.kind == REFUSED else colour
    width = round(max(18.0, last - first + 18), 1)
    return (
        f'<g class="mark" tabindex="0" role="img" aria-label="{label}" data-step="{number}" '
        f'data-seq="{step.seq}">{line}'
        f'<circle class="dot" cx="{first}" cy="{middle}" r="6" '
        f'style="fill:{fill};stroke:{colour};stroke-width:1.5"/>'
        f'<rect class="hit" x="{first - 9}" y="{middle - 13}" width="{width}" height="26"/></g>'
    )


def _lines(incident: Incident, frame: Frame, bottom: int) -> Iterator[str]:
    begin, damage = frame.x(incident.begin_seconds), frame.x(incident.damage_seconds)
    if incident.begin_seconds < incident.damage_seconds:
        yield f'<line class="begin" x1="{begin}" x2="{begin}" y1="{TOP}" y2="{bottom}"/>'
    yield f'<line class="first" x1="{damage}" x2="{damage}" y1="{TOP}" y2="{bottom}"/>'
    ahead = incident.lead_seconds
    active = next((alarm for alarm in incident.alarms if not alarm.shadow), None)
    if active is not None and ahead:
        alarm = frame.x(active.time_seconds)
        middle = round((alarm + damage) / 2, 1)
        word = "ahead" if ahead > 0 else "late"
        yield f'<line class="lead" x1="{alarm}" x2="{damage}" y1="{TOP - 4}" y2="{TOP - 4}"/>'
        yield (
            f'<text class="lead-text" x="{middle}" y="{TOP - 10}" text-anchor="middle">'
            f"{duration_text(ahead)} {word}</text>"
        )
