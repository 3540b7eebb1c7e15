"""The objects of one kind, kept up to date by what a watch says; pure.

An object that has not changed stays the same Python object, so that what was computed of it is kept
(`services.kept_results`) and who looks again and again sees by identity what has changed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

import msgspec

from services.kube_decoding import KubeDecoder
from services.kube_objects import KubeStruct, ListMeta, Meta, PodMeta

T = TypeVar("T", bound=KubeStruct)


@dataclass(frozen=True, slots=True)
class _Identity:
    """Where an object stands in a list, and which version of it."""

    key: str
    uid: str
    resource_version: str


def _identity(obj: KubeStruct) -> _Identity:
    """Read an object's metadata, which every kind has that is listed."""
    metadata: Meta | PodMeta = obj.metadata  # type: ignore[attr-defined]
    name = metadata.name
    key = f"{metadata.namespace}/{name}" if metadata.namespace else name
    return _Identity(key, metadata.uid, metadata.resource_version)


class WatchExpired(Exception):
    """The server no longer has the changes since the version that was asked for (410): list again."""


class WatchError(Exception):
    """The server ended a watch with an error: `status` (HTTP), `reason` (its word), `message`."""

    def __init__(self, status: int, reason: str, message: str) -> None:
        """Keep what the server said."""
        super().__init__(message)
        self.status = status
        self.reason = reason
        self.message = message


class _Line(msgspec.Struct, frozen=True):
    """One line of a watch."""

    type: str
    object: msgspec.Raw


class _Bookmark(KubeStruct, frozen=True):
    """An object of which only the version counts."""

    metadata: ListMeta = ListMeta()


class _Status(KubeStruct, frozen=True):
    """metav1.Status."""

    code: int = 0
    reason: str = ""
    message: str = ""


_LINES = msgspec.json.Decoder(_Line)
_BOOKMARKS = msgspec.json.Decoder(_Bookmark)
_STATUSES = msgspec.json.Decoder(_Status)


class ObjectIndex(Generic[T]):
    """Objects of one kind on the server, as of `version`."""

    def __init__(self, kind: type[T]) -> None:
        """Begin with nothing; `version` is empty until the first list."""
        self._decoder = KubeDecoder[T](kind)
        self._objects: dict[str, T] = {}
        self._in_order: tuple[T, ...] | None = ()
        self._sorted = True
        self.version = ""
        """resourceVersion up to which everything is known; empty: a list is needed."""
        self.changes = 0
        """How many changes a watch has brought."""

    def __len__(self) -> int:
        """Return how many objects there are."""
        return len(self._objects)

    def replace(self, objects: Iterable[T], version: str) -> None:
        """Take over a whole list; objects in the version that is known stay the same Python objects."""
        known = self._objects
        self._objects = {}
        for listed in objects:
            identity = _identity(listed)
            before = known.get(identity.key)
            unchanged = before is not None and _identity(before) == identity
            self._objects[identity.key] = before if unchanged and before is not None else listed
        self._in_order, self._sorted, self.version = None, False, version

    def apply(self, line: bytes) -> None:
        """Take over one line of a watch.

        Raises:
            WatchExpired: the server says that the version is too old.
            WatchError: it says another error.
            ValueError: the line cannot be read.
        """
        change = _LINES.decode(line)
        if change.type == "ERROR":
            status = _STATUSES.decode(change.object)
            if status.code == 410 or status.reason in {"Expired", "Gone"}:
                raise WatchExpired(status.message)
            raise WatchError(status.code, status.reason, status.message)
        if change.type == "BOOKMARK":
            self._move_to(_BOOKMARKS.decode(change.object).metadata.resource_version)
            return
        changed = self._decoder.decode(change.object)
        identity = _identity(changed)
        if change.type == "DELETED":
            self._objects.pop(identity.key, None)
        elif change.type in {"ADDED", "MODIFIED"}:
            self._sorted = self._sorted and identity.key in self._objects
            self._objects[identity.key] = changed
        else:
            raise ValueError(f"a watch says {change.type[:40]!r}, which is no type of a change")
        self._in_order = None
        self._move_to(identity.resource_version)
        self.changes += 1

    def _move_to(self, version: str) -> None:
        """Note how far the watch has come; numbers that fall mean that the server was set back to a backup."""
        if version.isdecimal() and self.version.isdecimal() and int(version) < int(self.version):
            raise WatchExpired(f"the resourceVersion went back from {self.version} to {version}")
        self.version = version

    def objects(self) -> tuple[T, ...]:
        """Return all objects in the order of a list: by namespace and name."""
        if self._in_order is None:
            if not self._sorted:
                self._objects = dict(sorted(self._objects.items()))
                self._sorted = True
            self._in_order = tuple(self._objects.values())
        return self._in_order
