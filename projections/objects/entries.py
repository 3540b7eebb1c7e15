"""History of an object, in order of time: changes, reactions of Kubernetes, and our acts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from projections.figures import duration, number
from projections.incidents.history import LoggedReaction
from projections.objects.answer import Entry
from projections.objects.history import ObjectChange, ObjectHistory
from projections.objects.names import ObjectKind
from projections.times import clock
from schemas.agents import action_label
from schemas.envelope import Event
from schemas.outcome import ExecutionPhase, OutcomeExecution, OutcomeVerification
from schemas.reasons import Reason
from schemas.wording import count_text

ENDED = ("Succeeded", "Failed", "Unknown")
_NUMBER = re.compile(r"[0-9]+(\.[0-9]+)?")
TEXTS = {
    ("ready", True): "ready",
    ("ready", False): "not ready",
    ("schedulable", True): "schedulable",
    ("schedulable", False): "cordoned: the scheduler places nothing on it",
    ("suspended", True): "suspended",
    ("suspended", False): "not suspended",
}


def object_entries(history: ObjectHistory) -> tuple[Entry, ...]:
    """Return everything that happened to an object, oldest first; what repeats itself, once."""
    entries = [
        *_changes(history),
        *(_reaction(reaction) for reaction in history.reactions),
        *_without_repeats([_execution(event, history) for event in acts(history)]),
        *_without_repeats(
            [
                Entry(time_seconds=at, who="foresail", text=f"{text}, and lost", seq=0, cycle=cycle)
                for cycle, at, text in history.losers
            ]
        ),
    ]
    return tuple(sorted(entries, key=lambda entry: (entry.time_seconds, entry.seq, entry.text)))


def _without_repeats(entries: Sequence[Entry]) -> Iterator[Entry]:
    """Yield the first of entries that say the same but for its numbers, with how often it was said."""
    for _, group in groupby(entries, key=lambda entry: _NUMBER.sub("", entry.text)):
        first, *more = group
        if more:
            text = f"{first.text}; {count_text(len(more), 'more time')} until {clock(more[-1].time_seconds)}"
            first = first.model_copy(update={"text": text})
        yield first


def acts(history: ObjectHistory) -> list[Event[OutcomeExecution]]:
    """Return the executions that were done or refused; refusals because nothing was wanted are none."""
    return [
        event
        for event in history.executions
        if event.data.phase is not ExecutionPhase.STARTED and event.data.reason is not Reason.NOOP
    ]


def cause_of(history: ObjectHistory, change: ObjectChange) -> Event[OutcomeExecution] | None:
    """Return the newest execution that wrote the object before a change was first seen."""
    before = [
        event
        for event in acts(history)
        if event.data.succeeded and event.seq < change.seq and event.data.mode == "active"
    ]
    earlier = [
        earlier_change.time_seconds
        for earlier_change in history.changes
        if earlier_change.seq < change.seq
    ]
    since = max(earlier, default=0.0)
    recent = [event for event in before if event.data.cluster_time_seconds >= since]
    return recent[-1] if recent else None


def _changes(history: ObjectHistory) -> Iterator[Entry]:
    for change in history.changes:
        if not _is_news(history, change):
            continue
        yield Entry(
            time_seconds=change.time_seconds,
            who="snapshot",
            text=change_text(history.kind, change.field, change.before, change.after),
            seq=change.seq,
            cycle=change.cycle,
        )


def _is_news(history: ObjectHistory, change: ObjectChange) -> bool:
    """Say whether a change tells something that neither the first look nor a reaction tells."""
    kind = history.kind
    if kind is ObjectKind.POD:
        known = any(str(change.after) in reaction.item.text for reaction in history.reactions)
        return change.after in ENDED or (change.field == "status_message" and not known)
    if change.before is not None:
        return True
    usual = {"ready": True, "schedulable": True, "power_state": "on", "suspended": False}
    return change.field in usual and kind is ObjectKind.NODE and change.after != usual[change.field]


def change_text(kind: ObjectKind, name: str, before: Any, after: Any) -> str:
    """Return a change in words."""
    if isinstance(after, bool) and (name, after) in TEXTS:
        return TEXTS[name, after]
    words = name.removesuffix("_ratio").replace("_", " ")
    if kind in (ObjectKind.WORKLOAD, ObjectKind.HPA):
        pods = count_text(after, "pod") if isinstance(after, int) else f"{after} pods"
        return f"{pods} {words} instead of {before}"
    if before in (None, ""):
        return f"{words} {_value(after)}"
    return f"{words} {_value(after)} instead of {_value(before)}"


def _value(value: Any) -> str:
    if isinstance(value, float):
        return number(value)
    return "nothing" if value in (None, "") else str(value)


def _reaction(reaction: LoggedReaction) -> Entry:
    item = reaction.item
    lag = ""
    if item.lag_seconds is not None and item.since:
        lag = f" ({duration(item.lag_seconds)} after {item.since.replace('_', ' ')})"
    return Entry(
        time_seconds=item.time_seconds,
        who="kubernetes",
        text=f"{item.text}{lag}",
        seq=reaction.seq,
        cycle=reaction.cycle,
    )


def _execution(event: Event[OutcomeExecution], history: ObjectHistory) -> Entry:
    data = event.data
    back = "took back " if data.rollback_of else ""
    text = f"{back}{action_label(data.action)}: {data.text}; {data.result}"
    verified = history.verifications.get(event.id)
    return Entry(
        time_seconds=data.cluster_time_seconds,
        who="foresail",
        text=text + _verification_text(verified),
        seq=event.seq,
        cycle=data.cycle,
    )


def _verification_text(verification: OutcomeVerification | None) -> str:
    if verification is None:
        return ""
    return f"; {verification.status} {duration(verification.lag_seconds)} later"
