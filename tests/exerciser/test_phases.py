"""The nine phases: what each puts on the cluster, and the decision that it brings about."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from schemas.actions import ActionKind, AgentName
from schemas.decision import RefereeRule
from schemas.reasons import Reason
from services.exerciser.cluster import load_manifest
from services.exerciser.phases import PHASES, phase_shares
from services.exerciser.plan import LoadPlan, NodeLoad, plan_phase
from services.exerciser.settings import ExerciserSettings
from tests.exerciser.chain import decision_on

GIB = 2**30
FIXED = ExerciserSettings()
DRAWN = [ExerciserSettings(randomise=True, seed=seed) for seed in range(25)]

TABLE = [
    (0, "efficiency", ActionKind.POWER_STATE, "sleep", RefereeRule.EFFICIENCY_BY_SCORE),
    (1, "efficiency", ActionKind.DVFS, None, RefereeRule.EFFICIENCY_BY_SCORE),
    (2, "efficiency", ActionKind.MEMORY_BALLOON, None, RefereeRule.EFFICIENCY_BY_SCORE),
    (3, "safety", ActionKind.THROTTLE, None, RefereeRule.SAFETY_FIRST),
    (4, "safety", ActionKind.MIGRATE, None, RefereeRule.SAFETY_FIRST),
    (5, "safety", ActionKind.REPLICATE, None, RefereeRule.SAFETY_FIRST),
    (6, "admission", ActionKind.ADMISSION, "queue", RefereeRule.ADMISSION_PROTECTS),
    (7, "admission", ActionKind.ADMISSION, "deprioritize", RefereeRule.ADMISSION_PROTECTS),
    (8, "admission", ActionKind.RESOURCE_CAP, None, RefereeRule.ADMISSION_PROTECTS),
]
"""Phase, expected agent, kind, word and referee rule."""


def _node(name: str, cores: int = 16, memory: int = 64, **changes: Any) -> NodeLoad:
    default: dict[str, Any] = {
        "name": name,
        "schedulable": True,
        "cpu_millicores": cores * 1000,
        "memory_bytes": memory * GIB,
        "cpu_requested_millicores": 0,
        "memory_requested_bytes": 0,
        "unhealthy_pods": 0,
        "restarted_pods": 0,
    }
    return NodeLoad(**{**default, **changes})


ALIKE = [_node("a"), _node("b"), _node("c")]
MIXED = [_node("a", 4, 16), _node("b", 96, 384), _node("c", 64, 96), _node("d", 1, 2)]
BUSY = [
    _node("a", cpu_requested_millicores=1600, memory_requested_bytes=GIB),
    _node("b", cpu_requested_millicores=800),
    _node("c", 8, 8, memory_requested_bytes=GIB // 4),
]


def _decision_after(plan: LoadPlan, nodes: Sequence[NodeLoad], waiting: int = 0) -> Any:
    """Return the decision once every pod of the plan is ready, or waits for good."""
    rows: dict[str, dict[str, Any]] = {}
    for node in nodes:
        loads = [load for load in plan.loads if load.node == node.name]
        cpu = node.cpu_requested_millicores + sum(load.cpu_millicores for load in loads)
        memory = node.memory_requested_bytes + sum(load.memory_bytes for load in loads)
        rows[node.name] = {
            "cpu_requested_ratio": cpu / node.cpu_millicores,
            "memory_requested_ratio": memory / node.memory_bytes,
        }
    queue = waiting + sum(load.replicas for load in plan.loads if not load.node)
    return decision_on(rows, queue_length=queue, sla_violations=queue)


@pytest.mark.parametrize("nodes", [ALIKE, MIXED, [_node("only")]], ids=["alike", "mixed", "one"])
@pytest.mark.parametrize(("index", "agent", "kind", "word", "rule"), TABLE)
def test_each_phase_brings_about_what_it_intends(
    nodes: list[NodeLoad],
    index: int,
    agent: AgentName,
    kind: ActionKind,
    word: str | None,
    rule: RefereeRule,
) -> None:
    """Phase, agent, kind and referee rule, on equal nodes, on nodes of all sizes, and on one."""
    phase = PHASES[index]
    assert (phase.agent, phase.kind, phase.rule) == (agent, kind, rule)
    plan = plan_phase(phase, nodes, 0, FIXED)
    assert plan.reason is None
    decision = _decision_after(plan, nodes)
    assert (decision.action.agent, decision.action.kind) == (agent, kind)
    assert decision.action.full_kind == (f"{kind}:{word}" if word else kind)
    assert decision.rule is rule


@pytest.mark.parametrize("index", range(9))
def test_drawn_sizes_bring_about_the_same(index: int) -> None:
    """Whatever is drawn, the decision is the intended one."""
    phase = PHASES[index]
    for settings in DRAWN:
        plan = plan_phase(phase, MIXED, 0, settings)
        assert plan.reason is None, plan.text
        decision = _decision_after(plan, MIXED)
        actual = (decision.action.agent, decision.action.kind, decision.rule)
        assert actual == (phase.agent, phase.kind, phase.rule)


@pytest.mark.parametrize("index", range(9))
def test_what_others_request_counts(index: int) -> None:
    """On nodes that carry load already, a phase adds what is missing and still has its effect."""
    phase = PHASES[index]
    waiting = 0 if phase.agent == "efficiency" else 5
    plan = plan_phase(phase, BUSY, waiting, FIXED)
    assert plan.reason is None, plan.text
    decision = _decision_after(plan, BUSY, waiting=waiting)
    assert (decision.action.agent, decision.action.kind) == (phase.agent, phase.kind)


def test_drawn_sizes_differ_by_seed_and_repeat_by_seed() -> None:
    """Random(seed + phase) makes each phase repeatable by itself."""
    drawn = {phase_shares(PHASES[3], randomise=True, seed=seed) for seed in range(20)}
    assert len(drawn) == 20
    again = {phase_shares(PHASES[3], randomise=True, seed=seed) for seed in range(20)}
    assert drawn == again


@pytest.mark.parametrize(
    ("index", "nodes", "words"),
    [
        (1, [_node("a", cpu_requested_millicores=9000)], "outside the phase's band"),
        (1, [_node("a"), _node("b", schedulable=False)], "takes no pods"),
        (1, [_node(f"n{i}") for i in range(201)], "most_nodes"),
        (3, [_node("a", memory_requested_bytes=63 * GIB)], "outside the phase's band"),
        (3, [_node("a", schedulable=False)], "no node is calm"),
        (3, [_node("a"), _node("b", unhealthy_pods=1)], "higher risk"),
        (6, [_node("a", restarted_pods=2)], "agent A would win"),
        (0, [_node("a", cpu_requested_millicores=8000)], "idlest node"),
        (0, [_node("a", memory_requested_bytes=60 * GIB)], "agent C would win"),
    ],
)
def test_a_phase_that_cannot_work_is_refused_with_the_reason(
    index: int, nodes: list[NodeLoad], words: str
) -> None:
    """A phase that could not show what it intends is not applied, and says why."""
    plan = plan_phase(PHASES[index], nodes, 0, FIXED)
    assert plan.loads == ()
    assert plan.reason in {Reason.PHASE_UNREACHABLE, Reason.NO_NODES}
    assert words in plan.text


def test_a_queue_that_is_long_already_is_not_made_longer() -> None:
    """Pods of others that wait are part of the queue; beyond the band the phase is refused."""
    loads = plan_phase(PHASES[6], ALIKE, 10, FIXED).loads
    assert [(one.kind, one.replicas) for one in loads] == [("Job", 1)] * 2
    assert plan_phase(PHASES[6], ALIKE, 79, FIXED).loads == ()
    assert plan_phase(PHASES[6], ALIKE, 80, FIXED).reason is Reason.PHASE_UNREACHABLE


@pytest.mark.parametrize("index", [0, 1, 2])
def test_efficiency_phases_need_an_empty_queue(index: int) -> None:
    """A single pod that waits makes agent C reject, which beats every saving."""
    assert "agent C would win" in plan_phase(PHASES[index], ALIKE, 1, FIXED).text


def test_without_a_node_there_is_nothing_to_exercise() -> None:
    """A cluster without a ready node refuses every phase."""
    for phase in PHASES:
        assert plan_phase(phase, [], 0, FIXED).reason is Reason.NO_NODES


@pytest.mark.parametrize("index", [1, 3, 4])
def test_each_turn_takes_another_node(index: int) -> None:
    """What acts on one node only so often is brought about on the nodes one after the other."""
    chosen = []
    for turn in range(3):
        loads = plan_phase(PHASES[index], ALIKE, 0, FIXED, turn).loads
        by_cpu = {load.node: load.cpu_millicores for load in loads}
        chosen.append(min(by_cpu, key=lambda name: by_cpu[name]))
    assert sorted(chosen) == ["a", "b", "c"]


def test_a_load_that_is_to_be_moved_is_small_enough_for_another_node() -> None:
    """It goes to a node of which a part fits somewhere else, in parts that no node is bound to."""
    nodes = [_node("big", 96, 384), _node("small", 8, 32)]
    loads = plan_phase(PHASES[4], nodes, 0, FIXED, turn=0).loads
    assert {load.node for load in loads} == {"small"}
    assert (len(loads), {load.movable for load in loads}) == (4, {True})


def test_waiting_jobs_leave_a_queue_within_the_band_when_they_are_held() -> None:
    """The Deployment's pods that go on waiting are enough for the same decision."""
    for index in (6, 7):
        phase = PHASES[index]
        loads = plan_phase(phase, ALIKE, 0, FIXED).loads
        rest = sum(load.replicas for load in loads if load.kind == "Deployment")
        assert phase.queue_band[0] <= rest < sum(load.replicas for load in loads) == phase.queue


@pytest.mark.parametrize(("index", "fixed"), [(1, False), (2, True)])
def test_what_is_acted_on_asks_for_nothing(index: int, fixed: bool) -> None:
    """One node's load may be disturbed; where memory is cut, that load restarts for it, so that the node is tainted."""
    loads = plan_phase(PHASES[index], ALIKE, 0, FIXED).loads
    (acted_on,) = (load for load in loads if not load.protected)
    (container,) = load_manifest(acted_on, "a:1", {})["spec"]["template"]["spec"]["containers"]
    policy = [{"resourceName": "memory", "restartPolicy": "RestartContainer"}] if fixed else None
    assert container.get("resizePolicy") == policy
