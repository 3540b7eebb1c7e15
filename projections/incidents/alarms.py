"""What our predictions timing before, or after, the first visible damage."""

from __future__ import annotations

from dataclasses import dataclass

from projections.figures import duration, number
from projections.incidents.history import ClusterHistory, Crossing
from projections.incidents.incident import Alarm, Lane, Occurrence


@dataclass(frozen=True, slots=True)
class Announcement:
    """A model's first word on an incident, as a warning and as an occurrence."""

    alarm: Alarm
    occurrence: Occurrence


def alarms_of(
    history: ClusterHistory, nodes: frozenset[str], damage: float, since: float, until: float
) -> list[Announcement]:
    """Return for each model how a node of the incident came to its action threshold.

    What counts is a risk that stood at or above the threshold when the damage came, else the first
    that came there afterwards. One that had stood there for longer than the look-back announced
    nothing and has no lead.
    """
    by_model: dict[str, list[Crossing]] = {}
    for crossing in history.crossings:
        if crossing.node in nodes and crossing.time_seconds <= until:
            by_model.setdefault(crossing.model_id, []).append(crossing)
    announcements = [_first(crossings, damage, since) for crossings in by_model.values()]
    return sorted(
        (announcement for announcement in announcements if announcement is not None),
        key=lambda announcement: (announcement.alarm.shadow, announcement.alarm.model_id),
    )


def _first(crossings: list[Crossing], damage: float, since: float) -> Announcement | None:
    standing_crossings = _standing_crossings(crossings, damage)
    later = [
        crossing for crossing in crossings if crossing.above and crossing.time_seconds > damage
    ]
    first = min(
        standing_crossings,
        key=lambda crossing: (crossing.time_seconds, crossing.node),
        default=None,
    )
    first = first or (later[0] if later else None)
    if first is None:
        return None
    standing = first if first.time_seconds < since else None
    lead = None if standing is not None else damage - first.time_seconds
    if standing is not None:
        timing = f"had stood there for more than {duration(damage - since)}: it announced nothing"
    elif lead is not None and lead > 0:
        timing = f"{duration(lead)} before the first visible damage"
    elif lead == 0:
        timing = "with the first visible damage"
    else:
        timing = f"{duration(-(lead or 0.0))} after the first visible damage"
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
        f"{first.model_id}{shadow}: risk of {first.node} {number(first.value)} >= "
        f"{number(first.threshold)}, {timing}"
    )
    return Announcement(
        alarm,
        Occurrence(
            time_seconds=max(first.time_seconds, since),
            lane=Lane.PREDICTION,
            kind="risk_crossing",
            text=text,
            seq=first.seq,
            cycle=first.cycle,
            group=first.model_id,
        ),
    )


def _standing_crossings(crossings: list[Crossing], damage: float) -> list[Crossing]:
    """Return, of the nodes above their threshold when the damage came, how each had come there.

    A node that had crossed and fallen back before was a false alarm.
    """
    newest: dict[str, Crossing] = {}
    for crossing in crossings:
        if crossing.time_seconds <= damage:
            newest[crossing.node] = crossing
    return [crossing for crossing in newest.values() if crossing.above]
