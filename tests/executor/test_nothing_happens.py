"""Nothing happens when it should not: no write reaches the server, and one event says why."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from schemas.actions import Action, ActionKind
from schemas.control import Command
from schemas.outcome import ExecutionPhase, Mode, OutcomeExecution
from schemas.reasons import Reason
from services.cluster import ClusterRefused, ClusterUnavailable
from services.executor.ledger import evolve
from tests.builders import make_action, make_control, make_decision, stamp_event
from tests.executor.mixed_world import MERGE, OPEN_NODES, SHOP, MixedPlant

WEB = "shop/Deployment/web"
DEPLOYMENT = f"/apis/apps/v1/{SHOP}/deployments/web"
MORE = make_action(kind=ActionKind.REPLICATE, target=WEB, replicas=5)


@dataclass
class Case:
    """What keeps an action from being done."""

    reason: Reason
    prepare: Callable[[MixedPlant], None] = lambda _: None
    action: Action | Callable[[MixedPlant], Action] = field(default_factory=lambda: MORE)
    policy: dict[str, Any] = field(default_factory=dict)
    mode: Mode = Mode.ACTIVE
    phase: ExecutionPhase = ExecutionPhase.REFUSED


def command(word: Command) -> Callable[[MixedPlant], None]:
    """Return what gives the operator's command."""

    def give(plant: MixedPlant) -> None:
        plant.control = make_control(word)
        plant.state = evolve(plant.state, stamp_event(plant.control))

    return give


def marked(path: str, key: str = "foresail.dev/do-not-disrupt") -> Callable[[MixedPlant], None]:
    """Return what marks an object do-not-disrupt."""
    patch = {"metadata": {"annotations": {key: "true"}}}
    return lambda plant: _changed(plant, path, patch)


def _changed(plant: MixedPlant, path: str, patch: dict[str, Any]) -> None:
    assert plant.ask("PATCH", path, patch, MERGE)


def on_node(kind: ActionKind, number: int = 0, **fields: Any) -> Callable[[MixedPlant], Action]:
    """Return an action on one of the plant's nodes."""
    return lambda plant: make_action(kind=kind, target=plant.names[number], **fields)


def _applied_by_another(plant: MixedPlant) -> None:
    body = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web"},
        "spec": {"replicas": 4},
    }
    query = {"fieldManager": "argocd", "force": "true"}
    content = "application/apply-patch+yaml"
    status, answer = plant.twin.request(
        "PATCH", DEPLOYMENT, query, json.dumps(body).encode(), content
    )
    assert status == 200, answer


def _changed_by_another(plant: MixedPlant) -> None:
    """Let somebody else set the number right before ours is sent."""
    plain, done = plant.transport.request, []

    async def request(method: Any, path: str, query: Any = None, *rest: Any) -> Any:
        if method != "GET" and path == DEPLOYMENT and not done:
            done.append(True)
            _changed(plant, DEPLOYMENT, {"spec": {"replicas": 7}})
        return await plain(method, path, query, *rest)

    plant.transport.request = request  # type: ignore[method-assign]
    plant.restart()


def _refusing(status: int, reason: str) -> Callable[[MixedPlant], None]:
    """Return what makes the server refuse every write before it is one."""

    def refuse(plant: MixedPlant) -> None:
        plain = plant.transport.request

        async def request(method: Any, path: str, query: Any = None, *rest: Any) -> Any:
            if method != "GET" and "reviews" not in path:
                raise ClusterRefused(status, reason, f'User "foresail" cannot {method} {path}')
            return await plain(method, path, query, *rest)

        plant.transport.request = request  # type: ignore[method-assign]
        plant.restart()

    return refuse


def _unreachable(plant: MixedPlant) -> None:
    async def request(*_: Any) -> Any:
        raise ClusterUnavailable("nobody answers")

    plant.transport.request = request  # type: ignore[method-assign]
    plant.restart()


def _waiting_newer(plant: MixedPlant) -> None:
    plant.observed_cycle = plant.cycle + 3


def _outage(plant: MixedPlant) -> None:
    plant.see(plant.cycle, nodes_ready=4)


