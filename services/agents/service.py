"""An agent as a handler.

One proposal per cycle, as soon as what its policy needs is there, at the latest at the deadline.
"""

from __future__ import annotations

from typing import Any

from bus.follow import Handler
from schemas.actions import AgentName
from schemas.envelope import Event, NewEvent
from schemas.foresight import OutcomeForesight
from schemas.identity import Origin
from services.agents.judging import (
    CycleJudgement,
    judge_cycle,
    judge_value_cycle,
    proposal,
    superseded_proposal,
)
from services.agents.random_choice import by_chance
from services.agents.registration import Agent
from services.agents.registry import agents_by_name
from services.agents.settings import AgentSettings
from services.agents.state import AgentState, evolve, remember


class AgentHandler:
    """The behaviour of the process `agent-<agent>`; see `bus.follow.Handler`."""

    state_version = 1

    def __init__(self, agent: Agent, settings: AgentSettings) -> None:
        """Judge by the agent's policy with the thresholds that the settings hold for it."""
        self._value = settings.value if settings.by_value else None
        self._agent = by_chance(agent, settings.random_seed) if settings.draws else agent
        waits = self._value is None and not settings.draws
        self._prediction = agent.manifest.prediction if waits else None
        self._thresholds = settings.thresholds(agent.name)
        self._profile = settings.profile_of(agent.name)
        self._limit_intervals = settings.signal_limit_intervals
        self._deadline_seconds = settings.deadline_seconds

    @property
    def name(self) -> str:
        """The process."""
        return f"agent-{self._agent.name}"

    @property
    def reads(self) -> tuple[tuple[str, ...], ...]:
        """Observations, what the policy asks for of predictions and of how they did, and the agent's own proposals."""
        kinds: tuple[str, ...] = () if self._prediction is None else (self._prediction,)
        judged: tuple[tuple[str, ...], ...] = ()
        if self._value is not None and self._value.forecast:
            kinds, judged = ("demand", "capacity"), (OutcomeForesight.PATTERN,)
            if self._value.right_size:
                kinds = (*kinds, "sizes")
        predictions = tuple(("prediction", kind) for kind in kinds)
        return (("observation",), *predictions, *judged, ("proposal", self._agent.name))

    @property
    def deadline_seconds(self) -> float | None:
        """Wall seconds to wait for the prediction."""
        return self._deadline_seconds

    def initial(self) -> AgentState:
        """Return the state before any event."""
        return AgentState()

    def evolve(self, state: AgentState, event: Event[Any]) -> AgentState:
        """Return the state after one stored event."""
        folded = evolve(state, event)
        return folded if self._value is None else remember(folded, event, self._value)

    def open_cycle(self, state: AgentState) -> int | None:
        """Return the newest cycle without a proposal."""
        return state.open[-1].cycle if state.open else None

    def decide(self, state: AgentState, *, overdue: bool) -> tuple[NewEvent, ...]:
        """Return the proposals to publish.

        Superseded for older cycles, a judgement for the newest unless it should wait.
        """
        new_events = [
            NewEvent(
                superseded_proposal(self._agent, self._profile, cycle),
                cycle.cycle,
                cycle.cluster_time_seconds,
                (cycle.observation_id,),
            )
            for cycle in state.open[:-1]
        ]
        if state.open:
            new_events.extend(self._newest(state, overdue=overdue))
        return tuple(new_events)

    def _newest(self, state: AgentState, *, overdue: bool) -> tuple[NewEvent, ...]:
        cycle = state.open[-1]
        judged = self._judge(state, cycle.cycle, overdue=overdue)
        if judged is None:
            return ()
        data = proposal(self._agent, self._profile, cycle, judged)
        causes = (cycle.observation_id, *judged.prediction_ids)
        return (NewEvent(data, cycle.cycle, cycle.cluster_time_seconds, causes),)

    def _judge(self, state: AgentState, cycle: int, *, overdue: bool) -> CycleJudgement | None:
        limit = self._limit_intervals
        if self._value is not None:
            return judge_value_cycle(self._agent, limit, cycle, state, self._value, overdue=overdue)
        return judge_cycle(
            self._agent,
            self._thresholds,
            limit,
            cycle,
            state.view,
            state.prediction,
            overdue=overdue,
        )


def build(settings: AgentSettings, origin: Origin, agent: AgentName) -> Handler[Any]:
    """Return the handler of one agent; the same one live, in re-runs and in simulation."""
    del origin  # events get their origin when they are stamped
    registered = agents_by_name()[agent]
    own = AgentHandler(registered, settings)
    policy = settings.learned.policy(agent)
    if policy is None:
        return own
    from services.agents.learned import LearnedAgent  # noqa: PLC0415 - numpy, for a policy alone

    return LearnedAgent(registered, own, policy, settings)
