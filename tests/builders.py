"""Builders of valid event data for tests.

Every field has a sensible default, any of them can be overridden by name.

`make_*` return event data (frozen models); `stamped` gives them an id and a subject, as a producer
would; `stored` also sends them through the encoder and decoder, as the log would.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from schemas.actions import Action, ActionKind, AgentName
from schemas.config import Config, config_hash
from schemas.control import Command, Control
from schemas.decision import ClosedBy, Considered, Decision, DecisionPart, RefereeRule
from schemas.envelope import Event, NewEvent, stamp
from schemas.frames import FullState, frame_of
from schemas.identity import Origin
from schemas.model import EventData
from schemas.observation import ClusterTotals, Observation, ObservedNodes, ObservedPods
from schemas.outcome import (
    ExecutionPhase,
    Mode,
    OutcomeExecution,
    OutcomeVerification,
    VerificationStatus,
)
from schemas.prediction import DemandTable, Prediction, PredictionDemand, PredictionRisk, RiskTable
from schemas.proposal import Proposal, ProposalStatus
from schemas.reaction import Reaction
from schemas.registry import decode, encode
from schemas.signals import Signal, SignalStatus
from schemas.stimulus import Stimulus
from schemas.tables import table_of
from schemas.upcast import PART_FIELDS
from tests.action_builder import make_action
from tests.builder_rows import (
    GIB,
    INTERVAL_SECONDS,
    NODE,
    POD,
    START_SECONDS,
    Rows,
    cycle_time,
    fill_rows,
    make_snapshot,
)

__all__ = [
    "GIB",
    "INTERVAL_SECONDS",
    "NODE",
    "POD",
    "START_SECONDS",
    "Rows",
    "cycle_time",
    "fill_rows",
    "make_action",
    "make_snapshot",
]
"""What comes from `tests.builder_rows` and `tests.action_builder` and is offered here too."""

ORIGIN = Origin("test", "1")
PRIORITIES = {"safety": 1, "admission": 2, "efficiency": 3}


def stamp_event(
    data: EventData,
    *,
    cycle: int | None = None,
    causes: Sequence[str] = (),
    producer: str | None = None,
    origin: Origin = ORIGIN,
    seq: int = 0,
    hash_of_config: str = "0" * 16,
) -> Event[Any]:
    """Return `data` as an event; cycle and producer come from the data unless given."""
    about: int = getattr(data, "cycle", 0) if cycle is None else cycle
    who = producer or producer_of(data)
    time_seconds = getattr(data, "cluster_time_seconds", None) or cycle_time(about)
    event = stamp(NewEvent(data, about, time_seconds, tuple(causes)), origin, who, hash_of_config)
    return as_stored(event, seq=seq) if seq else event


def as_stored(event: Event[Any], *, seq: int, recorded_ns: int = 0) -> Event[Any]:
    """Return an event as a reader of the log gets it."""
    encoded = encode(event)
    return decode(encoded.subject, encoded.headers, encoded.data, seq=seq, recorded_ns=recorded_ns)


def producer_of(data: EventData) -> str:
    """Return the process that publishes this data."""
    if isinstance(data, Proposal):
        return f"agent-{data.agent}"
    return str(getattr(data, "process", data.WRITER))


def observed_nodes(rows: Rows | int = 3) -> ObservedNodes:
    """Return a node table; power follows the baseline's model unless given."""
    complete = fill_rows(rows, {**NODE, "power_watts": None})
    for row in complete.values():
        if row["power_watts"] is None:
            row["power_watts"] = (
                80.0 + 120.0 * row["cpu_requested_ratio"] + 60.0 * row["memory_requested_ratio"]
            )
    return table_of(ObservedNodes, complete)


def observed_pods(rows: Rows | int = 0) -> ObservedPods:
    """Return a pod table."""
    return table_of(ObservedPods, fill_rows(rows, POD, "default/pod"))


def make_signal(name: str = "node_requests", **fields: Any) -> Signal:
    """Return a fresh signal of age zero."""
    default: dict[str, Any] = {
        "name": name,
        "source": "kubernetes_api",
        "status": SignalStatus.FRESH,
        "observed_time_seconds": START_SECONDS,
        "age_seconds": 0.0,
        "simulated": True,
    }
    return Signal(**{**default, **fields})


