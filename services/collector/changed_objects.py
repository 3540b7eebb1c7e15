"""Which objects of a list came and went since the last look, so that a look costs what has changed.

`services.kube_lists` gives the same object again for an item that has not changed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Changed(Generic[T]):
    """Objects by the number that Python knows them by; one that has changed goes and comes."""

    gone: Mapping[int, T]
    come: Mapping[int, T]
    """In the order of the list."""
    doubled: bool
    """Whether the list has an object twice, as only a faulty server's has."""


class ChangedObjects(Generic[T]):
    """The objects of the newest list."""

    def __init__(self) -> None:
        """Begin with none."""
        self._known: dict[int, T] = {}  # they stay alive here, so their numbers stay theirs

    def compare(self, objects: Sequence[T]) -> Changed[T]:
        """Return what came and went; `remember` makes it the newest list."""
        known, now = self._known, dict(zip(map(id, objects), objects, strict=True))
        gone: dict[int, T] = {}
        come: dict[int, T] = {}
        if known.keys() != now.keys():
            gone = {key: old for key, old in known.items() if key not in now}
            come = {key: new for key, new in now.items() if key not in known}
        return Changed(gone, come, len(now) < len(objects))

    def remember(self, changed: Changed[T]) -> None:
        """Take over what `compare` returned."""
        for key in changed.gone:
            del self._known[key]
        self._known.update(changed.come)
