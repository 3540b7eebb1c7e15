"""Runs that only care for placement and time: bare tasks, no KubeEvents."""

from __future__ import annotations

from twin.config import TwinConfig
from twin.engine import Engine
from twin.records import PodRecord
from twin.workloads.arrival import NodeShape, WorkloadArrival

NODE = NodeShape(name="n-0", cpu_millicores=8_000, memory_bytes=32 * 1024**3, gpus=0, labels={})


def task(name: str, *, replicas: int = 1, start_nodes: tuple[str, ...] = ()) -> WorkloadArrival:
    """Return a task of a minute that arrives at once."""
    return WorkloadArrival(
        time_seconds=0.0,
        name=name,
        kind="task",
        cpu_request_millicores=1_000,
        memory_request_bytes=1024**3,
        gpus=0,
        cpu_usage_ratio=0.5,
        memory_usage_ratio=0.5,
        duration_seconds=60.0,
        outcome="succeed",
        replicas=replicas,
        start_nodes=start_nodes,
    )


def play_arrivals(config: TwinConfig, *arrivals: WorkloadArrival) -> Engine:
    """Play arrivals on one node for three minutes."""
    engine = Engine(config, seed=3)
    engine.add_nodes([NODE])
    engine.load(iter(arrivals))
    engine.advance(engine.now + 180.0)
    return engine


def pods(engine: Engine) -> dict[str, PodRecord]:
    """Return all pods by name."""
    records = engine.store.records("pods")
    return {one.name: one for one in records if isinstance(one, PodRecord)}


def test_a_bare_task_is_a_pod_that_works_and_stays() -> None:
    """Without a Job a task runs once for its whole duration, succeeds, and is not removed."""
    engine = play_arrivals(TwinConfig(bare_tasks=True), task("a", replicas=2))

    assert 0 == engine.store.count("jobs")
    assert {"a", "a-1"} == set(pods(engine))
    for pod in pods(engine).values():
        assert pod.phase == "Succeeded"
        assert pod.owners == ()
        assert pod.ended is not None
        assert pod.ended.finished_at - pod.ended.started_at == 60.0


def test_a_bare_task_starts_where_it_ran_unless_that_node_is_gone() -> None:
    """A start state's node is kept; a node that is not there any more leaves the pod to the scheduler."""
    there, gone = task("a", start_nodes=("n-0",)), task("b", start_nodes=("n-9",))
    engine = play_arrivals(TwinConfig(bare_tasks=True), there, gone)

    assert {"a": "n-0", "b": "n-0"} == {name: pod.node_name for name, pod in pods(engine).items()}


def test_kube_events_can_be_left_out_and_change_nothing_else() -> None:
    """Without KubeEvents the same pods run on the same nodes for the same times."""
    arrivals = play_arrivals(TwinConfig(bare_tasks=True), task("a"), task("b"))
    silent = play_arrivals(TwinConfig(bare_tasks=True, kube_events=False), task("a"), task("b"))

    assert arrivals.store.count("events") > 0
    assert 0 == silent.store.count("events")
    lives = [
        [(name, pod.node_name, pod.scheduled_at, pod.ended) for name, pod in pods(one).items()]
        for one in (arrivals, silent)
    ]
    assert lives[0] == lives[1]
