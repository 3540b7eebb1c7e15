"""`foresail explain` on every reason for which nothing, or not all, was executed."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from projections.switchback.schedule import SwitchbackSettings
from schemas.actions import ActionKind
from schemas.control import EVERYTHING, Command
from schemas.decision import DecisionPart
from schemas.outcome import Mode, OutcomeExecution, OutcomeVerification
from schemas.reasons import Reason
from services.cluster import ClusterRefused
from services.executor.settings import Caps, DisruptionBudget
from tests.builders import cycle_time, make_action, make_considered, make_decision
from tests.executor.example_guard import files_added
from tests.explain.lacking import LACKING
from tests.explain.refused_writes import REFUSED_WRITES
from tests.explain.theatre import ALL, CALM, Theatre
from tests.score_events import make_breaker, make_breaker_change

APPLY_PATCH = "application/apply-patch+yaml"
MERGE = "application/merge-patch+json"
Case = Callable[[Theatre], Awaitable[None]]
CASES: dict[Reason, tuple[Case, dict[str, Any]]] = LACKING | REFUSED_WRITES


def case(reason: Reason, **executor: Any) -> Callable[[Case], Case]:
    """Register how a reason comes about, under settings of the executor."""

    def register(play: Case) -> Case:
        CASES[reason] = (play, executor)
        return play

    return register


async def sleep(theatre: Theatre, node: str = "node-0", score: float = 0.9) -> None:
    """Play a cycle in which B alone wants a node to sleep."""
    kind = ActionKind.POWER_STATE
    await theatre.order("efficiency", kind, node, score, power_state="sleep")


async def wake(theatre: Theatre, score: float = 0.5) -> None:
    """Play a cycle in which B alone wants node-0 back."""
    kind = ActionKind.POWER_STATE
    await theatre.order("efficiency", kind, "node-0", score, power_state="on")


async def migrate(theatre: Theatre) -> None:
    """Play a cycle in which A alone wants pods off node-0."""
    await theatre.order("safety", ActionKind.MIGRATE, "node-0")


async def replicate(theatre: Theatre, node: str = "node-0") -> None:
    """Play a cycle in which A alone wants a replica of what runs on a node."""
    await theatre.order("safety", ActionKind.REPLICATE, node)


@case(Reason.KILL_SWITCH)
async def killed(theatre: Theatre) -> None:
    theatre.control(Command.KILL)
    await sleep(theatre)


@case(Reason.PAUSED)
async def paused(theatre: Theatre) -> None:
    theatre.control(Command.PAUSE)
    await sleep(theatre)


@case(Reason.TAKEN_BACK)
async def taken_back(theatre: Theatre) -> None:
    theatre.observe(expected=("efficiency",))
    theatre.propose("efficiency", ActionKind.POWER_STATE, "node-0", power_state="sleep")
    theatre.control(Command.UNDO, EVERYTHING)
    theatre.decide(without=("inference", *(f"agent-{one}" for one in ALL)))
    await theatre.execute()


@case(Reason.SHADOW_MODE, mode=Mode.SHADOW)
async def in_shadow_mode(theatre: Theatre) -> None:
    await sleep(theatre)
    theatre.observe()
    theatre.observe()
    await theatre.execute()
    theatre.cycle = 1


@case(Reason.COOL_DOWN, mode=Mode.SHADOW)
async def cooling_down(theatre: Theatre) -> None:
    await sleep(theatre)
    await sleep(theatre)


@case(Reason.COOL_DOWN_AFTER_FAILURE)
async def cooling_down_after_failure(theatre: Theatre) -> None:
    theatre.transport.refuses = ClusterRefused(500, "InternalError", "etcd is slow")
    await sleep(theatre)
    theatre.transport.refuses = None
    kind = ActionKind.DVFS
    await theatre.order("efficiency", kind, "node-0", 0.9, clock_scale_ratio=0.65)


@case(Reason.BUDGET_EXHAUSTED, budgets=(DisruptionBudget(nodes="1"),), least_ready_ratio=0.0)
async def budget_used_up(theatre: Theatre) -> None:
    await sleep(theatre)
    await sleep(theatre, "node-1")


@case(Reason.SETTLING, settle_seconds=60.0)
async def just_started(theatre: Theatre) -> None:
    await sleep(theatre)


@case(Reason.UNREADY_NODES, unready_ratio=0.55)
async def most_nodes_unready(theatre: Theatre) -> None:
    dark = {name: {"ready": False} for name in CALM}
    theatre.observe(dark, expected=("efficiency",))
    theatre.propose("efficiency", ActionKind.POWER_STATE, "node-0", power_state="sleep")
    theatre.decide(without=("inference", *(f"agent-{one}" for one in ALL)))
    await theatre.execute()


@case(Reason.CAP_PER_NODE, caps=Caps(per_node=1))
async def node_had_its_share(theatre: Theatre) -> None:
    await sleep(theatre)
    kind = ActionKind.DVFS
    await theatre.order("efficiency", kind, "node-0", 0.9, clock_scale_ratio=0.65)


@case(Reason.CAP_PER_NAMESPACE, caps=Caps(per_namespace=1))
async def namespace_had_its_share(theatre: Theatre) -> None:
    theatre.deploy("web", 1)
    theatre.deploy("api", 1, "node-1")
    await replicate(theatre)
    await replicate(theatre, "node-1")


@case(Reason.CAP_PER_WORKLOAD, caps=Caps(per_workload=1), cool_down_seconds=0.0)
async def workload_had_its_share(theatre: Theatre) -> None:
    theatre.deploy("web", 1)
    await replicate(theatre)
    await replicate(theatre)


async def give_replicas(theatre: Theatre, replicas: int) -> None:
    """Play a cycle in which A alone wants so many replicas of `web`."""
    web = "default/Deployment/web"
    await theatre.order("safety", ActionKind.REPLICATE, web, replicas=replicas)


@case(Reason.CAP_SURGE_RATIO, caps=Caps(surge_ratio=3.0))
async def too_many_replicas(theatre: Theatre) -> None:
    theatre.deploy("web", 1)
    await give_replicas(theatre, 4)


@case(Reason.CAP_SURGE_PODS, caps=Caps(surge_pods="1"))
async def too_many_added_pods(theatre: Theatre) -> None:
    theatre.deploy("web", 1)
    await give_replicas(theatre, 3)


@case(Reason.NOT_RAISED)
async def fewer_than_the_owner_wants(theatre: Theatre) -> None:
    theatre.deploy("web", 2)
    await give_replicas(theatre, 1)


@case(Reason.OWNER_CHANGED)
async def somebody_else_scales(theatre: Theatre) -> None:
    theatre.deploy("web", 2)
    await give_replicas(theatre, 3)
    path, fewer = "/apis/apps/v1/namespaces/default/deployments/web", {"spec": {"replicas": 1}}
    theatre.request("PATCH", path, json.dumps(fewer).encode(), MERGE)
    await give_replicas(theatre, 4)


@case(Reason.AUTOSCALER_MAXIMUM)
async def autoscaler_at_its_maximum(theatre: Theatre) -> None:
    theatre.deploy("web", 2)
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    spec = {"scaleTargetRef": target, "minReplicas": 1, "maxReplicas": 2}
    path = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers"
    body = {"metadata": {"name": "web"}, "spec": spec}
    theatre.request("POST", path, json.dumps(body).encode())
    await give_replicas(theatre, 3)


@case(Reason.AUTOSCALED)
async def an_autoscaler_scales_by_use_of_the_request(theatre: Theatre) -> None:
    theatre.deploy("web", 2)
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    spec = {"scaleTargetRef": target, "minReplicas": 1, "maxReplicas": 2}
    path = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers"
    body = {"metadata": {"name": "web"}, "spec": spec}
    theatre.request("POST", path, json.dumps(body).encode())
    await theatre.order(
        "efficiency", ActionKind.RESIZE, "default/Deployment/web", cpu_request_cores=0.1
    )


@case(Reason.QUOTA_EXHAUSTED)
async def quota_in_use(theatre: Theatre) -> None:
    theatre.deploy("web", 2)
    body = {"metadata": {"name": "small"}, "spec": {"hard": {"pods": "2"}}}
    theatre.request("POST", "/api/v1/namespaces/default/resourcequotas", json.dumps(body).encode())
    theatre.engine.advance(theatre.engine.now + 60)
    await give_replicas(theatre, 3)


@case(Reason.PING_PONG)
async def there_and_back(theatre: Theatre) -> None:
    await sleep(theatre)
    await wake(theatre)


@case(Reason.SWITCHBACK, switchback=SwitchbackSettings(unit="time", block_seconds=86_400.0, seed=0))
async def in_a_block_that_does_not_act(theatre: Theatre) -> None:
    await sleep(theatre)


@case(Reason.BREAKER)
async def after_a_breaker_has_tripped(theatre: Theatre) -> None:
    theatre.tell(make_breaker_change(make_breaker("power_state"), cycle=1), 1, "scoreboard")
    await sleep(theatre)


@case(Reason.STALE_DECISION)
async def too_old(theatre: Theatre) -> None:
    theatre.observe(expected=("efficiency",))
    theatre.propose("efficiency", ActionKind.POWER_STATE, "node-0", power_state="sleep")
    theatre.decide(without=("inference", "agent-efficiency"))
    for _ in range(3):
        theatre.observe(expected=("efficiency",))
    await theatre.execute()
    theatre.cycle = 1


@case(Reason.TARGET_GONE)
async def node_gone(theatre: Theatre) -> None:
    theatre.request("DELETE", "/api/v1/nodes/node-0")
    await sleep(theatre)


@case(Reason.TARGET_CHANGED)
async def node_changed(theatre: Theatre) -> None:
    """What was done is to be taken back, but somebody has changed it since."""
    await sleep(theatre)
    awake = {"spec": {"unschedulable": None}}
    theatre.request("PATCH", "/api/v1/nodes/node-0", json.dumps(awake).encode(), MERGE)
    theatre.control(Command.UNDO, "1")
    await theatre.execute()


@case(Reason.ALREADY_IN_STATE)
async def asleep_already(theatre: Theatre) -> None:
    state = {"metadata": {"annotations": {"foresail.dev/power-state": "sleep"}}}
    cordon = {**state, "spec": {"unschedulable": True}}
    theatre.request("PATCH", "/api/v1/nodes/node-0", json.dumps(cordon).encode(), MERGE)
    await sleep(theatre)


@case(Reason.NO_MOVABLE_POD)
async def nothing_to_move(theatre: Theatre) -> None:
    await migrate(theatre)


@case(Reason.NO_WORKLOAD)
async def nothing_to_replicate(theatre: Theatre) -> None:
    await replicate(theatre)


@case(Reason.NODE_NOT_EMPTY)
async def node_at_work(theatre: Theatre) -> None:
    theatre.deploy("web", 2)
    await sleep(theatre)


@case(Reason.LAST_READY_NODES, least_ready_ratio=1.0)
async def last_nodes(theatre: Theatre) -> None:
    await sleep(theatre)


@case(Reason.PROTECTED)
async def protected(theatre: Theatre) -> None:
    marked = {"metadata": {"annotations": {"foresail.dev/do-not-disrupt": "true"}}}
    theatre.request("PATCH", "/api/v1/nodes/node-0", json.dumps(marked).encode(), MERGE)
    await sleep(theatre)


@case(Reason.NAMESPACE_NOT_NAMED, namespaces=("shop",))
async def another_namespace(theatre: Theatre) -> None:
    theatre.deploy("web", 2)
    await migrate(theatre)


@case(Reason.NODE_NOT_NAMED, namespaces=("shop",))
async def node_of_everybody(theatre: Theatre) -> None:
    await sleep(theatre)


@case(Reason.CONTROL_PLANE)
async def node_of_the_control_plane(theatre: Theatre) -> None:
    role = {"metadata": {"labels": {"node-role.kubernetes.io/control-plane": ""}}}
    theatre.request("PATCH", "/api/v1/nodes/node-0", json.dumps(role).encode(), MERGE)
    await sleep(theatre)


@case(Reason.GUARD_REFUSED)
async def by_a_guard_without_a_reason_of_its_own(theatre: Theatre) -> None:
    with files_added():
        await sleep(theatre)


@case(Reason.FIELD_OWNED)
async def applied_by_somebody(theatre: Theatre) -> None:
    """Flux applies the number of replicas."""
    theatre.deploy("web", 1)
    wanted = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web"},
        "spec": {"replicas": 1},
    }
    path = "/apis/apps/v1/namespaces/default/deployments/web"
    query = {"fieldManager": "kustomize-controller", "force": "true"}
    theatre.request("PATCH", path, json.dumps(wanted).encode(), APPLY_PATCH, query)
    await give_replicas(theatre, 2)


@case(Reason.ABANDONED_AFTER_RESTART)
async def abandoned(theatre: Theatre) -> None:
    """The executor dies behind its plan and comes back three cycles later."""
    await sleep(theatre)
    (finished,) = [
        event for event in theatre.events if getattr(event.data, "phase", "") == "finished"
    ]
    theatre.forget(finished.id)
    for _ in range(3):
        theatre.observe(expected=("efficiency",))
    theatre.restart()
    await theatre.execute()
    theatre.cycle = 1


@case(Reason.EARLIER_PART)
async def touched_by_an_earlier_part(theatre: Theatre) -> None:
    """A decision asks for two things of one node."""
    theatre.observe(expected=("efficiency",))
    kind = ActionKind.POWER_STATE
    theatre.propose("efficiency", kind, "node-0", power_state="sleep")
    proposal = theatre.events[-1]
    slower = make_action("efficiency", ActionKind.DVFS, "node-0", clock_scale_ratio=0.5)
    parts = tuple(
        DecisionPart(action=action, selected=proposal.id, score=0.9)
        for action in (proposal.data.action, slower)
    )
    decision = make_decision(cycle=1, parts=parts, considered=[make_considered(proposal)])
    theatre.tell(decision, 1, "referee", (theatre.events[0].id, proposal.id))
    await theatre.execute()


@case(Reason.REPLAYED_LOG, cluster="replay-1")
async def replayed(theatre: Theatre) -> None:
    await sleep(theatre)


GUARDED = tuple(
    reason
    for reason in Reason
    if list(Reason).index(Reason.KILL_SWITCH)
    <= list(Reason).index(reason)
    <= list(Reason).index(Reason.REPLAYED_LOG)
)
"""Every reason of the executor, as the enum groups them."""


def test_no_reason_is_left_out() -> None:
    """A new reason of the executor needs a screen, too."""
    assert set(CASES) == set(GUARDED)


@pytest.mark.parametrize("reason", GUARDED, ids=str)
async def test_each_reason_is_explained(reason: Reason) -> None:
    """The reason stands in the events and on the screen, which is the golden one."""
    play, executor = CASES[reason]
    theatre = Theatre(**executor)
    await play(theatre)
    told = [event.data for event in theatre.events if event.cycle == theatre.cycle]
    outcomes = [one for one in told if isinstance(one, OutcomeExecution | OutcomeVerification)]
    reasons = {outcome.reason for outcome in outcomes}
    reasons |= {result.reason for outcome in outcomes for result in getattr(outcome, "results", ())}

    assert reason in reasons
    assert f"[{reason}]" in theatre.screen(theatre.cycle)
    theatre.compare(f"refusal_{reason}", theatre.cycle)
    assert theatre.engine.now >= cycle_time(1)
