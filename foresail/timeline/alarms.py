"""What our predictions said before, or after, the first visible damage."""

from __future__ import annotations

from dataclasses import dataclass

from foresail.timeline.gathered import Crossing, Gathered
from foresail.timeline.incident import Alarm, Happening, Lane


@dataclass(frozen=True, slots=True)
class Announced:
    """A model's first word on an incident, as a warning and as a happening."""

    alarm: Alarm
    happening: Happening


def alarms_of(
    gathered: Gathered, nodes: frozenset[str], damage: float, since: float, until: float
) -> list[Announced]:
    """Return for each model how a node of the incident came to its action threshold.

    What counts is a risk that stood at or above the threshold when the damage came, else the first
    that came there afterwards. One that had stood there for longer than the look-back announced
    nothing and has no lead.
    """
    by_model: dict[str, list[Crossing]] = {}
    for one in gathered.crossings:
        if one.node in nodes and one.time_seconds <= until:
            by_model.setdefault(one.model_id, []).append(one)
    found = [_first(crossings, damage, since) for crossings in by_model.values()]
    return sorted(
        (one for one in found if one is not None),
        key=lambda one: (one.alarm.shadow, one.alarm.model_id),
    )


def _first(crossings: list[Crossing], damage: float, since: float) -> Announced | None:
    held = _held(crossings, damage)
    later = [one for one in crossings if one.above and one.time_seconds > damage]
    first = min(held, key=lambda one: (one.time_seconds, one.node), default=None)
    first = first or (later[0] if later else None)
    if first is None:
        return None
    standing = first if first.time_seconds < since else None
    lead = None if standing is not None else damage - first.time_seconds
    if standing is not None:
        said = f"had stood there for more than {damage - since:g} s: it announced nothing"
    elif lead is not None and lead > 0:
        said = f"{lead:g} s before the first visible damage"
    elif lead == 0:
        said = "with the first visible damage"
    else:
        said = f"{-(lead or 0.0):g} s after the first visible damage"
    shadow = " (shadow)" if first.shadow else ""
    alarm = Alarm(
        model_id=first.model_id,
        shadow=first.shadow,
        node=first.node,
        value=first.value,
        threshold=first.threshold,
        time_seconds=first.time_seconds,
        lead_seconds=lead,
        seq=first.seq,
    )
    text = (
        f"{first.model_id}{shadow}: risk of {first.node} {first.value:.3g} >= "
        f"{first.threshold:.3g}, {said}"
    )
    return Announced(
        alarm,
        Happening(
            time_seconds=max(first.time_seconds, since),
            lane=Lane.PREDICTION,
            kind="risk_crossing",
            text=text,
            seq=first.seq,
            cycle=first.cycle,
            group=first.model_id,
        ),
    )


def _held(crossings: list[Crossing], damage: float) -> list[Crossing]:
    """Return, of the nodes above their threshold when the damage came, how each had come there.

    A node that had crossed and fallen back before was a false alarm.
    """
    newest: dict[str, Crossing] = {}
    for one in crossings:
        if one.time_seconds <= damage:
            newest[one.node] = one
    return [one for one in newest.values() if one.above]
