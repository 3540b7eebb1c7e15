"""Whole cycles of built events, and how they lie in a log."""

from __future__ import annotations

from typing import Any

from bus.port import Message, StoredMessage
from schemas.actions import ActionKind, Evidence
from schemas.decision import Decision, Override, RefereeRule
from schemas.envelope import Event
from schemas.frames import FullState, apply_frame
from schemas.observation import Observation
from schemas.outcome import AgentRewards, ExecutionPhase, OutcomeReward
from schemas.prediction import PredictionDemand
from schemas.reaction import ReactionItem, ReactionKind
from schemas.reasons import PendingClass, Reason
from schemas.registry import encode
from tests import builders


def one_cycle(cycle: int, previous: FullState | None = None, nodes: int = 24) -> list[Event[Any]]:
    """Return every event of one cycle: safety replicates, admission and efficiency lose."""
    risks = _risks(cycle, nodes)
    hot = max(sorted(risks), key=lambda name: risks[name])
    observed = builders.stamp_event(_observation(cycle, risks, previous))
    proposals = [builders.stamp_event(proposal) for proposal in _proposals(cycle, hot, risks[hot])]
    decision = builders.stamp_event(_decision(cycle, proposals, observed.id))
    return [
        *(builders.stamp_event(one) for one in builders.make_snapshot(nodes, cycle=cycle)),
        observed,
        builders.stamp_event(_reaction(cycle)),
        builders.stamp_event(builders.make_risk(risks, cycle=cycle)),
        builders.stamp_event(builders.make_prediction(PredictionDemand, risks, cycle=cycle)),
        *proposals,
        decision,
        *_outcomes(cycle, decision),
    ]


def _risks(cycle: int, nodes: int) -> dict[str, float]:
    return {f"node-{place:03d}": (place * 37 + cycle * 11) % 97 / 100 for place in range(nodes)}


def _observation(cycle: int, risks: dict[str, float], previous: FullState | None) -> Observation:
    names = list(risks)
    rows: dict[str, dict[str, Any]] = {
        name: {"cpu_requested_ratio": round(0.3 + 0.5 * risks[name], 3), "cpu_used_ratio": 0.31}
        for name in names
    }
    if len(names) > 10:
        rows[names[3]]["power_state"] = "sleep"
        rows[names[7]]["ready"] = False
    return builders.make_observation(
        rows,
        cycle=cycle,
        previous=previous,
        totals={
            "queue_length": 6,
            "sla_violations": 7,
            "completed_tasks": 40 + cycle,
            "pending_by_class": {"insufficient_cpu": 4, "starting": 2},
        },
        signals={
            "node_usage": {"source": "metrics_server", "age_seconds": 22.0},
            "power": {"source": "power_model"},
            "energy_price": {
                "source": "settings",
                "status": "assumed",
                "observed_time_seconds": None,
                "age_seconds": None,
            },
        },
    )


def _decision(cycle: int, proposals: list[Event[Any]], observation_id: str) -> Decision:
    winner = proposals[0]
    risk = winner.data.score
    return builders.make_decision(
        winner.data.action,
        cycle=cycle,
        considered=[builders.make_considered(proposal) for proposal in proposals],
        observation_id=observation_id,
        selected=winner.id,
        score=risk,
        rule=RefereeRule.SAFETY_FIRST,
        rationale=f"AgentA:replicate: risk {risk} >= 0.83; A goes before everything",
        overridden={
            "admission": _override("AgentC:admission:queue", 0.62, 2, risk),
            "efficiency": _override("AgentB:noop", 0.41, 3, risk),
        },
        repeat_count=min(cycle, 3),
    )


def _proposals(cycle: int, hot: str, risk: float) -> list[Any]:
    return [
        builders.make_proposal(
            "safety",
            ActionKind.REPLICATE,
            cycle=cycle,
            target=hot,
            score=risk,
            rule="risk >= 0.83",
            evidence=(_evidence("risk_ratio", risk, ">=", 0.83, subject=hot),),
        ),
        builders.make_proposal(
            "admission",
            ActionKind.ADMISSION,
            cycle=cycle,
            parameters={"admission": "queue"},
            score=0.62,
            rule="cpu pressure >= 0.6 and queue length >= 4",
            evidence=(
                _evidence("cpu_pressure_ratio", 0.62, ">=", 0.6),
                _evidence("queue_length", 6, ">=", 4),
            ),
        ),
        builders.make_proposal(
            "efficiency",
            cycle=cycle,
            score=0.41,
            reason=Reason.NOTHING_TO_DO,
            evidence=(_evidence("demand_ratio", 0.59, "<", 0.45, subject="node-001"),),
        ),
    ]


