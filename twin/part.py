"""What remembers something: the parts of an engine that a checkpoint, a clone and the hash hold.

Problem: a simulation can be cloned and continued only if every attribute that decides its future is
known. Guarantee: each part names those attributes in KEEPS, and a test walks all objects of a busy
engine and fails for a mutable attribute that is named nowhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import is_dataclass
from types import MethodType
from typing import Any, ClassVar, TypeVar

Kept = dict[str, Any]
T = TypeVar("T")
KEEPABLE: dict[str, type] = {}
"""Dataclasses that may stand in what is kept, by name."""


class Part:
    """A piece of the simulation that remembers something.

    Kept values are built from None, bool, int, float, str, tuple, list, dict, set, frozenset,
    deque, numpy arrays, records (`twin.records`), shapes and `keepable` dataclasses. References to
    one live record stay references to one record. Everything else in a part is wiring: parts,
    settings, draws and functions that the constructor was given.
    """

    __slots__ = ()
    KEEPS: ClassVar[tuple[str, ...]] = ()
    """Attributes that decide the future."""
    LEAVES: ClassVar[tuple[str, ...]] = ()
    """Mutable attributes that do not: what is wired up once, and caches of pure results, which are
    empty in a restored engine.
    """

    def kept(self) -> Kept:
        """Return what decides the future, by attribute; nothing is copied."""
        return {name: getattr(self, name) for name in self.KEEPS}

    def restore(self, kept: Kept) -> None:
        """Take over what another engine's part kept; the values belong to this part from now on."""
        for name, value in kept.items():
            setattr(self, name, value)

    def restored(self) -> None:
        """Build anew what follows from kept values; called when all parts have theirs."""


def keepable(cls: type[T]) -> type[T]:
    """Allow a dataclass in kept values; frozen ones are shared between clones, others copied, and
    those have to be equal only to themselves (eq=False).
    """
    assert is_dataclass(cls), f"{cls.__name__} is not a dataclass"
    frozen = cls.__dataclass_params__.frozen  # type: ignore[attr-defined]
    assert frozen or cls.__eq__ is object.__eq__, f"{cls.__name__} needs eq=False"
    assert cls.__name__ not in KEEPABLE, f"two keepable classes {cls.__name__}"
    KEEPABLE[cls.__name__] = cls
    return cls


def parts_of(root: object) -> dict[str, Part]:
    """Return every part that can be reached from `root`, by class name, in order of construction.

    A second one of a class is called `Name#2`.
    """
    found: dict[str, Part] = {}
    for owner in objects_of(root):
        if isinstance(owner, Part):
            found[_free_name(type(owner).__name__, found)] = owner
    return found


def objects_of(root: object) -> Iterator[object]:
    """Yield the twin's own objects that can be reached from `root`, each once, in a fixed order.

    They are found as attributes, in containers that are not kept, and behind bound methods such as
    handlers.
    """
    seen: list[object] = []
    todo: list[object] = [root]
    while todo:
        owner = todo.pop()
        if not any(owner is one for one in seen):  # some are equal, or cannot be hashed
            seen.append(owner)
            yield owner
            todo += reversed(list(_neighbours(owner)))


def attributes(owner: object) -> dict[str, Any]:
    """Return the attributes of an instance, of its dict and of its slots."""
    found: dict[str, Any] = {}
    for cls in reversed(type(owner).__mro__):
        slots = cls.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if name not in ("__dict__", "__weakref__") and hasattr(owner, name):
                found[name] = getattr(owner, name)
    return {**found, **getattr(owner, "__dict__", {})}


def _free_name(name: str, taken: dict[str, Part]) -> str:
    if name not in taken:
        return name
    number = 2
    while f"{name}#{number}" in taken:
        number += 1
    return f"{name}#{number}"


def _neighbours(owner: object) -> Iterator[object]:
    keeps, leaves = (owner.KEEPS, owner.LEAVES) if isinstance(owner, Part) else ((), ())
    for name, value in attributes(owner).items():
        if isinstance(value, Part) or name not in keeps:
            yield from _objects_in(value, cached=name in leaves)


def _objects_in(value: object, *, cached: bool) -> Iterator[object]:
    """Yield the twin's own objects in a value that is wiring or, when `cached`, may be a cache,
    whose entries are of no interest.
    """
    if isinstance(value, MethodType):
        value, cached = value.__self__, False
    if isinstance(value, Part) or (_is_ours(value) and not cached):
        yield value
    elif isinstance(value, list | tuple):
        for entry in value:
            yield from _objects_in(entry, cached=cached)
    elif isinstance(value, dict):
        for entry in value.values():
            yield from _objects_in(entry, cached=cached)


def _is_ours(value: object) -> bool:
    """True for instances of the twin's own classes that are no plain values."""
    kind = type(value)
    if not kind.__module__.startswith("twin.") or isinstance(value, type):
        return False
    return not (is_dataclass(kind) and kind.__dataclass_params__.frozen)  # type: ignore[attr-defined]
