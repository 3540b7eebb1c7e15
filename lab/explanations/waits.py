"""One thing that a pod or a workload waits for, and what is around it that says so."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lab.explanations.field_owners import owners_of
from lab.explanations.frozen_cluster import Object, unix_seconds


@dataclass(frozen=True, slots=True)
class Words:
    """What a controller or a kubelet itself says of it."""

    text: str
    seconds: float | None = None
    """Unix seconds of when it said so last; None where nothing says when."""


@dataclass(frozen=True, slots=True)
class Said:
    """What a controller itself said, held against what is computed now."""

    text: str
    time_seconds: float | None
    """Unix seconds; None where nothing says when."""
    agrees: bool


@dataclass(frozen=True, slots=True)
class Wait:
    """One thing that is waited for."""

    step: str
    """Where in the life of the object: `node`, `volume`, `image`, `program`, `probe`, `quota` and so on."""
    text: str
    """A sentence without its full stop."""
    since_seconds: float | None = None
    """Unix seconds; None where nothing says since when."""
    until_seconds: float | None = None
    """Unix seconds of when its controller tries again, or gives up; None where that is not known."""
    who: str = ""
    """Who could change it."""
    words: Words | None = None


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a pod's or workload's waiting is judged by, besides the object itself."""

    now_seconds: float
    """The cluster's clock, unix seconds."""
    events: Sequence[Object] = ()
    """Events (core/v1) about any of the objects, in any order."""
    claims: Sequence[Object] = ()
    """The PersistentVolumeClaims of the namespace."""
    nodes: Sequence[Object] = ()
    """Nodes that the pods are on."""
    claims_read: bool = True
    """Whether claims could be read, so that one that is not among them is not there."""
    nodes_read: bool = True
    """The same of nodes."""
    quotas: Sequence[Object] = ()
    """The ResourceQuotas of the namespace."""
    owners: Sequence[Object] = ()
    """The controllers above the pods: ReplicaSets, Deployments and so on."""

    def named(self, objects: Iterable[Object], name: str) -> Object | None:
        """Return the object of a name."""
        return next((one for one in objects if one["metadata"]["name"] == name), None)

    def newest_event(
        self, obj: Object, *reasons: str, containing: str = "", container: str = ""
    ) -> Object | None:
        """Return the newest event about an object with one of these reasons, and this text in its message.

        Given a container, one that names another container does not count.
        """
        uid = obj["metadata"].get("uid")
        found = [
            event
            for event in self.events
            if (event.get("involvedObject") or {}).get("uid") == uid
            and event.get("reason") in reasons
            and containing in str(event.get("message") or "")
            and (not container or _is_of(event, container))
        ]
        return max(found, key=lambda event: event_seconds(event) or 0.0, default=None)

    def is_overcome(self, obj: Object, said: Words, *reasons: str) -> bool:
        """Say whether an event with one of these reasons came later than what was said: it is over then."""
        later = self.newest_event(obj, *reasons)
        seconds = None if later is None else event_seconds(later)
        return seconds is not None and said.seconds is not None and seconds > said.seconds

    def root_of(self, obj: Object) -> Object | None:
        """Return the topmost controller above an object; None where it has none, or it was not read."""
        found = None
        above = self._controller_of(obj)
        while above is not None and above is not found:
            found = above
            above = self._controller_of(found)
        return found

    def _controller_of(self, obj: Object) -> Object | None:
        for reference in obj["metadata"].get("ownerReferences") or ():
            if reference.get("controller"):
                return next(
                    (one for one in self.owners if one["metadata"].get("uid") == reference["uid"]),
                    None,
                )
        return None


def _is_of(event: Object, container: str) -> bool:
    path = str((event.get("involvedObject") or {}).get("fieldPath") or "")
    return not path or path.endswith(f"{{{container}}}")


def event_seconds(event: Object) -> float | None:
    """Return when an event was said last, unix seconds."""
    series = event.get("series") or {}
    for text in (
        series.get("lastObservedTime"),
        event.get("lastTimestamp"),
        event.get("eventTime"),
        event["metadata"].get("creationTimestamp"),
    ):
        if text:
            return unix_seconds(text)
    return None


def words_of(event: Object | None) -> Words | None:
    """Return what an event says, None for none."""
    if event is None or not event.get("message"):
        return None
    return Words(str(event["message"]), event_seconds(event))


def condition(obj: Object, kind: str) -> Object | None:
    """Return one condition of an object's status."""
    found = (obj.get("status") or {}).get("conditions") or ()
    return next((one for one in found if one["type"] == kind), None)


def changed_seconds(found: Object | None) -> float | None:
    """Return when a condition came to be what it is, unix seconds."""
    return None if found is None else unix_seconds(found.get("lastTransitionTime"))


def template_path(obj: Object) -> tuple[str, ...]:
    """Return where an object holds the spec of its pods, as keys of fieldsV1."""
    return ("f:spec",) if obj.get("kind", "Pod") == "Pod" else ("f:spec", "f:template", "f:spec")


def set_by(obj: Object, path: Sequence[str]) -> str:
    """Return an object with who set one of its fields, such as `Deployment web (set by helm)`."""
    kind, name = obj.get("kind", "Pod"), obj["metadata"]["name"]
    owners = [owner.manager for owner in owners_of(obj, path) if owner.manager]
    return f"{kind} {name}" + (f" (set by {', '.join(dict.fromkeys(owners))})" if owners else "")
