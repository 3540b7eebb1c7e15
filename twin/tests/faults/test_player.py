"""Scenarios are part of the world: the same in a clone, after a checkpoint and after a re-run."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from inputs.clock import SystemClock
from tests.patience import HANGS_SECONDS
from twin.api.api_faults import ApiFaults, resource_of
from twin.api.journal import Journal, WorldKey
from twin.api.messages import Request, Response
from twin.api.router import Router
from twin.api.server import ApiServer
from twin.api.tokens import Tokens
from twin.chance import Chance
from twin.checkpoint import Checkpoint
from twin.engine import Engine
from twin.faults import scenario_of
from twin.faults.scenario import Nodes
from twin.faults.targets import targets
from twin.workloads.arrival import NodeShape

Play = Callable[..., Engine]
GIB = 2**30
PATH = "/foresail/v1/scenario"
ALL = {
    "seed": 2,
    "faults": [
        {"fault": "node_death", "at_seconds": 60, "duration_seconds": 200, "nodes": {"pick": 1}},
        {"fault": "slow_node", "at_seconds": 20, "speed_ratio": 0.5, "nodes": {"pick": 2}},
        {"fault": "clock_skew", "duration_seconds": 100, "skew_seconds": 9.5, "nodes": {"pick": 2}},
        {"fault": "spot_notice", "at_seconds": 90, "nodes": {"selector": "zone=b", "pick": 1}},
        {"fault": "node_shutdown", "at_seconds": 120, "nodes": {"names": ["n0"]}},
        {"fault": "image_pull_failure", "duration_seconds": 70},
        {"fault": "metrics_stale", "at_seconds": 100, "duration_seconds": 50},
        {"fault": "watch_cut", "at_seconds": 30, "duration_seconds": 90, "every_seconds": 25},
        {"fault": "burst", "at_seconds": 50, "count": 20, "over_seconds": 30},
    ],
}


def full(seed: int = 7) -> Engine:
    """Build a cluster in which everything goes wrong."""
    engine = Engine(seed=seed)
    engine.add_nodes(
        [NodeShape(f"n{i}", 8_000, 16 * GIB, 0, {"zone": "ab"[i % 2]}) for i in range(6)]
    )
    engine.faults.play(scenario_of(ALL, "all"))
    return engine


def test_a_clone_goes_wrong_in_the_same_way() -> None:
    """At every moment of a scenario a clone and a restored checkpoint have the same future."""
    engine = full()
    for _ in range(12):
        engine.advance(engine.now + 25)
        other = engine.clone()
        assert other.faults.shown() == engine.faults.shown()
        other.advance(engine.now + 25)
        stored = Engine(seed=engine.seed)
        Checkpoint.of(engine, {}).restore(stored)
        stored.advance(engine.now + 25)
        assert stored.state_hash() == other.state_hash()
    engine.advance(engine.now + 500)
    shown = engine.faults.shown()
    assert [one["fault"] for one in shown] == ["slow_node", "node_shutdown"]
    assert shown[1]["hit"] == ["n0"]


def test_the_seed_decides_who_is_hit() -> None:
    """Picked nodes differ between seeds, and are the same for the same seed."""
    store = full().store

    def drawn(nodes: Nodes, seed: int = 1) -> tuple[str, ...]:
        return targets(nodes, store, Chance(seed).draws("fault targets"), 1)

    assert drawn(Nodes(pick=2)) == drawn(Nodes(pick=2))
    assert len({drawn(Nodes(pick=2), seed) for seed in range(20)}) > 3
    assert drawn(Nodes(selector="zone!=a,zone")) == ("n1", "n3", "n5")
    assert drawn(Nodes(names=("n9", "n2"))) == ("n2",)


def test_a_node_that_is_not_hit_decides_nothing() -> None:
    """Without one of the nodes that are not picked, the same ones are; each fault draws anew."""
    engine = full()
    draws = Chance(1).draws("fault targets")
    before = targets(Nodes(pick=2), engine.store, draws, 1)
    for name in sorted({f"n{number}" for number in range(6)} - {*before})[:3]:
        engine.store.delete("nodes", "", name)
        assert targets(Nodes(pick=2), engine.store, draws, 1) == before
    assert len({targets(Nodes(pick=1), engine.store, draws, key) for key in range(20)}) > 1


def test_a_scenario_hits_the_same_nodes_whatever_was_played_before() -> None:
    """Another fault played earlier moves no draw; the same one played again is a new draw."""

    def play(engine: Engine, fault: dict[str, Any]) -> None:
        document = {"name": "s", "faults": [fault]}
        assert send(engine, json.dumps(document).encode())[0] == 200

    def hits(*, earlier: bool) -> list[list[str]]:
        engine = Engine(seed=7)
        engine.add_nodes([NodeShape(f"n{i}", 8_000, 16 * GIB, 0, {}) for i in range(6)])
        if earlier:
            play(engine, {"fault": "watch_expiry", "at_seconds": 5})
        for _ in range(6):
            play(engine, {"fault": "slow_node", "nodes": {"pick": 1}, "speed_ratio": 0.5})
        engine.advance(engine.now + 1)
        return [one["hit"] for one in engine.faults.shown() if one["fault"] == "slow_node"]

    assert hits(earlier=False) == hits(earlier=True)
    assert len({name for (name,) in hits(earlier=True)}) > 1


def send(engine: Engine, body: Any, **query: str) -> tuple[int, Any]:
    """Give a running cluster a scenario, as the administrator."""
    request = Request("POST", PATH, query, {"content-type": "application/json"}, body)
    answer = Router(engine).handle(request)
    assert isinstance(answer, Response)
    return answer.status, json.loads(answer.body)


def test_a_running_twin_takes_a_scenario() -> None:
    """The answer says how many faults are planned; a wrong one is 400 and plans nothing."""
    engine = Engine(seed=1)
    document = {"name": "s", "faults": [{"fault": "watch_expiry", "at_seconds": 5}]}
    assert send(engine, json.dumps(document).encode(), dryRun="All")[0] == 200
    engine.advance(engine.now + 6)
    before = engine.state_hash()
    status, said = send(engine, json.dumps({"faults": [{"fault": "x"}]}).encode())
    assert (status, said["reason"]) == (400, "BadRequest")
    assert "faults[0].fault = x" in said["message"]
    assert engine.state_hash() == before

    assert send(engine, json.dumps(document).encode()) == (200, {"name": "s", "events": 1})
    assert engine.state_hash() != before


async def ask(
    app: ApiServer, token: str, method: str, path: str, body: bytes = b""
) -> tuple[int, bytes]:
    """Send one request through the HTTP face; a watch is read until the server ends it."""
    sent: list[dict[str, Any]] = []
    given = [{"type": "http.request", "body": body}]

    async def receive() -> dict[str, Any]:
        if given:
            return given.pop()
        await asyncio.Event().wait()
        raise AssertionError("unreachable")

    async def take(message: dict[str, Any]) -> None:
        sent.append(message)

    where, _, query = path.partition("?")
    headers = [
        (b"authorization", f"Bearer {token}".encode()),
        (b"content-type", b"application/json"),
    ]
    scope = {"type": "http", "method": method, "path": where, "headers": headers}
    await app({**scope, "query_string": query.encode()}, receive, take)
    return sent[0]["status"], b"".join(message.get("body", b"") for message in sent[1:])


async def test_a_journal_re_runs_a_scenario_to_the_same_state(tmp_path: Path) -> None:
    """What the server wrote down gives the same cluster, though it refused requests meanwhile."""
    key = WorldKey(7, 6, "idle", 0.0)
    journal = Journal(tmp_path / "j", key)
    engine, tokens = Engine(seed=7), Tokens.draw()
    engine.add_nodes([NodeShape("n0", 8_000, 16 * GIB, 0, {})])
    app = ApiServer(engine, tokens, journal)
    faults = [
        {"fault": "api_errors", "status": 500, "ratio": 0.5},
        {"fault": "node_death", "at_seconds": 30, "duration_seconds": 40, "nodes": {}},
    ]
    admin = tokens.of_all()["admin"]
    body = json.dumps({"faults": faults}).encode()
    assert (await ask(app, admin, "POST", PATH, body))[0] == 200
    found = set()
    for number in range(30):
        engine.advance(engine.now + 3)
        obj = json.dumps({"metadata": {"name": f"c{number}"}}).encode()
        path = "/api/v1/namespaces/default/configmaps"
        found.add((await ask(app, admin, "POST", path, obj))[0])
    assert found == {201, 500}
    journal.close()
    again = Engine(seed=7)
    again.add_nodes([NodeShape("n0", 8_000, 16 * GIB, 0, {})])
    reopened = Journal(tmp_path / "j", key)
    reopened.replay(again)
    again.advance(engine.now)
    reopened.close()

    assert again.state_hash() == engine.state_hash()


@pytest.mark.parametrize(("fault", "last"), [("watch_cut", b""), ("watch_expiry", b'"code":410')])
async def test_a_fault_ends_running_watches(fault: str, last: bytes) -> None:
    """A watch ends when the fault begins, with 410 when the past is forgotten; others go on."""
    engine, tokens = Engine(seed=7), Tokens.draw()
    app = ApiServer(engine, tokens)
    admin = tokens.of_all()["admin"]
    document = {"faults": [{"fault": fault, "at_seconds": 5, "resources": ["nodes"]}]}
    engine.faults.play(scenario_of(document, "s"))
    nodes = asyncio.ensure_future(ask(app, admin, "GET", "/api/v1/nodes?watch=true"))
    pods = asyncio.ensure_future(ask(app, admin, "GET", "/api/v1/pods?watch=true"))
    for _ in range(5):
        await asyncio.sleep(0)
    engine.add_nodes([NodeShape("n0", 8_000, 16 * GIB, 0, {})])
    engine.advance(engine.now + 6)
    status, body = await asyncio.wait_for(nodes, HANGS_SECONDS)
    assert status == 200
    assert b'"ADDED"' in body
    assert last in body.splitlines()[-1]
    assert not pods.done()
    pods.cancel()


async def test_only_the_administrator_may_break_things() -> None:
    """Every other identity is refused, and nothing is planned."""
    engine, tokens = Engine(seed=7), Tokens.draw()
    app = ApiServer(engine, tokens)
    body = json.dumps({"faults": [{"fault": "watch_expiry"}]}).encode()
    before = engine.state_hash()
    for name, token in tokens.of_all().items():
        if name != "admin":
            assert (await ask(app, token, "POST", PATH, body))[0] == 403, name

    assert engine.state_hash() == before


async def test_a_late_answer_is_late_and_right() -> None:
    """Latency holds an answer back in wall time and changes nothing else."""
    engine, tokens, clock = Engine(seed=7), Tokens.draw(), SystemClock()
    app = ApiServer(engine, tokens)
    slow = {"fault": "api_latency", "latency_seconds": 0.1, "resources": ["pods"]}
    engine.faults.play(scenario_of({"faults": [slow]}, "s"))
    engine.advance(engine.now + 1)
    began = clock.monotonic()
    status, body = await ask(app, tokens.of_all()["admin"], "GET", "/api/v1/pods")

    assert clock.monotonic() - began >= 0.1
    assert (status, json.loads(body)["items"]) == (200, [])


def test_who_else_asks_does_not_decide_who_is_refused() -> None:
    """A request is refused or not whatever others ask at the same moment."""
    engine = Engine(seed=7)
    document = {"faults": [{"fault": "api_errors", "status": 503, "ratio": 0.5}]}
    engine.faults.play(scenario_of(document, "s"))
    quiet, busy = ApiFaults(engine), ApiFaults(engine)
    found = set()
    for _ in range(60):
        engine.advance(engine.now + 1)
        request = Request("GET", "/api/v1/pods")
        busy.refusal(Request("GET", "/api/v1/nodes"))
        refused = quiet.refusal(request) is None
        assert refused == (busy.refusal(request) is None)
        found.add(refused)

    assert found == {True, False}


@pytest.mark.parametrize(
    ("path", "resource"),
    [
        ("/api/v1/pods", "pods"),
        ("/api/v1/namespaces/default/pods/a/eviction", "pods"),
        ("/api/v1/namespaces/default", "namespaces"),
        ("/apis/apps/v1/namespaces/default/deployments", "deployments"),
        ("/apis/metrics.k8s.io/v1beta1/nodes", "nodes"),
        ("/version", ""),
    ],
)
def test_a_path_names_its_resource(path: str, resource: str) -> None:
    """Faults of one resource hit its collections, objects and subresources."""
    assert resource_of(path) == resource


def test_a_user_writes_objects() -> None:
    """What a scenario's user creates, patches and deletes is done at its time; what is refused is counted."""
    quota = {"verb": "create", "resource": "resourcequotas", "name": "pods"}
    writes: list[dict[str, Any]] = [
        {"at_seconds": 10, **quota, "object": {"spec": {"hard": {"pods": "4"}}}},
        {"at_seconds": 20, **quota, "object": {"spec": {"hard": {"pods": "5"}}}},
        {"at_seconds": 30, **quota, "verb": "patch", "object": {"spec": {"hard": {"pods": "6"}}}},
        {"at_seconds": 40, **quota, "verb": "delete"},
    ]
    engine = Engine(seed=7)
    faults = [{"fault": "user_write", **write} for write in writes]
    engine.faults.play(scenario_of({"faults": faults}, "users"))
    seen: list[str | None] = []
    for _ in writes:
        engine.advance(engine.now + 11)
        found = engine.store.find("resourcequotas", "default", "pods")
        seen.append(None if found is None else found.body["spec"]["hard"]["pods"])
    assert seen == ["4", "4", "6", None]
    assert engine.faults.refused == 1
