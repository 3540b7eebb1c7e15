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
from services.agents.foreseen import NOTHING_FORESEEN
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
    prediction_overdue: bool = False
    """Whether it was made without the prediction of its own cycle, since that did not come in time."""
    left_out_models: tuple[str, ...] = ()
    """Models whose forecasts were left out, since they are back in shadow."""


def judge_value_cycle(
    agent: Agent,
    limit_intervals: float,
    cycle: int,
    state: AgentState,
    settings: ValueSettings,
    *,
    overdue: bool,
) -> CycleJudgement | None:
    """Return what the agent thinks of `cycle` by expected value; None while it should wait for what is foreseen.

    When the deadline is over it judges by what was foreseen before, and says so: reacting never waits for a forecast.
    """
    view, foreseen = state.view, state.foreseen
    if view is None or view.cycle != cycle or state.memory is None:
        return CycleJudgement(noop(Reason.MISSING_SIGNAL, NOT_KNOWN_YET))
    refused = refusal(view, agent.code.signals, limit_intervals)
    if refused is not None:
        return CycleJudgement(refused)
    is_late = settings.forecast and (foreseen is None or foreseen.cycle != cycle)
    if is_late and not overdue:
        return None
    situation = PolicyInput(view, state.memory, settings, foreseen or NOTHING_FORESEEN)
    judgement = judge_by_value(agent.code.appraise, situation)
    left_out = situation.foreseen.silenced
    return CycleJudgement(judgement, predictions_behind(judgement), is_late, left_out)


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


def predictions_behind(judgement: Judgement) -> tuple[str, ...]:
    """Return the ids of the predictions that what is wanted rests on, each once."""
    grounds = (judgement.forecast, *(wish.forecast for wish in judgement.further))
    ids = (each for ground in grounds if ground is not None for each in ground.prediction_ids)
    return tuple(dict.fromkeys(ids))


def proposal(agent: Agent, profile: str, cycle: OpenCycle, judged: CycleJudgement) -> Proposal:
    """Return the proposal that a judgement makes."""
    is_proposed = judged.judgement.action.kind is not ActionKind.NOOP
    status = ProposalStatus.PROPOSED if is_proposed else ProposalStatus.NOOP
    made = _proposal(agent, profile, cycle, judged.judgement, status)
    update = {
        "prediction_overdue": judged.prediction_overdue,
        "left_out_models": judged.left_out_models,
    }
    return made.model_copy(update=update) if any(update.values()) else made


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
        forecast=judgement.forecast,
        further=tuple(
            wish.model_copy(update={"action": wish.action.model_copy(update={"agent": agent.name})})
            for wish in judgement.further
        ),
        untouched=judgement.untouched,
    )
