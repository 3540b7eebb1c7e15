"""Copies of kept values for clones: what can change is copied, what cannot is shared.

Guarantee: a live record that several places of the original share is one copy that the same places
of the clone share; no later write to one engine shows in the other.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import fields
from types import NoneType
from typing import Any

import numpy as np

from twin.part import KEEPABLE
from twin.records import SLOTS, PodShape

Copy = Callable[["Copier", Any], Any]


class Copier:
    """Copies values that refer to one another; one copier for one clone."""

    __slots__ = ("_made",)

    def __init__(self) -> None:
        self._made: dict[Any, Any] = {}  # by original; these are equal only to themselves

    def copy(self, value: Any) -> Any:
        """Return a copy; raises TypeError for a type that cannot be kept."""
        kind = type(value)
        if kind in _SHARED:
            return value
        how = _HOW.get(kind)
        if how is None:
            how = _HOW[kind] = _how_of(kind)
        return how(self, value)

    def _once(self, value: Any, copied: Any) -> Any:
        self._made[value] = copied
        return copied

    def record(self, value: Any) -> Any:
        """Return the one copy of a record; its parts are never changed in place, so they stay."""
        made = self._made.get(value)
        return self._once(value, value.clone()) if made is None else made

    def dataclass(self, value: Any) -> Any:
        """Return the one copy of a keepable dataclass."""
        made = self._made.get(value)
        if made is not None:
            return made
        made = self._once(value, object.__new__(type(value)))
        for field in fields(value):
            setattr(made, field.name, self.copy(getattr(value, field.name)))
        return made


def copy_object(value: Any) -> Any:
    """Return a copy of a Kubernetes object: its dicts and lists are new, all else is shared."""
    kind = type(value)
    if kind is dict:
        return {
            key: copy_object(entry) if type(entry) in _NESTED else entry
            for key, entry in value.items()
        }
    if kind is list:
        return [copy_object(entry) if type(entry) in _NESTED else entry for entry in value]
    return value


_NESTED = frozenset({dict, list})


def _dict(copier: Copier, value: dict[Any, Any]) -> dict[Any, Any]:
    copy = copier.copy
    return {copy(key): copy(entry) for key, entry in value.items()}


def _list(copier: Copier, value: list[Any]) -> list[Any]:
    return list(map(copier.copy, value))


def _tuple(copier: Copier, value: tuple[Any, ...]) -> tuple[Any, ...]:
    for entry in value:
        if type(entry) not in _SHARED:
            return tuple(map(copier.copy, value))
    return value


def _copy_set(copier: Copier, value: set[Any]) -> set[Any]:
    del copier  # what a set holds cannot change
    return value.copy()


def _deque(copier: Copier, value: deque[Any]) -> deque[Any]:
    return deque(map(copier.copy, value), value.maxlen)


def _array(copier: Copier, value: Any) -> Any:
    del copier  # numbers only
    return value.copy()


def _share(copier: Copier, value: Any) -> Any:
    del copier
    return value


def _how_of(kind: type) -> Copy:
    if KEEPABLE.get(kind.__name__) is kind:
        frozen = kind.__dataclass_params__.frozen  # type: ignore[attr-defined]
        return _share if frozen else Copier.dataclass
    raise TypeError(f"{kind.__module__}.{kind.__name__} cannot be kept; see twin/part.py")


_SHARED = frozenset({NoneType, bool, int, float, str, bytes, PodShape, frozenset})
_HOW: dict[type, Copy] = {
    dict: _dict,
    list: _list,
    tuple: _tuple,
    set: _copy_set,
    deque: _deque,
    np.ndarray: _array,
    **dict.fromkeys(SLOTS, Copier.record),
}
