"""An agent with a learned policy beside its own rules: in shadow its choice is told, in force it is proposed.

The rules never wait for the policy in shadow. In force the proposal waits for both predictions, which the policy sees,
until the deadline; where they do not come, or the rules could not judge, the rules' own answer is proposed.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from schemas.actions import ActionKind
from schemas.envelope import Event, NewEvent
from schemas.learned import LearnedChoice, LearnedRank
from schemas.model import DataModel
from schemas.numbers import rounded
from schemas.observation import Observation
from schemas.prediction import PredictionDemand, PredictionRisk
from schemas.proposal import Proposal, ProposalStatus
from schemas.reasons import Reason
from schemas.view import ObservationView, OpenCycle, add_open_cycle, remove_open_cycle
from services.agents.feasibility import possible_judgement
from services.agents.judging import CycleJudgement, proposal
from services.agents.learned_actions import KINDS, action_of, number_of
from services.agents.learned_observation import agent_observation
from services.agents.policy import Judgement
from services.agents.registration import Agent
from services.agents.settings import AgentSettings
from services.agents.state import AgentState
from services.learned_policy.choice import LearnedPolicy


class AgentByRules(Protocol):
    """An agent's own handler, `services.agents.service.AgentHandler`."""

    @property
    def name(self) -> str:
        """The process."""
        ...

    @property
    def reads(self) -> tuple[tuple[str, ...], ...]:
        """Subject patterns."""
        ...

    @property
    def deadline_seconds(self) -> float | None:
        """Wall seconds to wait for a prediction."""
        ...

    def initial(self) -> AgentState:
        """Return the state before any event."""
        ...

    def evolve(self, state: AgentState, event: Event[Any]) -> AgentState:
        """Return the state after one stored event."""
        ...

    def decide(self, state: AgentState, *, overdue: bool) -> tuple[NewEvent, ...]:
        """Return the proposals to publish."""
        ...


class KeptPrediction(DataModel):
    """One prediction of the newest cycle that it is known of."""

    id: str
    cycle: int
    ratios: dict[str, float]
    """By node."""


class LearnedState(DataModel):
    """The agent's own state, and what the policy needs beside it."""

    own: AgentState = AgentState()
    risk: KeptPrediction | None = None
    demand: KeptPrediction | None = None
    open: tuple[OpenCycle, ...] = ()
    """Cycles without the policy's choice in the log, oldest first."""