CASES: dict[str, Case] = {
    "kill": Case(Reason.KILL_SWITCH, command(Command.KILL)),
    "paused": Case(Reason.PAUSED, command(Command.PAUSE)),
    "stale: a newer cycle was observed meanwhile": Case(
        Reason.STALE_DECISION, _waiting_newer, phase=ExecutionPhase.FINISHED
    ),
    "gone: no such node": Case(
        Reason.TARGET_GONE, action=make_action(kind=ActionKind.MIGRATE, target="gone")
    ),
    "gone: no such Deployment": Case(
        Reason.TARGET_GONE,
        action=make_action(kind=ActionKind.REPLICATE, target="shop/Deployment/gone", replicas=5),
    ),
    "protected: the Deployment": Case(Reason.PROTECTED, marked(DEPLOYMENT)),
    "protected: its namespace": Case(Reason.PROTECTED, marked("/api/v1/namespaces/shop")),
    "protected: the node": Case(
        Reason.PROTECTED,
        lambda plant: marked(f"/api/v1/nodes/{plant.names[0]}")(plant),
        on_node(ActionKind.MIGRATE),
    ),
    "not named: another namespace": Case(
        Reason.NAMESPACE_NOT_NAMED,
        action=make_action(kind=ActionKind.REPLICATE, target="pay/Deployment/bank", replicas=3),
    ),
    "not named: a node without the label": Case(
        Reason.NODE_NOT_NAMED, action=on_node(ActionKind.DVFS, OPEN_NODES)
    ),
    "control plane": Case(
        Reason.CONTROL_PLANE,
        lambda plant: _changed(
            plant,
            f"/api/v1/nodes/{plant.names[0]}",
            {"metadata": {"labels": {"node-role.kubernetes.io/control-plane": ""}}},
        ),
        on_node(ActionKind.DVFS),
    ),
    "another's field": Case(Reason.FIELD_OWNED, _applied_by_another),
    "another's change": Case(
        Reason.TARGET_CHANGED, _changed_by_another, phase=ExecutionPhase.FINISHED
    ),
    "not empty": Case(
        Reason.NODE_NOT_EMPTY, action=on_node(ActionKind.POWER_STATE, power_state="sleep")
    ),
    "no means: Karpenter did not rent the machine": Case(
        Reason.NO_MACHINE,
        action=on_node(ActionKind.POWER_STATE, OPEN_NODES - 1, power_state="sleep"),
        policy={"hand_back": "karpenter"},
    ),
    "no right": Case(Reason.FORBIDDEN, _refusing(403, "Forbidden"), phase=ExecutionPhase.FINISHED),
    "unknown to the server": Case(
        Reason.UNAUTHENTICATED, _refusing(401, "Unauthorized"), phase=ExecutionPhase.FINISHED
    ),
    "unreachable": Case(Reason.API_UNREACHABLE, _unreachable),
    "settling": Case(Reason.SETTLING, policy={"settle_seconds": 3_600.0}),
    "an outage of nodes": Case(Reason.UNREADY_NODES, _outage, policy={"unready_ratio": 0.55}),
    "a budget of nothing": Case(
        Reason.BUDGET_EXHAUSTED,
        action=on_node(ActionKind.MIGRATE),
        policy={"budgets": [{"nodes": "0"}]},
    ),
}


async def _decided(plant: MixedPlant, action: Action) -> OutcomeExecution:
    plant.state = evolve(
        plant.state, stamp_event(make_decision(action, cycle=plant.cycle, score=0.5))
    )
    await plant.live()
    said = [one for one in plant.executions() if one.phase is not ExecutionPhase.STARTED]
    return said[0]


@pytest.mark.parametrize("name", CASES)
async def test_nothing_is_written(name: str) -> None:
    """The server took no write of ours, and the event gives the reason and a sentence."""
    case = CASES[name]
    plant = MixedPlant(mode=case.mode, policy=case.policy)
    case.prepare(plant)
    before = {path: plant.version_of(path) for path in _paths(plant)}
    action = case.action if not callable(case.action) else case.action(plant)
    known = len(plant.reached)
    said = await _decided(plant, action)
    assert (said.phase, said.reason) == (case.phase, case.reason), said.text
    assert said.text
    assert not [one for one in plant.reached[known:] if one.real and one.status < 300]
    theirs = {DEPLOYMENT} if case.reason is Reason.TARGET_CHANGED else set()
    after = {path: plant.version_of(path) for path in before}
    assert {path for path in before if before[path] != after[path]} == theirs


def _paths(plant: MixedPlant) -> list[str]:
    nodes = [f"/api/v1/nodes/{name}" for name in plant.names]
    return [*nodes, DEPLOYMENT, "/apis/apps/v1/namespaces/pay/deployments/bank"]


@pytest.mark.parametrize(
    "kind", [kind for kind in ActionKind if kind not in {ActionKind.NOOP, ActionKind.ADMISSION}]
)
async def test_in_shadow_mode_every_kind_leaves_every_object_as_it_was(kind: ActionKind) -> None:
    """Whatever reaches the server is a dry run; the event says in which mode it was."""
    plant = MixedPlant(mode=Mode.SHADOW)
    before = {path: plant.version_of(path) for path in _paths(plant)}
    target = plant.names[OPEN_NODES - 1 if kind is ActionKind.POWER_STATE else 0]
    said = await _decided(plant, make_action(kind=kind, target=target))
    assert said.mode is Mode.SHADOW
    assert all(one.dry for one in plant.reached if "reviews" not in one.path)
    assert {path: plant.version_of(path) for path in before} == before
