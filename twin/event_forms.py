"""Events of events.k8s.io/v1 to and from core/v1, the form in which they are kept.

Newer recorders post and read the one, older ones the other; both are the same objects (upstream's
pkg/apis/events/v1/conversion.go). Guarantee: what has a name in both forms keeps its value.
"""

from __future__ import annotations

from twin.records import Object

GROUP, VERSION = "events.k8s.io", "v1"
_RENAMED = {
    "involvedObject": "regarding",
    "message": "note",
    "source": "deprecatedSource",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "lastTimestamp": "deprecatedLastTimestamp",
    "count": "deprecatedCount",
    "reportingComponent": "reportingController",
}
_BACK = {name: kept_name for kept_name, name in _RENAMED.items()}


def kept_field(name: str) -> str | None:
    """Return what a field of selectors is called in the kept form; None for one that is no such field."""
    head, dot, rest = name.partition(".")
    if head in _RENAMED:
        return None
    return f"{_BACK.get(head, head)}{dot}{rest}"


def to_events(obj: Object) -> Object:
    """Return a core/v1 Event as events.k8s.io/v1.

    An old event has no eventTime, which clients' models require: it is then its first time stamp.
    """
    shown = {_RENAMED.get(name, name): value for name, value in obj.items()}
    first = obj.get("firstTimestamp")
    if not shown.get("eventTime") and first:
        shown["eventTime"] = f"{first[:-1]}.000000Z"
    for name in (
        "reportingController",
        "reportingInstance",
    ):  # core/v1 writes them empty, this form does not
        if not shown.get(name):
            shown.pop(name, None)
    return {**shown, "apiVersion": f"{GROUP}/{VERSION}"}


def to_core(obj: Object) -> Object:
    """Return an events.k8s.io/v1 Event as core/v1."""
    core = {_BACK.get(name, name): value for name, value in obj.items()}
    return {**core, "apiVersion": "v1"}