class LearnedAgent:
    """An agent's handler around the one that its rules have; see `bus.follow.Handler`."""

    state_version = 101
    """Not that of an agent alone, whose checkpoints it cannot begin with."""

    def __init__(
        self, agent: Agent, own: AgentByRules, policy: LearnedPolicy, settings: AgentSettings
    ) -> None:
        """Stand beside an agent's rules; whether it acts, `settings.learned` says."""
        self._agent, self._own, self._policy, self._settings = agent, own, policy, settings
        self._acts = agent.name in settings.learned.acting

    @property
    def name(self) -> str:
        """The process."""
        return self._own.name

    @property
    def reads(self) -> tuple[tuple[str, ...], ...]:
        """What the agent reads, both predictions, and the policy's own choices."""
        seen = (("prediction", "risk"), ("prediction", "demand"))
        return tuple(dict.fromkeys((*self._own.reads, *seen, ("learned", self._agent.name))))

    @property
    def deadline_seconds(self) -> float | None:
        """Wall seconds to wait for predictions."""
        return self._own.deadline_seconds

    def initial(self) -> LearnedState:
        """Return the state before any event."""
        return LearnedState(own=self._own.initial())

    def evolve(self, state: LearnedState, event: Event[Any]) -> LearnedState:
        """Return the state after one stored event."""
        data = event.data
        update: dict[str, Any] = {}
        if isinstance(data, PredictionRisk):
            update["risk"] = _kept(event, data.nodes.ids, data.nodes.risk_ratio)
        elif isinstance(data, PredictionDemand):
            update["demand"] = _kept(event, data.nodes.ids, data.nodes.demand_ratio)
        elif isinstance(data, Observation):
            update["open"] = add_open_cycle(state.open, event)
        elif isinstance(data, LearnedChoice):
            return state.model_copy(update={"open": remove_open_cycle(state.open, data.cycle)})
        kind = "risk" if "risk" in update else "demand" if "demand" in update else ""
        if not kind or ("prediction", kind) in self._own.reads:
            update["own"] = self._own.evolve(state.own, event)
        return state.model_copy(update=update)

    def open_cycle(self, state: LearnedState) -> int | None:
        """Return the newest cycle without a proposal, or without a choice."""
        cycles = [one.cycle for one in (*state.own.open[-1:], *state.open[-1:])]
        return max(cycles, default=None)

    def decide(self, state: LearnedState, *, overdue: bool) -> tuple[NewEvent, ...]:
        """Return the choices to publish, and the proposals; in force the newest proposal is the choice."""
        choices = [
            self._event(self._nothing(cycle, Reason.SUPERSEDED), cycle) for cycle in state.open[:-1]
        ]
        newest = state.open[-1] if state.open else None
        choice = None if newest is None else self._choice(state, newest)
        if choice is None and newest is not None and self._acts and overdue:
            choice = self._nothing(newest, Reason.PREDICTION_MISSING)
        if self._acts and newest is not None and choice is None:
            return tuple(choices)
        proposals = self._own.decide(state.own, overdue=overdue or self._acts)
        if choice is not None and newest is not None:
            if self._acts:
                choice, proposals = self._in_force(state, newest, choice, proposals)
            choices.append(self._event(choice, newest, state))
        return (*choices, *proposals)

    def _in_force(
        self,
        state: LearnedState,
        cycle: OpenCycle,
        choice: LearnedChoice,
        proposals: tuple[NewEvent, ...],
    ) -> tuple[LearnedChoice, tuple[NewEvent, ...]]:
        """Return the choice with what the rules want, and the proposals with the choice in the rules' place."""
        own = next((one for one in proposals if one.cycle == cycle.cycle), None)
        if own is None or not isinstance(own.data, Proposal):
            return choice, proposals
        choice = choice.model_copy(update={"rules": own.data.action})
        if choice.choice is None:
            blind = own.data.model_copy(update={"prediction_overdue": True})
            return choice, (
                *proposals[:-1],
                NewEvent(blind, own.cycle, own.time_seconds, own.causes),
            )
        could_judge = own.data.status is ProposalStatus.PROPOSED or own.data.reason in {
            None, Reason.NOTHING_TO_DO, Reason.MEANS_MISSING,
        }  # fmt: skip
        view = state.own.view
        if not could_judge or choice.action is None or view is None:
            return choice, proposals
        if choice.choice == number_of(self._agent.name, own.data.action):
            return choice, proposals
        judged = self._judgement(choice, view)
        profile = f"learned:{self._policy.card.name}"
        said = proposal(self._agent, profile, cycle, judged)
        causes = (cycle.observation_id, *_causes(state))
        new = NewEvent(said, cycle.cycle, cycle.cluster_time_seconds, causes)
        return choice, (*proposals[:-1], new)

    def _judgement(self, choice: LearnedChoice, view: ObservationView) -> CycleJudgement:
        assert choice.action is not None
        best = choice.ranks[choice.choice or 0]
        text = f"{choice.policy} chose {best.action}"
        reason = Reason.NOTHING_TO_DO if choice.action.kind is ActionKind.NOOP else None
        wanted = Judgement(choice.action, 1.0, (), (), text, reason)
        return CycleJudgement(possible_judgement(wanted, view))

    def _choice(self, state: LearnedState, cycle: OpenCycle) -> LearnedChoice | None:
        """Return what the policy chooses in a cycle; None while it lacks a prediction of it."""
        view, risk, demand = state.own.view, state.risk, state.demand
        if view is None or view.cycle != cycle.cycle:
            return self._nothing(cycle, Reason.MISSING_SIGNAL)
        if risk is None or demand is None or not risk.cycle == demand.cycle == cycle.cycle:
            return None
        name, policy = self._agent.name, self._policy
        seen = agent_observation(name, view, risk.ratios, demand.ratios, policy.card.arguments)
        kinds = KINDS[name]
        mask = np.arange(policy.card.action_count) < len(kinds)
        chosen = policy.choose(seen, mask)
        ranks = tuple(
            LearnedRank(action=kind, allowed=chosen.allowed[number], score=chosen.scores[number])
            for number, kind in enumerate(kinds)
        )
        action = action_of(
            name, chosen.action, view, risk.ratios, demand.ratios, self._settings
        ).model_copy(update={"agent": name})
        return self._nothing(cycle, None).model_copy(
            update={
                "seen": tuple(rounded(float(value)) for value in seen),
                "ranks": ranks,
                "choice": chosen.action,
                "runner_up": chosen.runner_up,
                "action": action,
            }
        )

    def _nothing(self, cycle: OpenCycle, reason: Reason | None) -> LearnedChoice:
        card = self._policy.card
        return LearnedChoice(
            cycle=cycle.cycle,
            cluster_time_seconds=cycle.cluster_time_seconds,
            agent=self._agent.name,
            policy=card.name,
            weights_sha256=card.weights_sha256,
            acts=self._acts,
            reason=reason,
        )

    @staticmethod
    def _event(
        choice: LearnedChoice, cycle: OpenCycle, state: LearnedState | None = None
    ) -> NewEvent:
        causes = () if state is None or choice.choice is None else _causes(state)
        return NewEvent(
            choice, cycle.cycle, cycle.cluster_time_seconds, (cycle.observation_id, *causes)
        )


def _causes(state: LearnedState) -> tuple[str, ...]:
    return tuple(one.id for one in (state.risk, state.demand) if one is not None)


def _kept(event: Event[Any], ids: tuple[str, ...], ratios: tuple[float, ...]) -> KeptPrediction:
    return KeptPrediction(
        id=event.id, cycle=event.data.cycle, ratios=dict(zip(ids, ratios, strict=True))
    )
