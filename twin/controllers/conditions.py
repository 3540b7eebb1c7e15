"""Lists of status conditions: one entry a type, whose transition time moves with its status."""

from __future__ import annotations

from collections.abc import Sequence

from twin.records import Object


def set_condition(
    known: Sequence[Object], kind: str, status: str, reason: str, message: str, now: str
) -> list[Object]:
    """Return the list with one condition set; an equal one keeps its time and its place."""
    fresh: Object = {
        "type": kind,
        "status": status,
        "lastTransitionTime": now,
        "reason": reason,
        "message": message,
    }
    result = list(known)
    for place, entry in enumerate(result):
        if entry["type"] == kind:
            if entry["status"] == status:
                fresh["lastTransitionTime"] = entry["lastTransitionTime"]
            result[place] = fresh
            return result
    return [*result, fresh]


def remove_condition(known: Sequence[Object], kind: str) -> list[Object]:
    """Return the list without one type."""
    return [entry for entry in known if entry["type"] != kind]


def find(known: Sequence[Object], kind: str) -> Object | None:
    """Return the condition of a type."""
    return next((entry for entry in known if entry["type"] == kind), None)
