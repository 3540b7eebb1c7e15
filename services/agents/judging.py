"""From the newest state to one judgement: gates first, then the policy. Pure.

The gates, in order: the observation is complete, its signals are fresh, the prediction is there and
is a result. Each gate that closes gives a noop with its reason, so that an agent is never silent
and never guesses.
"""

from __future__ import annotations

from dataclasses import dataclass

from schemas.actions import ActionKind
from schemas.proposal import Proposal, ProposalStatus
from schemas.reasons import Reason
from schemas.view import ObservationView, OpenCycle
from services.agents.appraisal import PolicyInput
from services.agents.feasibility import possible_judgement
from services.agents.freshness import refusal
from services.agents.policy import Judgement, NodePrediction, noop
from services.agents.registration import Agent
from services.agents.state import AgentState
from services.agents.thresholds import Thresholds
from services.agents.value_judging import judge_by_value
from services.agents.value_settings import ValueSettings

NO_PREDICTION = NodePrediction(id="", cycle=0, model_id="")
"""What a policy gets that asked for none."""
NOT_KNOWN_YET = "the full observation is not known yet; waiting for a keyframe"


@dataclass(frozen=True, slots=True)
class CycleJudgement:
    """A judgement of one cycle, and the predictions it rests on."""

    judgement: Judgement
    prediction_ids: tuple[str, ...] = ()


def judge_value_cycle(
    agent: Agent,
    limit_intervals: float,
    cycle: int,
    state: AgentState,
    settings: ValueSettings,
) -> CycleJudgement:
    """Return what the agent thinks of `cycle` by expected value; it waits for no prediction."""
    view = state.view
    if view is None or view.cycle != cycle or state.memory is None:
        return CycleJudgement(noop(Reason.MISSING_SIGNAL, NOT_KNOWN_YET))
    refused = refusal(view, agent.code.signals, limit_intervals)
    if refused is not None:
        return CycleJudgement(refused)
    bands = () if state.demand is None else state.demand.bands
    situation = PolicyInput(view, state.memory, settings, bands)
    return CycleJudgement(judge_by_value(agent.code.appraise, situation))


def judge_cycle(
    agent: Agent,
    thresholds: Thresholds,
    limit_intervals: float,
    cycle: int,
    view: ObservationView | None,
    prediction: NodePrediction | None,
    *,
    overdue: bool,
) -> CycleJudgement | None:
    """Return what the agent thinks of `cycle`; None while it should wait for the prediction."""
    if view is None or view.cycle != cycle:
        return CycleJudgement(noop(Reason.MISSING_SIGNAL, NOT_KNOWN_YET))
    refused = refusal(view, agent.code.signals, limit_intervals)
    if refused is not None:
        return CycleJudgement(refused)
    if agent.manifest.prediction is None:
        judged = agent.code.judge(view, NO_PREDICTION, thresholds)
        return CycleJudgement(possible_judgement(judged, view))
    if prediction is None or prediction.cycle != cycle:
        if not overdue:
            return None
        text = (
            f"no {agent.manifest.prediction} prediction of this cycle arrived before the deadline"
        )
        return CycleJudgement(noop(Reason.PREDICTION_MISSING, text))
    if prediction.reason is not None:
        text = f"inference skipped the {agent.manifest.prediction} prediction: {prediction.reason}"
        return CycleJudgement(noop(Reason.PREDICTION_SKIPPED, text), (prediction.id,))
    judged = agent.code.judge(view, prediction, thresholds)
    return CycleJudgement(possible_judgement(judged, view), (prediction.id,))


def proposal(agent: Agent, profile: str, cycle: OpenCycle, judgement: Judgement) -> Proposal:
    """Return the proposal that a judgement makes."""
    is_proposed = judgement.action.kind is not ActionKind.NOOP
    status = ProposalStatus.PROPOSED if is_proposed else ProposalStatus.NOOP
    return _proposal(agent, profile, cycle, judgement, status)


def superseded_proposal(agent: Agent, profile: str, cycle: OpenCycle) -> Proposal:
    """Return the proposal of a cycle that was not judged because a newer one had begun."""
    judgement = noop(Reason.SUPERSEDED, "not judged: a newer observation had arrived")
    return _proposal(agent, profile, cycle, judgement, ProposalStatus.SKIPPED)


def _proposal(
    agent: Agent, profile: str, cycle: OpenCycle, judgement: Judgement, status: ProposalStatus
) -> Proposal:
    return Proposal(
        cycle=cycle.cycle,
        cluster_time_seconds=cycle.cluster_time_seconds,
        agent=agent.name,
        status=status,
        action=judgement.action.model_copy(update={"agent": agent.name}),
        score=judgement.score,
        priority=agent.manifest.order,
        profile=profile,
        rule=judgement.rule,
        evidence=judgement.evidence,
        reason=judgement.reason,
        text=judgement.text,
        effect=judgement.effect,
        further=tuple(
            wish.model_copy(update={"action": wish.action.model_copy(update={"agent": agent.name})})
            for wish in judgement.further
        ),
        untouched=judgement.untouched,
    )
