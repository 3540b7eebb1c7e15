"""Which phase is on, since when, and what comes next: a pure handler over observations and stimuli."""

from __future__ import annotations

from typing import Any

from schemas.envelope import Event
from schemas.model import DataModel
from schemas.numbers import Count, Cycle, Seconds
from schemas.observation import Observation
from schemas.stimulus import Stimulus
from services.exerciser.phases import PHASES


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

    @property
    def next_phase(self) -> int:
        """The phase after the newest one."""
        return 0 if self.sequence == 0 else (self.phase + 1) % len(PHASES)

    def due(self, phase_cycles: int, rounds: int) -> bool:
        """Say whether it is time for the next phase."""
        if rounds and self.sequence >= rounds * len(PHASES):
            return False
        if self.cycle == 0:
            return False
        return self.sequence == 0 or self.cycle - self.since_cycle >= phase_cycles

    def is_over(self, phase_cycles: int) -> bool:
        """Say whether the load of the newest phase has been on long enough."""
        return self.on and self.cycle - self.since_cycle >= phase_cycles


def evolve(state: ExerciserState, event: Event[Any]) -> ExerciserState:
    """Return the state after one event."""
    data = event.data
    if isinstance(data, Observation) and data.cycle > state.cycle:
        return state.model_copy(
            update={
                "cycle": data.cycle,
                "observation_id": event.id,
                "cluster_time_seconds": data.cluster_time_seconds,
            }
        )
    if isinstance(data, Stimulus):
        return state.model_copy(
            update={
                "sequence": data.sequence,
                "phase": data.phase,
                "on": data.status == "applied",
                "since_cycle": (state.since_cycle if data.status == "cleaned_up" else data.cycle),
            }
        )
    return state
