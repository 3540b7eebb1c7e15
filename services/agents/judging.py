"""From the newest state to one judgement: gates first, then the policy. Pure.

The gates, in order: the observation is complete, its signals are fresh, the prediction is there and
is a result. Each gate that closes gives a noop with its reason, so that an agent never says nothing
and never guesses.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from schemas.actions import Action, ActionKind
from schemas.proposal import Proposal, ProposalStatus
from schemas.reasons import Reason
from schemas.view import ObservationView, OpenCycle
from services.agents.freshness import refusal
from services.agents.policy import Judgement, Policy, Prediction, noop
from services.agents.thresholds import Thresholds

NO_PREDICTION = Prediction(id="", cycle=0, model_id="")
"""What a policy gets that asked for none."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A judgement, and the prediction it rests on."""

    judgement: Judgement
    prediction_ids: tuple[str, ...] = ()


def answer(
    policy: Policy[Any],
    thresholds: Thresholds,
    limit_intervals: float,
    cycle: int,
    view: ObservationView | None,
    prediction: Prediction | None,
    *,
    overdue: bool,
) -> Answer | None:
    """Return what the agent thinks of `cycle`; None while it should wait for the prediction."""
    if view is None or view.cycle != cycle:
        text = "the full observation is not known yet; waiting for a keyframe"
        return Answer(noop(Reason.MISSING_SIGNAL, text))
    refused = refusal(view, policy.signals, limit_intervals)
    if refused is not None:
        return Answer(refused)
    if policy.prediction is None:
        return Answer(policy.judge(view, NO_PREDICTION, thresholds))
    if prediction is None or prediction.cycle != cycle:
        if not overdue:
            return None
        text = f"no {policy.prediction} prediction of this cycle arrived before the deadline"
        return Answer(noop(Reason.PREDICTION_MISSING, text))
    if prediction.reason is not None:
        text = f"inference skipped the {policy.prediction} prediction: {prediction.reason}"
        return Answer(noop(Reason.PREDICTION_SKIPPED, text), (prediction.id,))
    return Answer(policy.judge(view, prediction, thresholds), (prediction.id,))


def proposal(policy: Policy[Any], profile: str, cycle: OpenCycle, found: Judgement) -> Proposal:
    """Return the proposal that a judgement makes."""
    wanted = found.kind is not ActionKind.NOOP
    return _proposal(
        policy, profile, cycle, found, ProposalStatus.PROPOSED if wanted else ProposalStatus.NOOP
    )


def superseded(policy: Policy[Any], profile: str, cycle: OpenCycle) -> Proposal:
    """Return the proposal of a cycle that was not judged because a newer one had begun."""
    found = noop(Reason.SUPERSEDED, "not judged: a newer observation had arrived")
    return _proposal(policy, profile, cycle, found, ProposalStatus.SKIPPED)


def _proposal(
    policy: Policy[Any], profile: str, cycle: OpenCycle, found: Judgement, status: ProposalStatus
) -> Proposal:
    return Proposal(
        cycle=cycle.cycle,
        cluster_time_seconds=cycle.cluster_time_seconds,
        agent=policy.agent,
        status=status,
        action=Action(
            agent=policy.agent, kind=found.kind, target=found.target, parameters=found.parameters
        ),
        score=found.score,
        priority=policy.priority,
        profile=profile,
        rule=found.rule,
        evidence=found.evidence,
        reason=found.reason,
        text=found.text,
    )