def _evidence(name: str, value: float, comparison: str, threshold: float, **more: Any) -> Evidence:
    holds = value >= threshold if comparison == ">=" else value < threshold
    return Evidence(
        name=name,
        value=value,
        comparison=comparison,
        threshold=threshold,
        holds=holds,
        age_seconds=0.0,
        **more,
    )


def _override(who: str, score: float, priority: int, winner_score: float) -> Override:
    return Override(
        rule=RefereeRule.SAFETY_FIRST,
        by="safety",
        text=f"{who} lost to AgentA:replicate: agent A goes before everything",
        winner_score=winner_score,
        loser_score=score,
        winner_priority=1,
        loser_priority=priority,
    )


def _reaction(cycle: int) -> Any:
    kinds = (ReactionKind.POD_PENDING, ReactionKind.POD_SCHEDULED, ReactionKind.POD_READY)
    items = tuple(
        ReactionItem(
            kind=kind,
            object=f"openb/task-{cycle:04d}-{number}",
            time_seconds=builders.cycle_time(cycle) - 3 + number,
            lag_seconds=1.5 + number,
            since="created",
            pending_class=PendingClass.INSUFFICIENT_CPU if number == 0 else None,
            text=f"{kind} after {1.5 + number} s",
        )
        for number, kind in enumerate(kinds)
    )
    return builders.make_reaction(cycle=cycle, reactions=items)


def _outcomes(cycle: int, decision: Event[Any]) -> list[Event[Any]]:
    action = decision.data.action
    executions = [
        builders.make_execution(action, cycle=cycle, phase=phase, decision_id=decision.id)
        for phase in (ExecutionPhase.STARTED, ExecutionPhase.FINISHED)
    ]
    verification = builders.make_verification(cycle=cycle, text="3 replicas are ready, 3 wanted")
    told = [*executions, verification, make_reward(cycle)]
    return [builders.stamp_event(one) for one in told]


def make_reward(cycle: int, **fields: Any) -> OutcomeReward:
    """Return the reward of a cycle, a little off what was predicted."""
    swing = (cycle * 7 % 13) / 13
    observed = AgentRewards(
        by_agent={"safety": 0.4 + swing, "efficiency": -0.2, "admission": 0.3}, total=0.52 + swing
    )
    predicted = AgentRewards(
        by_agent={"safety": 0.7, "efficiency": -0.1, "admission": 0.35}, total=0.92
    )
    default: dict[str, Any] = {
        "cycle": cycle,
        "cluster_time_seconds": builders.cycle_time(cycle + 1),
        "decision_id": "",
        "observed_cycle": cycle + 1,
        "action_kind": ActionKind.REPLICATE,
        "selected_agent": "safety",
        "scale": "seed-rewards/1",
        "weights": {"safety": 1.0, "efficiency": 0.6, "admission": 0.8},
        "observed": observed,
        "predicted": predicted,
        "observed_parts": (),
        "predicted_parts": (),
        "mean_total": 0.98,
        "scored": cycle,
    }
    return OutcomeReward(**{**default, **fields})


def cycles(count: int, nodes: int = 24) -> list[Event[Any]]:
    """Return the events of several cycles, observations as keyframes and deltas."""
    events: list[Event[Any]] = []
    full: FullState | None = None
    for cycle in range(1, count + 1):
        made = one_cycle(cycle, full, nodes)
        full = apply_frame(full, made[3].data)
        events += made
    return events


def message_of(event: Event[Any]) -> Message:
    """Return an event as it is published."""
    encoded = encode(event)
    return Message(encoded.subject, encoded.headers, encoded.data)


def stored_messages(events: list[Event[Any]], step_ns: int = 1_000_000_000) -> list[StoredMessage]:
    """Return events as the log holds them, one every `step_ns`."""
    return [
        StoredMessage(seq, seq * step_ns, message.subject, message.headers, message.data)
        for seq, message in enumerate(map(message_of, events), start=1)
    ]
