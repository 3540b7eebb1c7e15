"""The baseline's thresholds, both sides of every boundary, rule by rule."""

from __future__ import annotations

from typing import Any

import pytest

from schemas.actions import ActionKind, AgentName, TargetKind
from schemas.agents import agent_names
from schemas.reasons import Reason
from schemas.view import ObservationView, update_view
from services.agents.admission import policy as admission
from services.agents.admission.thresholds import AdmissionThresholds
from services.agents.efficiency import policy as efficiency
from services.agents.efficiency.thresholds import EfficiencyThresholds
from services.agents.policy import Judgement, NodePrediction
from services.agents.safety import policy as safety
from services.agents.safety.thresholds import SafetyThresholds
from services.agents.settings import AgentSettings
from tests.builders import Rows, make_observation, stamp_event


def full_view(nodes: Rows | int = 3, **options: Any) -> ObservationView:
    """Return the full view of an observation."""
    view = update_view(None, stamp_event(make_observation(nodes, **options)))
    assert view is not None
    return view


def node_prediction(**ratios: float) -> NodePrediction:
    """Return a prediction; keyword `node_1` is node-1."""
    rows = sorted((name.replace("_", "-"), ratio) for name, ratio in ratios.items())
    return NodePrediction(
        id="prediction",
        cycle=1,
        model_id="seed-formula/1",
        ids=tuple(name for name, _ in rows),
        ratios=tuple(ratio for _, ratio in rows),
    )


def judge_safety(risk: float, load: float = 0.9, **totals: int) -> Judgement:
    """Judge one node of given risk and load."""
    row = {"cpu_requested_ratio": load, "memory_requested_ratio": load / 2}
    return safety.judge(
        full_view({"node-0": row}, totals=totals), node_prediction(node_0=risk), SafetyThresholds()
    )


def judge_admission(nodes: Rows | int = 2, **totals: int) -> Judgement:
    """Judge a cluster of given queue and SLA violations."""
    return admission.judge(
        full_view(nodes, totals=totals), node_prediction(), AdmissionThresholds()
    )


@pytest.mark.parametrize(
    ("risk", "kind"),
    [
        (0.0, ActionKind.NOOP),
        (0.499999, ActionKind.NOOP),
        (0.5, ActionKind.THROTTLE),
        (0.699999, ActionKind.THROTTLE),
        (0.7, ActionKind.MIGRATE),
        (0.829999, ActionKind.MIGRATE),
        (0.83, ActionKind.REPLICATE),
        (1.0, ActionKind.REPLICATE),
    ],
)
def test_safety_acts_by_risk(risk: float, kind: ActionKind) -> None:
    """>= 0.83 replicate, >= 0.70 migrate, >= 0.50 throttle, else noop; the score is the risk."""
    proposal = judge_safety(risk)

    assert (proposal.action.kind, proposal.score) == (kind, risk)


@pytest.mark.parametrize(
    ("sla", "queue", "load", "kind"),
    [
        (0, 0, 0.1, ActionKind.THROTTLE),
        (0, 79, 0.1, ActionKind.THROTTLE),
        (0, 80, 0.719999, ActionKind.NOOP),
        (0, 80, 0.72, ActionKind.THROTTLE),
        (1, 0, 0.719999, ActionKind.NOOP),
        (1, 0, 0.72, ActionKind.THROTTLE),
    ],
)
def test_throttle_has_a_gate(sla: int, queue: int, load: float, kind: ActionKind) -> None:
    """Under SLA violations or a long queue, a node below 0.72 load is not throttled."""
    proposal = judge_safety(0.6, load, sla_violations=sla, queue_length=queue)

    assert proposal.action.kind is kind
    assert proposal.reason is (Reason.LOAD_TOO_LOW if kind is ActionKind.NOOP else None)


@pytest.mark.parametrize("risk", [0.7, 0.83])
def test_the_gate_does_not_hold_back_migrate_and_replicate(risk: float) -> None:
    """Only throttle is gated."""
    proposal = judge_safety(risk, load=0.1, sla_violations=5, queue_length=500)

    assert proposal.action.kind is not ActionKind.NOOP


def test_safety_takes_the_riskiest_node_and_the_first_name_on_ties() -> None:
    """Argmax of risk; ties by node name."""
    proposal = safety.judge(
        full_view(4),
        node_prediction(node_0=0.2, node_1=0.9, node_2=0.95, node_3=0.95),
        SafetyThresholds(),
    )

    assert proposal.action.target.name == "node-2"


@pytest.mark.parametrize(
    ("demand", "kind", "parameters"),
    [
        (0.0, ActionKind.POWER_STATE, {"power_state": "sleep"}),
        (0.119999, ActionKind.POWER_STATE, {"power_state": "sleep"}),
        (0.12, ActionKind.DVFS, {"clock_scale_ratio": 0.65}),
        (0.299999, ActionKind.DVFS, {"clock_scale_ratio": 0.65}),
        (0.3, ActionKind.MEMORY_BALLOON, {"memory_scale_ratio": 0.75}),
        (0.449999, ActionKind.MEMORY_BALLOON, {"memory_scale_ratio": 0.75}),
        (0.45, ActionKind.NOOP, {}),
        (1.0, ActionKind.NOOP, {}),
    ],
)
def test_efficiency_acts_by_demand(
    demand: float, kind: ActionKind, parameters: dict[str, Any]
) -> None:
    """< 0.12 sleep, < 0.30 dvfs, < 0.45 memory_balloon, else noop; the score is 1 - demand."""
    proposal = efficiency.judge(
        full_view(1), node_prediction(node_0=demand), EfficiencyThresholds()
    )

    assert proposal.action.kind is kind
    assert proposal.action.parameters == parameters
    assert proposal.score == pytest.approx(1.0 - demand)


