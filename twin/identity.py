"""Who an object is: uids and generated names that follow from its own place, not from the order of
writes in the cluster.

An object that a live controller made is known by its owner, what it stands for there (a name, a
generateName, a node) and how many were made for that before. Any other is known by its name and how
many of that name are gone, or by its generateName and how many were made with it. So a write
somewhere else changes neither its name nor its uid, and with them none of its luck (`twin.chance`).

Guarantee: no uid comes twice. Counts of an owner go with it; the others are dropped every 30 days,
and uids of each such era are different ones.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import dataclass

from twin import errors
from twin.kinds import KINDS, RESOURCES, Kind
from twin.names import generated_name, object_uid
from twin.part import Part
from twin.records import Object, Record

_TRIES = 8  # as the API server
Find = Callable[[str, str, str], Record | None]
"""Finds the live record of (resource, namespace, name)."""
ERA_SECONDS = 30 * 86_400.0


@dataclass(frozen=True, slots=True)
class Identity:
    """A new object's uid, and what has to be counted once it is there."""

    uid: str
    owner: str
    scope: str
    """Empty: it is counted when it goes."""


class Identities(Part):
    """Gives uids; `owner` in what it counts is empty for objects without a live controller."""

    KEEPS = ("_era", "_counts")

    def __init__(self, seed: int, now: Callable[[], float]) -> None:
        self._seed = seed
        self._now = now
        self._start = now()
        self._era = 0
        self._counts: dict[str, dict[str, int]] = {"": {}}

    def next(
        self,
        resource: str,
        metadata: Object,
        stands_for: str,
        find: Find,
    ) -> Identity:
        """Return the identity of an object that is about to be made, whose metadata nobody has
        checked yet; `stands_for` is its place under its owner, if that is not its name.
        """
        namespace, name = str(metadata.get("namespace", "")), metadata.get("name")
        prefix = metadata.get("generateName")
        owner = _live_controller(metadata, namespace, find)
        if owner:
            return self._owned_identity(resource, owner, stands_for or str(name or prefix))
        if name:
            return self._named_identity(resource, namespace, str(name))
        return self._generated_identity(resource, namespace, str(prefix))

    def add(self, identity: Identity) -> None:
        """Count an object that is there now."""
        self._begin_era()
        if identity.scope:
            counts = self._counts.setdefault(identity.owner, {})
            counts[identity.scope] = counts.get(identity.scope, 0) + 1

    def remove(self, resource: str, record: Record, *, named_here: bool = True) -> None:
        """Count an object that is gone, and forget what it owned; a uid that somebody else gave
        (not `named_here`) need not be looked for.
        """
        self._begin_era()
        self._counts.pop(record.uid, None)
        if not named_here:
            return
        place, counts = _place(resource, record.namespace, record.name), self._counts[""]
        count = counts.get(place, 0)
        if object_uid(self._seed, self._era, place, count) == record.uid:
            counts[place] = count + 1

    def _owned_identity(self, resource: str, owner_uid: str, scope: str) -> Identity:
        """Return the identity of the next object that stands for `scope` under a live owner."""
        place = _place(resource, "", scope)
        count = self._counts.get(owner_uid, {}).get(place, 0)
        return Identity(object_uid(self._seed, owner_uid, place, count), owner_uid, place)

    def _generated_identity(self, resource: str, namespace: str, prefix: str) -> Identity:
        """Return the identity of the next object with this generateName and no owner."""
        place = _place(resource, namespace, prefix, "")
        return Identity(self._next_unowned(place), "", place)

    def _named_identity(self, resource: str, namespace: str, name: str) -> Identity:
        """Return the identity of the next object of this name and no owner."""
        return Identity(self._next_unowned(_place(resource, namespace, name)), "", "")

    def _begin_era(self) -> None:
        era = self._now_era()
        if era != self._era:
            self._era, self._counts[""] = era, {}

    def _now_era(self) -> int:
        return int((self._now() - self._start) // ERA_SECONDS)

    def _next_unowned(self, place: str) -> str:
        era = self._now_era()
        count = self._counts[""].get(place, 0) if era == self._era else 0
        return object_uid(self._seed, era, place, count)


def draw_name(metadata: Object, uid: str, taken: Container[tuple[str, str]], kind: Kind) -> None:
    """Give an object of this uid the name that generateName leads to; an empty one without it.

    Raises ApiError 409 when eight names are taken.
    """
    prefix = metadata.get("generateName")
    metadata["name"] = metadata.get("name") or ""
    if metadata["name"] or not prefix:
        return
    for attempt in range(_TRIES):
        name = generated_name(uid, prefix, attempt)
        if (metadata.get("namespace", ""), name) not in taken:
            metadata["name"] = name
            return
    raise errors.already_exists(kind.resource, prefix)


def _live_controller(metadata: Object, namespace: str, find: Find) -> str:
    """Return the uid of the controller that metadata refer to, empty when it does not exist."""
    references = metadata.get("ownerReferences")
    for entry in references if isinstance(references, list) else ():
        if isinstance(entry, dict) and entry.get("controller") is True:
            group = str(entry.get("apiVersion")).rpartition("/")[0]
            resource = RESOURCES.get((group, str(entry.get("kind"))))
            if resource is None:
                return ""
            home = namespace if KINDS[resource].namespaced else ""
            owner = find(resource, home, str(entry.get("name")))
            return owner.uid if owner is not None and owner.uid == entry.get("uid") else ""
    return ""


def _place(*parts: str) -> str:
    return "\x1f".join(parts)
