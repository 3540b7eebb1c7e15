"""Learned policies beside their agents' rules: both are paid for what was observed, by the agent's own terms.

What acting otherwise would have changed is not seen in shadow; the sums say which of the two fits better to what came.
"""

from __future__ import annotations

from math import fsum
from typing import Any

from schemas.actions import Action, AgentName
from schemas.envelope import Event, NewEvent
from schemas.learned import LearnedChoice, OutcomeLearned
from schemas.model import DataModel
from schemas.numbers import Count, Cycle, Rounded
from schemas.observation import Observation
from schemas.prediction import PredictionRisk
from schemas.proposal import Proposal, ProposalStatus
from schemas.view import ObservationView
from services.agent_rewards import RewardInput, reward_terms_of
from services.scoreboard.predicted import situation_of
from services.scoreboard.settings import ScoreboardSettings

KEPT_UNPUBLISHED = 60


class WaitingChoice(DataModel):
    """A cycle of one agent that was not paid yet."""

    cycle: Cycle
    agent: AgentName
    choice: LearnedChoice | None = None
    choice_id: str = ""
    proposed: Action | None = None
    risk: Rounded | None = None
    """Highest one predicted in the cycle."""

    @property
    def rules(self) -> Action | None:
        """Return what the agent's own rules wanted."""
        choice = self.choice
        return self.proposed if choice is None or choice.rules is None else choice.rules


class PolicySums(DataModel):
    """What a policy and its agent's rules have earned."""

    agent: AgentName
    policy: str
    scored: Count = 0
    agreed: Count = 0
    policy_total: Rounded = 0.0
    rules_total: Rounded = 0.0


class UnpublishedLearned(DataModel):
    """An outcome that the log does not hold yet."""

    causes: tuple[str, ...]
    outcome: OutcomeLearned


class LearnedScores(DataModel):
    """Choices that wait for their observation, sums, and what is not published yet."""

    waiting: tuple[WaitingChoice, ...] = ()
    sums: tuple[PolicySums, ...] = ()
    owed: tuple[UnpublishedLearned, ...] = ()

    def after(
        self, event: Event[Any], view: ObservationView | None, settings: ScoreboardSettings
    ) -> LearnedScores:
        """Return the same after a stored event; an observation is shown whole by `view`."""
        match event.data:
            case LearnedChoice(agent=agent, cycle=cycle):
                return self._noted(cycle, agent, choice=event.data, choice_id=event.id)
            case Proposal(agent=agent, cycle=cycle, status=status) if (
                status is not ProposalStatus.SKIPPED
            ):
                return self._noted(cycle, agent, proposed=event.data.action)
            case PredictionRisk(cycle=cycle) if event.data.nodes.risk_ratio:
                highest = max(event.data.nodes.risk_ratio)
                waiting = [
                    one.model_copy(update={"risk": highest}) if one.cycle == cycle else one
                    for one in self.waiting
                ]
                return self.model_copy(update={"waiting": tuple(waiting)})
            case OutcomeLearned(cycle=cycle, agent=agent):
                owed = [
                    one
                    for one in self.owed
                    if (one.outcome.cycle, one.outcome.agent) != (cycle, agent)
                ]
                return self.model_copy(update={"owed": tuple(owed)})
            case Observation() if view is not None:
                return self._paid(view, settings)
        return self

    def _noted(self, cycle: int, agent: AgentName, **found: Any) -> LearnedScores:
        place = (cycle, agent)
        known = next((one for one in self.waiting if (one.cycle, one.agent) == place), None)
        noted = (known or WaitingChoice(cycle=cycle, agent=agent)).model_copy(update=found)
        others = (one for one in self.waiting if (one.cycle, one.agent) != place)
        waiting = sorted((*others, noted), key=lambda one: (one.cycle, one.agent))
        return self.model_copy(update={"waiting": tuple(waiting)})

    def _paid(self, view: ObservationView, settings: ScoreboardSettings) -> LearnedScores:
        """Pay the cycles that this observation is the first to show an effect of; late ones are given up."""
        settle, late = settings.settle_cycles, settings.late_cycles
        situation, scores = situation_of(view), self
        for one in self.waiting:
            if settle <= view.cycle - one.cycle <= settle + late:
                scores = scores._pay(one, situation, view)
        waiting = tuple(one for one in self.waiting if view.cycle - one.cycle < settle)
        return scores.model_copy(update={"waiting": waiting})

    def _pay(
        self, one: WaitingChoice, situation: RewardInput, view: ObservationView
    ) -> LearnedScores:
        choice, rules = one.choice, one.rules
        if choice is None or choice.action is None or rules is None:
            return self
        policy_reward = _reward(choice.action, one, situation)
        rules_reward = _reward(rules, one, situation)
        same = choice.action.full_kind == rules.full_kind
        mine = (one.agent, choice.policy)
        before = next((sums for sums in self.sums if (sums.agent, sums.policy) == mine), None)
        before = before or PolicySums(agent=one.agent, policy=choice.policy)
        sums = PolicySums(
            agent=one.agent,
            policy=choice.policy,
            scored=before.scored + 1,
            agreed=before.agreed + same,
            policy_total=before.policy_total + policy_reward,
            rules_total=before.rules_total + rules_reward,
        )
        outcome = OutcomeLearned(
            cycle=one.cycle,
            cluster_time_seconds=view.cluster_time_seconds,
            acts=choice.acts,
            same=same,
            policy_reward=policy_reward,
            rules_reward=rules_reward,
            **sums.model_dump(),
        )
        owed = UnpublishedLearned(causes=(one.choice_id, view.id), outcome=outcome)
        others = tuple(sums for sums in self.sums if (sums.agent, sums.policy) != mine)
        return self.model_copy(
            update={"sums": (*others, sums), "owed": (*self.owed, owed)[-KEPT_UNPUBLISHED:]}
        )

    def new_events(self) -> tuple[NewEvent, ...]:
        """Return the outcomes to publish, in order."""
        return tuple(
            NewEvent(one.outcome, one.outcome.cycle, one.outcome.cluster_time_seconds, one.causes)
            for one in self.owed
        )


def _reward(action: Action, one: WaitingChoice, situation: RewardInput) -> float:
    terms = reward_terms_of(one.agent)(action, situation, one.risk)
    return fsum(term.amount for term in terms)