@pytest.mark.parametrize("row", [{"power_state": "sleep"}, {"ready": False}])
def test_efficiency_leaves_nodes_alone_that_sleep_or_are_not_ready(row: dict[str, Any]) -> None:
    """Only nodes that are ready and on are considered."""
    view = full_view({"node-0": row, "node-1": {}})
    low = efficiency.judge(view, node_prediction(node_0=0.0, node_1=0.2), EfficiencyThresholds())
    none = efficiency.judge(view, node_prediction(node_0=0.0), EfficiencyThresholds())

    assert low.action.target.name == "node-1"
    assert (none.action.kind, none.reason) == (ActionKind.NOOP, Reason.NO_NODES)


def test_efficiency_takes_the_first_name_on_ties() -> None:
    """Argmin of demand; ties by node name."""
    proposal = efficiency.judge(
        full_view(3), node_prediction(node_0=0.4, node_1=0.2, node_2=0.2), EfficiencyThresholds()
    )

    assert proposal.action.target.name == "node-1"


FULL = {"cpu_requested_ratio": 0.86}
EDGE = {"cpu_requested_ratio": 0.85, "memory_requested_ratio": 0.85}


@pytest.mark.parametrize(
    ("queue", "sla", "nodes", "expected", "score"),
    [
        (120, 0, {"a": {}}, "resource_cap", 1.0),
        (119, 0, {"a": {}}, "deprioritize", 0.95),
        (80, 0, {"a": {}}, "deprioritize", 0.95),
        (79, 0, {"a": {}}, "queue", 0.9),
        (8, 0, {"a": {}}, "queue", 0.9),
        (7, 0, {"a": {}}, "admit", 1.0),
        (7, 1, {"a": {}}, "reject", 0.85),
        (1, 1, {"a": {}}, "reject", 0.85),
        (0, 1, {"a": {}}, "admit", 1.0),
        (0, 0, {"a": FULL, "b": {}}, "resource_cap", 1.0),
        (0, 0, {"a": FULL, "b": {}, "c": {}}, "admit", 0.5),
        (0, 0, {"a": EDGE, "b": EDGE}, "admit", 1.0),
        (0, 0, {"a": {"memory_requested_ratio": 0.850001}}, "resource_cap", 1.0),
    ],
)
def test_admission_acts_by_queue_then_load(
    queue: int, sla: int, nodes: Rows, expected: str, score: float
) -> None:
    """The table of agent C, first match wins, with its scores."""
    proposal = judge_admission(nodes, queue_length=queue, sla_violations=sla)

    assert proposal.action.full_kind.removeprefix("admission:") == expected
    assert proposal.score == score


def test_admission_caps_the_fullest_node() -> None:
    """The greatest max(cpu, memory), ties by name, gets both caps at 0.85."""
    nodes = {
        "a": {"cpu_requested_ratio": 0.6, "memory_requested_ratio": 0.1},
        "c": {"cpu_requested_ratio": 0.1, "memory_requested_ratio": 0.7},
        "b": {"cpu_requested_ratio": 0.7, "memory_requested_ratio": 0.1},
    }

    proposal = judge_admission(nodes, queue_length=120)

    assert (proposal.action.target.kind, proposal.action.target.name) == (TargetKind.NODE, "b")
    assert proposal.action.parameters == {
        "cpu_cap_ratio": 0.85,
        "memory_cap_ratio": 0.85,
    }


def test_admission_aims_at_the_queue() -> None:
    """Every admission word is about the pending pods."""
    target = judge_admission(queue_length=8).action.target

    assert (target.kind, target.name) == (TargetKind.QUEUE, "pending")


def test_a_calm_queue_admits_for_certain_only_below_twenty() -> None:
    """With thresholds that let a longer queue through, 19 is calm and 20 is not."""
    loose = AdmissionThresholds(hold_queue_length=50)

    scores = [
        admission.judge(
            full_view(1, totals={"queue_length": queue}), node_prediction(), loose
        ).score
        for queue in (19, 20)
    ]

    assert scores == [1.0, 0.5]


def test_evidence_lists_every_threshold_tried_with_its_signal_and_age() -> None:
    """Thresholds that did not hold come before the one that did, with value, signal and age."""
    view = full_view(1, signals={"node_requests": {"age_seconds": 3.0}})

    proposal = safety.judge(view, node_prediction(node_0=0.72), SafetyThresholds())

    listed = [
        (
            message.value,
            message.threshold,
            message.holds,
            message.signal,
            message.age_seconds,
            message.subject,
        )
        for message in proposal.evidence
    ]
    assert listed == [
        (0.72, 0.83, False, "node_requests", 3.0, "node-0"),
        (0.72, 0.7, True, "node_requests", 3.0, "node-0"),
    ]
    assert proposal.rule == "risk >= 0.7"


def test_admission_lists_all_its_comparisons_before_it_admits() -> None:
    """An admit shows everything that was not the case."""
    proposal = judge_admission(queue_length=3)

    assert [one.words for one in proposal.evidence] == [
        "queue length >= 120",
        "queue length >= 80",
        "queue length >= 8",
        "sla violations > 0",
        "queue length > 0",
        "overloaded nodes >= 0.5",
        "queue length < 20",
        "overloaded nodes == 0",
    ]


@pytest.mark.parametrize("agent", agent_names())
def test_the_seed_profile_holds_the_seeds_numbers(agent: AgentName) -> None:
    """Default thresholds are those of the profile `baseline-rules`, unchanged, for every agent."""
    assert AgentSettings(profile="baseline-rules").profile_of(agent) == "baseline-rules"
