"""Our actions that are in force on the cluster: executed for real, can be taken back, and nothing has.

By the log alone: what others have changed since is found out only when it is taken back.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Protocol, TypeVar

from schemas.outcome import Mode, Operation
from schemas.surge import OWNER_REPLICAS

GIVES_BACK = frozenset({"on", "open", "down"})
"""Directions that end a limit or a raise of ours; undoing them would impose it again."""
ENDED_BY = {"off": "on", "move": "on", "close": "open", "up": "down"}
"""The direction that ends another one on the same object."""


class ExecutionLike(Protocol):
    """An execution, whoever keeps it."""

    @property
    def mode(self) -> Mode:
        """Whether it was written for real."""
        ...

    @property
    def direction(self) -> str:
        """Which way it moves its target."""
        ...

    @property
    def operations(self) -> tuple[Operation, ...]:
        """Its writes."""
        ...


A = TypeVar("A", bound=ExecutionLike)


def is_reversible(acted: ExecutionLike) -> bool:
    """Say whether an execution leaves something on the cluster that can be taken back."""
    reversible = any(operation.undo for operation in acted.operations)
    return acted.mode is Mode.ACTIVE and acted.direction not in GIVES_BACK and reversible


def standing_after(standing: Sequence[A], acted: A) -> tuple[A, ...]:
    """Return what stands after one more execution: itself, or without what it gives back."""
    if is_reversible(acted):
        return (*standing, acted)
    if acted.mode is not Mode.ACTIVE or acted.direction not in GIVES_BACK:
        return tuple(standing)
    freed = {_object_of(one) for one in acted.operations if not _keeps_a_mark(one)}
    return tuple(
        one
        for one in standing
        if ENDED_BY.get(one.direction) != acted.direction
        or not {_object_of(each) for each in one.operations if each.undo} <= freed
    )


def _object_of(operation: Operation) -> tuple[str, str, str]:
    return operation.resource, operation.namespace, operation.name


def _keeps_a_mark(operation: Operation) -> bool:
    """Say whether a write that gives back leaves some of ours: fewer replicas, but not the owner's number."""
    patch: Any = json.loads(operation.patch or "null")
    notes = patch.get("metadata", {}).get("annotations", {}) if isinstance(patch, dict) else {}
    return notes.get(OWNER_REPLICAS) is not None
