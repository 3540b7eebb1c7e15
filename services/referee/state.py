"""State of the referee between two events.

That is the open cycles with what was filed for them, and the newest decision.
"""

from __future__ import annotations

from typing import Any

from pydantic import model_validator

from schemas.actions import Action, AgentName
from schemas.agents import referee_place
from schemas.decision import Decision
from schemas.envelope import Event
from schemas.model import DataModel
from schemas.numbers import Count, Cycle, Seconds
from schemas.observation import Observation
from schemas.proposal import Proposal
from schemas.view import OPEN_LIMIT
from services.referee.open_proposal import OpenProposal, open_proposal_of


class PendingCycle(DataModel):
    """A cycle without a decision."""

    cycle: Cycle
    observation_id: str
    cluster_time_seconds: Seconds
    expected: tuple[AgentName, ...]
    """Who is expected to propose, in canonical order."""
    proposals: tuple[OpenProposal, ...] = ()

    @property
    def missing(self) -> tuple[AgentName, ...]:
        """Expected agents without a proposal, in canonical order."""
        filed = [proposal.considered.agent for proposal in self.proposals]
        return tuple(agent for agent in self.expected if agent not in filed)


class LastDecision(DataModel):
    """Start of the row of equal decisions."""

    actions: tuple[Action, ...]
    repeat_count: Count

    @model_validator(mode="before")
    @classmethod
    def _of_older_checkpoint(cls, content: Any) -> Any:
        """Read what a checkpoint holds from before decisions had parts."""
        if not isinstance(content, dict) or "action" not in content:
            return content
        others = {name: value for name, value in content.items() if name != "action"}
        return {**others, "actions": [content["action"]]}


class RefereeState(DataModel):
    """Open cycles, oldest first, and the newest decision."""

    open: tuple[PendingCycle, ...] = ()
    last: LastDecision | None = None


def evolve(state: RefereeState, event: Event[Any]) -> RefereeState:
    """Return the state after one stored event."""
    data = event.data
    if isinstance(data, Observation):
        return state.model_copy(update={"open": _open_cycle(state.open, event)})
    if isinstance(data, Proposal):
        return state.model_copy(update={"open": _file_proposal(state.open, event)})
    if isinstance(data, Decision):
        return _apply_decision(state, data)
    return state


def _open_cycle(cycles: tuple[PendingCycle, ...], event: Event[Any]) -> tuple[PendingCycle, ...]:
    data: Observation = event.data
    new = PendingCycle(
        cycle=data.cycle,
        observation_id=event.id,
        cluster_time_seconds=data.cluster_time_seconds,
        expected=tuple(sorted(data.expected_agents, key=referee_place)),
    )
    return (*(cycle for cycle in cycles if cycle.cycle < new.cycle), new)[-OPEN_LIMIT:]


def _file_proposal(cycles: tuple[PendingCycle, ...], event: Event[Any]) -> tuple[PendingCycle, ...]:
    """File a proposal with its cycle.

    One for a cycle that is not open is late and stays without effect.
    """
    data: Proposal = event.data
    return tuple(
        cycle.model_copy(update={"proposals": (*cycle.proposals, open_proposal_of(event))})
        if cycle.cycle == data.cycle and data.agent not in _agents(cycle)
        else cycle
        for cycle in cycles
    )


def _agents(cycle: PendingCycle) -> tuple[AgentName, ...]:
    return tuple(proposal.considered.agent for proposal in cycle.proposals)


def _apply_decision(state: RefereeState, data: Decision) -> RefereeState:
    last = LastDecision(actions=data.actions, repeat_count=data.repeat_count)
    return RefereeState(
        open=tuple(cycle for cycle in state.open if cycle.cycle != data.cycle), last=last
    )
