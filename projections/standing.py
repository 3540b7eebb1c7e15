"""What stands on the cluster because of us: executed for real, can be taken back, and nothing has.

By the log alone: what others have changed since is found out only when it is taken back.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

from schemas.envelope import Event
from schemas.outcome import ExecutionPhase, Mode, Operation, OutcomeExecution
from schemas.surge import OWNER_REPLICAS
from schemas.wording import count_text

GIVES_BACK = frozenset({"on", "open", "down"})
"""Directions that end a limit or a raise of ours; undoing them would impose it again."""
ENDED_BY = {"off": "on", "move": "on", "close": "open", "up": "down"}
"""The direction that ends another one on the same object."""
DONE = frozenset({"applied", "unchanged"})
"""What a write that went through is called."""


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
        """What it writes."""
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


@dataclass(frozen=True, slots=True)
class StandingAction:
    """One part of a decision that stands."""

    cycle: int
    part: int
    decision_id: str
    mode: Mode
    direction: str
    operations: tuple[Operation, ...]
    text: str
    """What was done, in a line."""
    since_seconds: float
    """Cluster time at which it began."""
    trouble: str = ""
    """Why it could not be taken back, the last time that was tried."""
    failed_tries: int = 0
    """How often that was tried in vain."""

    @property
    def name(self) -> str:
        """How `foresail undo` names it: the cycle, and the part unless it is the first."""
        return f"{self.cycle}.{self.part}" if self.part else str(self.cycle)


@dataclass(frozen=True, slots=True)
class StandingActions:
    """Everything that stands, oldest first."""

    actions: tuple[StandingAction, ...] = ()

    def text(self) -> str:
        """Return how much stands in one line for people; empty: nothing."""
        count = count_text(len(self.actions), "action stands", "actions stand")
        return f"{count} on the cluster: `foresail undo --list`" if self.actions else ""

    def after(self, event: Event[Any]) -> StandingActions:
        """Return what stands after one event; most events change nothing."""
        data = event.data
        if not isinstance(data, OutcomeExecution) or data.mode is not Mode.ACTIVE:
            return self
        place = data.cycle, data.part
        if data.rollback_of:
            return self._after_rollback(data)
        action = _action_of(data)
        written = any(result.status in DONE for result in data.results)
        match data.phase:
            case ExecutionPhase.STARTED if is_reversible(action):
                return replace(self, actions=standing_after(self.actions, action))
            case ExecutionPhase.FINISHED if data.succeeded and not is_reversible(action):
                return replace(self, actions=standing_after(self.actions, action))
            case ExecutionPhase.FINISHED if not written:
                return self._without(place)
            case _:  # what is begun may stand, even where its end is never told
                return self

    def _after_rollback(self, data: OutcomeExecution) -> StandingActions:
        place = data.cycle, data.part
        if data.phase is ExecutionPhase.STARTED:
            return self
        if data.phase is ExecutionPhase.REFUSED or data.succeeded:
            return self._without(place)
        return replace(
            self,
            actions=tuple(
                replace(one, trouble=data.text, failed_tries=one.failed_tries + 1)
                if (one.cycle, one.part) == place
                else one
                for one in self.actions
            ),
        )

    def _without(self, place: tuple[int, int]) -> StandingActions:
        kept = tuple(one for one in self.actions if (one.cycle, one.part) != place)
        return replace(self, actions=kept)


def _action_of(data: OutcomeExecution) -> StandingAction:
    return StandingAction(
        cycle=data.cycle,
        part=data.part,
        decision_id=data.decision_id,
        mode=data.mode,
        direction=data.direction,
        operations=data.operations,
        text=data.text,
        since_seconds=data.cluster_time_seconds,
    )