def make_signals(**changes: Mapping[str, Any] | None) -> tuple[Signal, ...]:
    """Return the usual signals; a keyword changes the fields of one (None leaves it out)."""
    names = ("node_requests", "node_usage", "pods", "power", "energy_price")
    return tuple(
        make_signal(name, **(changes.get(name) or {}))
        for name in names
        if not (name in changes and changes[name] is None)
    )


def make_totals(nodes: ObservedNodes, **fields: Any) -> ClusterTotals:
    """Return totals that fit the nodes; queue and SLA violations are zero unless given."""
    count = max(1, len(nodes))
    default: dict[str, Any] = {
        "nodes": len(nodes),
        "nodes_ready": sum(nodes.ready),
        "nodes_schedulable": sum(nodes.schedulable),
        "pods_running": sum(nodes.pods),
        "pods_total": sum(nodes.pods),
        "queue_length": 0,
        "sla_violations": 0,
        "completed_tasks": 0,
        "pending_by_class": {},
        "cpu_requested_ratio": math.fsum(nodes.cpu_requested_ratio) / count,
        "memory_requested_ratio": math.fsum(nodes.memory_requested_ratio) / count,
        "energy_watts": math.fsum(nodes.power_watts),
        "energy_price": 0.1,
    }
    return ClusterTotals(**{**default, **fields})


def make_observation(
    nodes: Rows | int = 3,
    *,
    cycle: int = 1,
    pods: Rows | int = 0,
    totals: Mapping[str, Any] | None = None,
    signals: Mapping[str, Mapping[str, Any] | None] | None = None,
    expected_agents: Sequence[AgentName] = ("safety", "efficiency", "admission"),
    previous: FullState | None = None,
    keyframe_every: int = 20,
    **fields: Any,
) -> Observation:
    """Return an observation; nodes are rows by name, or how many of them.

    A keyframe, unless `previous` (what `schemas.frames.apply_frame` returned for the one before) is
    given.
    """
    table = observed_nodes(nodes)
    default: dict[str, Any] = {
        "cluster_time_seconds": cycle_time(cycle),
        "interval_seconds": INTERVAL_SECONDS,
        "expected_agents": tuple(expected_agents),
        "namespaces": (),
        "totals": make_totals(table, **(totals or {})),
        "signals": make_signals(**(signals or {})),
    }
    return frame_of(
        Observation,
        {"nodes": table, "pods": observed_pods(pods)},
        cycle=cycle,
        previous=previous,
        keyframe_every=keyframe_every,
        **{**default, **fields},
    )


def make_prediction(
    kind: type[Prediction] = PredictionRisk,
    ratios: Mapping[str, float] | None = None,
    *,
    cycle: int = 1,
    **fields: Any,
) -> Any:
    """Return a prediction (`PredictionRisk` or `PredictionDemand`) with ratios by node."""
    values = {"node-0": 0.1} if ratios is None else ratios
    table: type[RiskTable | DemandTable] = RiskTable if kind is PredictionRisk else DemandTable
    column = "risk_ratio" if kind is PredictionRisk else "demand_ratio"
    default: dict[str, Any] = {
        "cycle": cycle,
        "cluster_time_seconds": cycle_time(cycle),
        "status": "result",
        "model_id": "seed-formula/1",
        "horizon_seconds": 60.0,
        "features_hash": "0" * 64,
        "calibrated": False,
        "nodes": table_of(table, {name: {column: value} for name, value in values.items()}),
    }
    return kind(**{**default, **fields})


def make_risk(
    ratios: Mapping[str, float] | None = None, *, cycle: int = 1, **fields: Any
) -> PredictionRisk:
    """Return a risk prediction with ratios by node."""
    made: PredictionRisk = make_prediction(PredictionRisk, ratios, cycle=cycle, **fields)
    return made


def make_demand(
    ratios: Mapping[str, float] | None = None, *, cycle: int = 1, **fields: Any
) -> PredictionDemand:
    """Return a demand prediction with ratios by node."""
    made: PredictionDemand = make_prediction(PredictionDemand, ratios, cycle=cycle, **fields)
    return made


def make_proposal(
    agent: AgentName = "safety",
    kind: ActionKind = ActionKind.NOOP,
    *,
    cycle: int = 1,
    target: str = "",
    parameters: Mapping[str, Any] | None = None,
    score: float = 0.5,
    **fields: Any,
) -> Proposal:
    """Return a proposal of one agent; a noop unless a kind is given."""
    default: dict[str, Any] = {
        "cycle": cycle,
        "cluster_time_seconds": cycle_time(cycle),
        "agent": agent,
        "status": ProposalStatus.NOOP if kind is ActionKind.NOOP else ProposalStatus.PROPOSED,
        "action": make_action(agent, kind, target, **(parameters or {})),
        "score": score,
        "priority": PRIORITIES.get(agent, 9),
        "profile": "baseline-rules",
        "rule": "",
        "text": f"{agent} wants {kind}",
    }
    return Proposal(**{**default, **fields})


