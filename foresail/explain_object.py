"""`foresail explain pod|workload|hpa|node NAME`: what a log says about one object of the cluster."""

from __future__ import annotations

from bus.errors import InputError
from bus.events import read_events
from foresail.log_source import Source
from inputs.close_matches import remedy_for
from projections.objects.answer import ObjectAnswer
from projections.objects.answers import answer_of
from projections.objects.history import OBJECT_SUBJECTS, ObjectHistory
from projections.objects.names import NAME_SUBJECTS, ObjectKind, ObjectNames


async def explain_object(source: Source, kind: ObjectKind, name: str) -> ObjectAnswer:
    """Read a log and answer for one object.

    Raises:
        InputError: the log does not know it, or knows several of that name.
    """
    names = ObjectNames()
    async for entry in read_events(source.messages(NAME_SUBJECTS)):
        if entry.event is not None:
            names.add(entry.event)
    history = ObjectHistory(kind, full_name(names, kind, name, source.damage))
    if kind is ObjectKind.HPA:
        history.workload = names.scale_targets[history.name]
    async for entry in read_events(source.messages(OBJECT_SUBJECTS)):
        if entry.event is None:
            history.unreadable += 1
        else:
            history.add(entry.event)
    return answer_of(history)


def full_name(names: ObjectNames, kind: ObjectKind, name: str, damage: str) -> str:
    """Return the one full name that a name means; `damage` says why the log ends early.

    Raises:
        InputError: the log knows none, or several.
    """
    matches = names.matching(kind, name)
    if len(matches) == 1:
        return matches[0]
    if matches:
        raise InputError("NAME", name, f"say which {kind}: {', '.join(matches)}")
    known = names.names[kind]
    short = {name.rpartition("/")[2] for name in known}
    remedy = remedy_for(name, known if "/" in name else short)
    if kind is ObjectKind.HPA:
        remedy += (
            "; logs from before snapshots held autoscalers show one once it has changed something"
        )
    end = f"; read up to the damage: {damage}" if damage else ""
    raise InputError("NAME", name, f"this log knows no such {kind}; {remedy}{end}")
