"""Read model of what stands on the cluster because of us, as an operator sees it.

By the log alone: what others have changed since is found out only when it is taken back.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from projections.standing import is_reversible, standing_after
from schemas.envelope import Event
from schemas.outcome import ExecutionPhase, Mode, Operation, OutcomeExecution
from schemas.wording import count_text

DONE = frozenset({"applied", "unchanged"})
"""What a write that went through is called."""


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
    """How often that was tried without success."""

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
