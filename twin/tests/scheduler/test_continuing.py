"""What the scheduler remembers is all in its state: a clone goes on as the original does."""

from __future__ import annotations

from random import Random

from twin.engine import Engine
from twin.tests.scheduler.cluster import Cluster
from twin.tests.scheduler.worlds import add_pod, build
from twin.workloads.arrival import NodeShape

GIB = 2**30


def busy(seed: int) -> tuple[Engine, Random]:
    """A cluster of an engine with zones, full of pods that constrain and displace one another."""
    rng, engine = Random(seed), Engine(seed=seed)
    shapes = [
        NodeShape(f"n{i}", 4_000, 8 * GIB, 0, {"topology.kubernetes.io/zone": f"z{i % 3}"})
        for i in range(9)
    ]
    engine.add_nodes(shapes)
    engine.store.create("namespaces", "", {"metadata": {"name": "team"}})
    for name, value in (("low", 1), ("high", 9)):
        engine.store.create("priorityclasses", "", {"metadata": {"name": name}, "value": value})
    load(engine, rng, 40)
    return engine, rng


def load(engine: Engine, rng: Random, pods: int) -> None:
    """Create pods with random constraints and priorities."""
    template = Cluster()
    template.namespace("team")
    for index in range(pods):
        pod = add_pod(rng, template, f"t{index}")
        spec = {
            key: value
            for key, value in pod["spec"].items()
            if key not in ("priority", "preemptionPolicy")
        }
        spec["priorityClassName"] = rng.choice(["low", "low", "high"])
        metadata = {"generateName": "p-", "labels": pod["metadata"]["labels"]}
        namespace = pod["metadata"]["namespace"]
        engine.store.create("pods", namespace, {"metadata": metadata, "spec": spec})


def test_a_clone_places_as_the_original() -> None:
    """Indexes and caches are built anew in a clone, and nothing comes out otherwise."""
    for seed in range(3):
        engine, _ = busy(seed)
        engine.advance(engine.now + 7)
        clone = engine.clone()
        for one in (engine, clone):
            load(one, Random(seed + 100), 30)
            one.fail_node("n3", 60.0)
            one.advance(one.now + 200)
        nominated = [pod.nominated_node for pod in engine.world.pods.values()]
        assert engine.state_hash() == clone.state_hash(), nominated


def test_the_index_built_late_is_the_index_kept_up_to_date() -> None:
    """Counting from the live pods gives what following every change gave."""
    for seed in range(5):
        rng, cluster = Random(seed), Cluster()
        build(rng, cluster, nodes=6, pods=20)
        index = cluster.scheduler.plugins.index
        index.activate()
        for step in range(15):
            pod = add_pod(rng, cluster, f"new{step}")["metadata"]
            cluster.advance(1)
            if rng.random() < 0.4:
                cluster.store.delete("pods", pod["namespace"], pod["name"])
        followed = {key: dict(group.rows) for key, group in index._groups.items()}
        ports = {row: dict(held) for row, held in index.ports.items()}
        index.restored()
        index.activate()

        assert {key: dict(group.rows) for key, group in index._groups.items()} == followed
        assert {row: dict(held) for row, held in index.ports.items()} == ports
