"""`foresail queue setup`: shown first, checked by the API server, the least rights, nothing of others."""

from __future__ import annotations

import json
from collections.abc import Callable

from lab.queue.manifests import QueueSetup, manifests
from tests.lab.queue.conftest import NAMESPACE, World

MakeWorld = Callable[..., World]


async def test_a_dry_run_changes_nothing(make_world: MakeWorld) -> None:
    """The API server checks what would be made; afterwards the cluster is the same to the byte."""
    world = make_world()
    before = world.engine.state_hash()
    steps = await world.setup(dry_run=True)
    assert {step.step for step in steps} == {"create"}
    assert world.engine.state_hash() == before


async def test_applied_twice_changes_nothing_more(make_world: MakeWorld) -> None:
    """The second time everything is as it should be, and nothing is written."""
    world = make_world()
    assert {step.step for step in await world.setup()} == {"create"}
    world.engine.advance(world.engine.now + 5.0)
    before = world.engine.state_hash()
    assert {step.step for step in await world.setup()} == {"unchanged"}
    assert world.engine.state_hash() == before


async def test_what_differs_is_named_and_brought_back(make_world: MakeWorld) -> None:
    """A quota that somebody has changed is shown by its field."""
    world = make_world()
    await world.setup()
    path = "/apis/kueue.x-k8s.io/v1beta2/clusterqueues/cluster"
    patch = {"spec": {"queueingStrategy": "StrictFIFO"}}
    await world.transport.request("PATCH", path, None, patch, "application/merge-patch+json")
    steps = await world.setup()
    changed = [step for step in steps if step.step == "change"]
    assert [(step.name, step.detail) for step in changed] == [("cluster", "spec.queueingStrategy")]
    answer = json.loads((await world.transport.request("GET", path)).body)
    assert answer["spec"]["queueingStrategy"] == "BestEffortFIFO"


async def test_an_object_of_others_is_left_alone(make_world: MakeWorld) -> None:
    """A ClusterQueue of the same name without our label keeps its quota, and the step says so."""
    world = make_world()
    theirs = {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "ClusterQueue",
        "metadata": {"name": "cluster"},
        "spec": {"namespaceSelector": {}, "queueingStrategy": "StrictFIFO"},
    }
    path = "/apis/kueue.x-k8s.io/v1beta2/clusterqueues"
    await world.transport.request("POST", path, None, theirs)
    steps = {step.kind: step.step for step in await world.setup()}
    assert steps["ClusterQueue"] == "foreign"
    answer = json.loads((await world.transport.request("GET", f"{path}/cluster")).body)
    assert answer["spec"]["queueingStrategy"] == "StrictFIFO"


def test_the_account_may_write_jobs_in_its_namespaces_alone() -> None:
    """Cluster-wide it reads, and nothing else; no rule has a wildcard."""
    made = list(manifests(QueueSetup(("a", "b"), 1_000, 2**30)))
    (reader,) = [one for one in made if one["kind"] == "ClusterRole"]
    assert {verb for rule in reader["rules"] for verb in rule["verbs"]} == {"get", "list"}
    writers = [one for one in made if one["kind"] == "Role"]
    assert [one["metadata"]["namespace"] for one in writers] == ["a", "b"]
    written = {(rule["resources"][0], *rule["verbs"]) for rule in writers[0]["rules"]}
    assert written == {("jobs", "create", "delete", "patch"), ("workloads", "patch")}


async def test_every_namespace_gets_its_queue(make_world: MakeWorld) -> None:
    """A LocalQueue in each, of the one ClusterQueue."""
    world = make_world()
    await world.setup(namespaces=(NAMESPACE, "more"))
    answer = await world.transport.request("GET", "/apis/kueue.x-k8s.io/v1beta2/localqueues")
    items = json.loads(answer.body)["items"]
    assert {one["metadata"]["namespace"] for one in items} == {NAMESPACE, "more"}
