"""The same inputs give the same cluster, however time is sliced and whatever is read."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

from twin.config import TwinConfig
from twin.engine import Engine
from twin.workloads.arrival import NodeShape, WorkloadArrival

GIB = 2**30
Arrive = Callable[..., WorkloadArrival]
SPAN_SECONDS = 1_500.0


def arrivals(build: Arrive) -> Iterator[WorkloadArrival]:
    """Yield a mix of services and tasks that overloads a small cluster now and then."""
    for index in range(300):
        kind = "service" if index % 4 == 0 else "task"
        yield build(
            f"w-{index}",
            time_seconds=index * 3.7,
            kind=kind,
            cpu_request_millicores=200 + 150 * (index % 7),
            cpu_usage_ratio=0.4 + 0.2 * (index % 5),
            memory_usage_ratio=0.6 + 0.2 * (index % 4),
            duration_seconds=30.0 + 17.0 * (index % 23),
            outcome="fail" if index % 9 == 0 else "succeed",
            replicas=1 + index % 2,
        )


def cluster(build: Arrive, seed: int = 11) -> Engine:
    """Return a loaded cluster of eight nodes whose machines fail often."""
    engine = Engine(TwinConfig(node_failures_per_day=40.0), seed=seed)
    engine.add_nodes([NodeShape(f"n{i}", 4_000, 8 * GIB, 0, {}) for i in range(8)])
    engine.load(arrivals(build))
    return engine


def test_slicing_changes_nothing(arrival: Arrive) -> None:
    """One long advance and many odd short ones end in the same state."""
    whole, sliced = cluster(arrival), cluster(arrival)
    end = whole.now + SPAN_SECONDS
    whole.advance(end)
    step = 0.0
    while sliced.now < end:
        step = (step + 3.1) % 11.0
        sliced.advance(min(end, sliced.now + step))

    assert whole.state_hash() == sliced.state_hash()


def test_reading_and_dry_runs_change_nothing(arrival: Arrive) -> None:
    """Lists, metrics, power and dry runs in between leave the state as it would have been."""
    quiet, read = cluster(arrival), cluster(arrival)
    end = quiet.now + SPAN_SECONDS
    quiet.advance(end)
    while read.now < end:
        read.advance(min(end, read.now + 50.0))
        first = next(iter(list(read.store.list("pods"))))["metadata"]
        read.metrics.node_metrics()
        read.metrics.pod_metrics()
        read.power_watts("n0")
        read.store.delete("pods", first["namespace"], first["name"], dry_run=True)
        read.store.create("configmaps", "default", {"metadata": {"name": "x"}}, dry_run=True)

    assert quiet.state_hash() == read.state_hash()


def test_another_seed_is_another_cluster(arrival: Arrive) -> None:
    """The seed matters: the hash can tell two clusters apart."""
    one, other = cluster(arrival, seed=1), cluster(arrival, seed=2)
    one.advance(one.now + 60.0)
    other.advance(other.now + 60.0)

    assert one.state_hash() != other.state_hash()


def test_capacity_and_changes_are_conserved(arrival: Arrive) -> None:
    """Requests never exceed a node's offer, and a client that follows changes has the state."""
    engine = cluster(arrival)
    seen: dict[str, dict[str, Any]] = {}
    version = 0
    for _ in range(100):
        engine.advance(engine.now + SPAN_SECONDS / 100)
        requested: dict[str, int] = defaultdict(int)
        for record in engine.world.pods.values():
            if record.node_name and not record.terminal:
                requested[record.node_name] += record.shape.cpu_request_millicores
        assert max(requested.values()) <= 4_000
        for change in engine.store.changes("pods", None, version):
            assert change.rv > version
            version = change.rv
            if change.type == "DELETED":
                del seen[change.object["metadata"]["uid"]]
            else:
                seen[change.object["metadata"]["uid"]] = change.object
        now = {obj["metadata"]["uid"]: obj for obj in engine.store.list("pods")}
        assert seen == now