def make_considered(event: Event[Any]) -> Considered:
    """Return a stamped proposal as a decision lists it."""
    data: Proposal = event.data
    return Considered(
        id=event.id,
        agent=data.agent,
        status=data.status,
        kind=data.action.kind,
        target=data.action.target,
        score=data.score,
        priority=data.priority,
        rule=data.rule,
        text=data.text,
        reason=data.reason,
        evidence=data.evidence,
    )


def make_decision(
    action: Action | None = None,
    *,
    cycle: int = 1,
    considered: Sequence[Considered] = (),
    **fields: Any,
) -> Decision:
    """Return a decision; the referee's own noop unless an action is given."""
    default: dict[str, Any] = {
        "cycle": cycle,
        "cluster_time_seconds": cycle_time(cycle),
        "observation_id": "00000000-0000-5000-8000-000000000000",
        "closed_by": ClosedBy.ALL,
        "rule": RefereeRule.FIXED_ORDER if action else RefereeRule.NO_PROPOSALS,
        "rationale": "made for a test",
        "considered": tuple(considered),
        "overridden": {},
        "missing": (),
        "repeat_count": 1,
        "profile": "baseline-rules",
    }
    part = {"action": action or make_action(), "selected": None, "score": 0.0}
    part |= {name: fields.pop(name) for name in PART_FIELDS if name in fields}
    return Decision(**{"parts": (DecisionPart(**part),), **default, **fields})


def make_execution(
    action: Action | None = None,
    *,
    cycle: int = 1,
    phase: ExecutionPhase = ExecutionPhase.FINISHED,
    decision_id: str = "",
    **fields: Any,
) -> OutcomeExecution:
    """Return an execution without operations."""
    default: dict[str, Any] = {
        "cycle": cycle,
        "cluster_time_seconds": cycle_time(cycle),
        "decision_id": decision_id,
        "phase": phase,
        "mode": Mode.ACTIVE,
        "action": action or make_action(),
        "succeeded": True if phase is ExecutionPhase.FINISHED else None,
        "text": "made for a test",
    }
    return OutcomeExecution(**{**default, **fields})


def make_verification(*, cycle: int = 1, **fields: Any) -> OutcomeVerification:
    """Return a verification that held in the next observation."""
    default: dict[str, Any] = {
        "cycle": cycle,
        "cluster_time_seconds": cycle_time(cycle + 1),
        "decision_id": "",
        "execution_id": "",
        "observed_cycle": cycle + 1,
        "status": VerificationStatus.VERIFIED,
        "checks": (),
        "lag_seconds": INTERVAL_SECONDS,
        "text": "made for a test",
    }
    return OutcomeVerification(**{**default, **fields})


def make_reaction(*, cycle: int = 1, **fields: Any) -> Reaction:
    """Return the reactions of a cycle in which nothing happened."""
    return Reaction(
        **{"cycle": cycle, "cluster_time_seconds": cycle_time(cycle), "reactions": (), **fields}
    )


def make_stimulus(phase: int = 0, *, cycle: int = 1, **fields: Any) -> Stimulus:
    """Return one applied phase of the exerciser."""
    default: dict[str, Any] = {
        "cycle": cycle,
        "cluster_time_seconds": cycle_time(cycle),
        "sequence": phase,
        "status": "applied",
        "phase": phase,
        "name": f"phase-{phase}",
        "intended_agent": None,
        "intended_kind": None,
        "intended_rule": "",
        "namespace": "foresail-exercise",
        "text": "made for a test",
    }
    return Stimulus(**{**default, **fields})


def make_control(command: Command = Command.KILL, *, nonce: str = "1", **fields: Any) -> Control:
    """Return a command of the operator."""
    return Control(
        **{"command": command, "nonce": nonce, "wall_time_seconds": START_SECONDS, **fields}
    )


def make_config(process: str = "referee", **settings: Any) -> Config:
    """Return the announcement of a process."""
    return Config(
        process=process,
        settings=settings,
        config_hash=config_hash(settings, "foresail/test"),
        code_version="foresail/test",
    )
