"""Luck belongs to things: what is done to one of them moves no draw of another."""

from __future__ import annotations

import json
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from twin.api.messages import Request
from twin.api.router import Router
from twin.config import TwinConfig
from twin.config.health import HealthConfig
from twin.engine import Engine
from twin.kinds import KINDS
from twin.tests.determinism.conftest import arrivals
from twin.workloads.arrival import NodeShape

GIB = 2**30
SPARE = "spare"
TAINT = {"key": "dedicated", "effect": "NoSchedule"}
JSON = {"content-type": "application/json"}
MERGE = {"content-type": "application/merge-patch+json"}
STEP_SECONDS, STEPS = 60.0, 20
Action = tuple[str, str, dict[str, str], Any]
"""(method, path, headers, body)"""


def fault(kind: str, **fields: object) -> Action:
    """Return a scenario of one fault on the spare node."""
    one = {"fault": kind, "at_seconds": 0, "duration_seconds": 90, **fields}
    if kind != "burst":
        one["nodes"] = {"names": [SPARE]}
    return ("POST", "/foresail/v1/scenario", JSON, {"name": "s", "faults": [one]})


def patch(**body: object) -> Action:
    """Return a change of the spare node."""
    return ("PATCH", f"/api/v1/nodes/{SPARE}", MERGE, body)


def config_map(number: int) -> Action:
    """Return the creation of an object that nobody reads."""
    body = {"metadata": {"generateName": "touched-"}, "data": {"number": str(number)}}
    return ("POST", "/api/v1/namespaces/default/configmaps", JSON, body)


POD = {
    "metadata": {"generateName": "touched-"},
    "spec": {
        "nodeName": SPARE,
        "tolerations": [{"operator": "Exists"}],
        "containers": [{"name": "c", "image": "own:1"}],
    },
}
# Its removal is none of them: the scheduler's spreading weighs by how many nodes there are.
ACTIONS: dict[str, Action] = {
    "label": patch(metadata={"labels": {"team": "a"}}),
    "cordon": patch(spec={"unschedulable": True}),
    "clock": patch(metadata={"annotations": {"foresail.dev/clock-scale": "0.6"}}),
    "sleep": patch(metadata={"annotations": {"foresail.dev/power-state": "sleep"}}),
    "failure": ("POST", f"/foresail/v1/nodes/{SPARE}/fail", JSON, {"seconds": 60}),
    "slow": fault("slow_node", speed_ratio=0.3),
    "gap": fault("metrics_gap"),
    "config map": config_map(1),
    "pod": ("POST", "/api/v1/namespaces/default/pods", JSON, POD),
}
SILENT = {"gap", "slow"}
"""Actions that write no object: on a node without pods nothing shows them."""


def live(actions: dict[int, list[str]], seed: int) -> Engine:
    """Return a cluster that lived through actions, given by step, in rough weather."""
    health = HealthConfig(weather="rough", pod_crashes_per_day=0.5)
    engine = Engine(TwinConfig(node_failures_per_day=60.0, health=health), seed=seed)
    shapes = [NodeShape(f"n{i}", 32_000, 256 * GIB, 64, {}) for i in range(5)]
    engine.add_nodes([*shapes, NodeShape(SPARE, 4_000, 8 * GIB, 0, {})])
    router = Router(engine)
    send(router, patch(spec={"taints": [TAINT]}))
    engine.load(arrivals(Random(seed), 200))
    for step in range(STEPS):
        for name in actions.get(step, ()):
            send(router, ACTIONS[name])
        engine.advance(engine.now + STEP_SECONDS)
    return engine


def send(router: Router, action: Action) -> None:
    """Send a request, which has to be accepted."""
    method, path, headers, body = action
    answer = router.handle(Request(method, path, {}, headers, json.dumps(body).encode()))
    assert answer.status < 300, answer


def others(engine: Engine) -> dict[tuple[str, str, str], object]:
    """Return every object that no action touched, without versions."""
    return {
        (resource, obj["metadata"].get("namespace", ""), obj["metadata"]["name"]): bare(obj)
        for resource in KINDS
        for obj in engine.store.list(resource)
        if not concerns(resource, obj)
    }


def concerns(resource: str, obj: Any) -> bool:
    """True for the spare node, what actions create, and KubeEvents about them."""
    about = obj["involvedObject"]["name"] if resource == "events" else obj["metadata"]["name"]
    counts_nodes = resource == "events" and obj["reason"] == "FailedScheduling"
    return bool(about == SPARE or about.startswith("touched-") or counts_nodes)


def bare(value: Any) -> Any:
    """Drop resource versions, and the scheduler's sentences, which count nodes."""
    if isinstance(value, dict):
        rest = {name: bare(part) for name, part in value.items() if name != "resourceVersion"}
        return {**rest, "message": ""} if rest.get("reason") == "Unschedulable" else rest
    return [bare(part) for part in value] if isinstance(value, list) else value


def usage(engine: Engine) -> dict[str, list[float]]:
    """Return what each pod elsewhere uses, and the work that is left to it."""
    table = engine.usage
    return {
        uid: [float(column[row]) for column in table.columns.values()]
        for uid, row in table.row_of.items()
        if engine.world.pods[uid].node_name != SPARE
    }


def differences(one: dict[Any, Any], two: dict[Any, Any]) -> Iterator[tuple[Any, Any, Any]]:
    """Yield (key, value in one, value in two) where they differ."""
    for key in sorted({*one, *two}):
        if one.get(key) != two.get(key):
            yield key, one.get(key), two.get(key)


@settings(max_examples=4, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    actions=st.dictionaries(
        st.integers(0, STEPS - 1),
        st.lists(st.sampled_from(sorted(ACTIONS)), min_size=1, max_size=3),
        min_size=1,
        max_size=4,
    ),
)
def test_actions_on_an_unused_node_change_nobody_elses_luck(
    seed: int, actions: dict[int, list[str]]
) -> None:
    """Whatever is done to it, all other objects and usages come out the same, byte for byte."""
    calm, touched = live({}, seed), live(actions, seed)

    assert next(differences(others(calm), others(touched)), None) is None
    assert usage(calm) == usage(touched)
    done = {name for names in actions.values() for name in names}
    if done - SILENT - {"failure"}:  # a node that is down already fails without a trace
        assert calm.store.resource_version != touched.store.resource_version


@pytest.fixture(scope="module")
def calm() -> Engine:
    """The cluster that lived undisturbed."""
    return live({}, 7)


@pytest.mark.parametrize("action", sorted(ACTIONS))
def test_one_action_changes_nobody_elses_luck(calm: Engine, action: str) -> None:
    """Each action alone, early in a run in which pods start, end, fail and lose their nodes."""
    touched = live({2: [action]}, 7)

    assert list(differences(others(calm), others(touched))) == []
    assert usage(calm) == usage(touched)
    kinds = {key[0] for key in others(calm)}
    assert {"pods", "nodes", "jobs", "events"} <= kinds
    reasons = {obj["reason"] for obj in calm.store.list("events")}
    assert {"NodeNotReady", "Scheduled", "Killing", "Started"} <= reasons
