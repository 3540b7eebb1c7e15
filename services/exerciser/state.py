"""Which phase is on, since when, what became of what it intends, and what comes next: a pure handler over the log."""

from __future__ import annotations

from typing import Any

from projections.standing import is_reversible
from schemas.actions import Action
from schemas.decision import Decision
from schemas.envelope import Event
from schemas.model import DataModel
from schemas.numbers import Count, Cycle, Seconds
from schemas.observation import Observation
from schemas.outcome import (
    ExecutionPhase,
    Mode,
    OutcomeExecution,
    OutcomeVerification,
    VerificationStatus,
)
from schemas.stimulus import Stimulus
from services.exerciser.phases import PHASES
from services.exerciser.settings import ExerciserSettings

MOST_EXECUTIONS = 100
"""Executions of one phase that are kept; a phase that stays on for longer forgets its oldest."""


class PhaseExecution(DataModel):
    """A part of a decision that was executed during the phase."""

    cycle: Cycle
    part: Count = 0
    intended: bool
    """Whether it is what the phase intends."""
    mode: Mode
    reversible: bool
    """Whether it leaves something that can be taken back."""
    succeeded: bool | None = None
    looked_at: bool = False
    """Whether it was verified, whatever was found."""
    verified: bool = False
    given_back: bool = False

    @property
    def stands(self) -> bool:
        """Whether it is to be taken back before the phase ends."""
        return self.reversible and not self.given_back and self.mode is Mode.ACTIVE


class ExerciserState(DataModel):
    """State of the exercise by the log."""

    cycle: Cycle = 0
    """Newest observed cycle."""
    observation_id: str = ""
    cluster_time_seconds: Seconds = 0.0
    sequence: Count = 0
    """Running number of the newest stimulus; 0 before the first."""
    phase: Count = 0
    """Phase of the newest stimulus."""
    on: bool = False
    """Whether that phase's load is on the cluster."""
    since_cycle: Cycle = 0
    """Cycle in which the newest stimulus began."""
    gives_back_since: Cycle | None = None
    """Cycle since which the executor takes back what the phase brought about; None: it does not."""
    decided: Count = 0
    """Decisions of what the phase intends."""
    executions: tuple[PhaseExecution, ...] = ()
    """Executions of the phase, oldest first."""

    @property
    def next_phase(self) -> int:
        """The phase after the newest one."""
        return 0 if self.sequence == 0 else (self.phase + 1) % len(PHASES)

    def due(self, settings: ExerciserSettings) -> bool:
        """Say whether it is time for the next phase, where none is on."""
        if settings.rounds and self.sequence >= settings.rounds * len(PHASES):
            return False
        if self.cycle == 0:
            return False
        return self.sequence == 0 or self.cycle - self.since_cycle >= settings.least_cycles

    def is_over(self, settings: ExerciserSettings) -> bool:
        """Say whether the load of the newest phase has been on long enough."""
        age = self.cycle - self.since_cycle
        if not self.on or age < settings.least_cycles:
            return False
        return self._has_happened() or age >= settings.least_cycles + settings.patience

    @property
    def intended(self) -> tuple[PhaseExecution, ...]:
        """Executions of what the phase intends, that went through."""
        return tuple(one for one in self.executions if one.intended and one.succeeded)

    def wants_back(self, settings: ExerciserSettings) -> bool:
        """Say whether something of the phase stands that is to be taken back, and may yet be."""
        if not settings.gives_back or not any(one.stands for one in self.executions):
            return False
        began = self.gives_back_since
        return began is None or self.cycle - began <= settings.patience

    def _has_happened(self) -> bool:
        """Say whether what the phase intends was seen through; a dry run is, once it was looked at."""
        intended = [one for one in self.executions if one.intended]
        seen = (one.verified or (one.looked_at and one.mode is Mode.SHADOW) for one in intended)
        return any(seen)


def evolve(state: ExerciserState, event: Event[Any]) -> ExerciserState:
    """Return the state after one event."""
    match event.data:
        case Observation() as data if data.cycle > state.cycle:
            return state.model_copy(
                update={
                    "cycle": data.cycle,
                    "observation_id": event.id,
                    "cluster_time_seconds": data.cluster_time_seconds,
                }
            )
        case Stimulus() as data:
            return _after_stimulus(state, data)
        case Decision() as data if state.on and data.cycle >= state.since_cycle:
            hits = any(_is_intended(state, part.action) for part in data.parts)
            return state.model_copy(update={"decided": state.decided + hits})
        case OutcomeExecution() as data if state.on and data.cycle >= state.since_cycle:
            return _after_execution(state, data)
        case OutcomeVerification() as data:
            found = data.status is VerificationStatus.VERIFIED
            return _update(state, data.cycle, data.part, looked_at=True, verified=found)
        case _:
            return state


def _after_stimulus(state: ExerciserState, data: Stimulus) -> ExerciserState:
    update: dict[str, Any] = {"sequence": data.sequence, "phase": data.phase}
    match data.status:
        case "giving_back":
            update["gives_back_since"] = data.cycle
        case "cleaned_up":
            update |= {"on": False, "gives_back_since": None}
        case _:
            update |= {
                "on": data.status == "applied",
                "since_cycle": data.cycle,
                "gives_back_since": None,
                "decided": 0,
                "executions": (),
            }
    return state.model_copy(update=update)


def _after_execution(state: ExerciserState, data: OutcomeExecution) -> ExerciserState:
    ended = data.phase is not ExecutionPhase.STARTED
    if data.rollback_of:
        given_back = ended and data.succeeded is not False
        return _update(state, data.cycle, data.part, given_back=given_back)
    if data.phase is ExecutionPhase.FINISHED:
        return _update(state, data.cycle, data.part, succeeded=data.succeeded)
    if data.phase is ExecutionPhase.REFUSED:
        return state
    begun = PhaseExecution(
        cycle=data.cycle,
        part=data.part,
        intended=_is_intended(state, data.action),
        mode=data.mode,
        reversible=is_reversible(data),
    )
    return state.model_copy(update={"executions": (*state.executions, begun)[-MOST_EXECUTIONS:]})


def _update(state: ExerciserState, cycle: int, part: int, **update: Any) -> ExerciserState:
    executions = tuple(
        one.model_copy(update=update) if (one.cycle, one.part) == (cycle, part) else one
        for one in state.executions
    )
    return state.model_copy(update={"executions": executions})


def _is_intended(state: ExerciserState, action: Action) -> bool:
    return action.full_kind == PHASES[state.phase].intention
