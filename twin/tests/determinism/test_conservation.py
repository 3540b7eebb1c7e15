"""What must hold in every cluster at every moment, for drawn workloads and drawn writes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import fsum
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from twin.changes import Change
from twin.engine import Engine
from twin.errors import ApiError
from twin.records import NodeRecord, ObjectRecord, PodRecord
from twin.selectors import matches

Build = Callable[..., Engine]
Write = Callable[[Engine, Random], None]
TRIES = settings(
    max_examples=3, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
ORDER = {"Pending": 0, "Running": 1, "Succeeded": 2, "Failed": 2}


def lives(engine: Engine, write: Write, random: Random, steps: int) -> Iterator[None]:
    """Let time pass with writes, and stop at many odd moments."""
    for _ in range(steps):
        engine.advance(engine.now + random.choice((0.011, 0.4, 3.0, 14.9, 40.0)))
        yield
        write(engine, random)
        yield


def pods_of(engine: Engine) -> list[PodRecord]:
    """Return all pods there are."""
    return [pod for pod in engine.store.records("pods") if isinstance(pod, PodRecord)]


def check_capacity(engine: Engine) -> None:
    """Fail when requests of bound pods exceed what a node offers, or a pod is bound to no node."""
    held: dict[str, list[int]] = {}
    for pod in pods_of(engine):
        if pod.node_name and not pod.terminal:
            shape, sums = pod.shape, held.setdefault(pod.node_name, [0, 0, 0, 0])
            amounts = (shape.cpu_request_millicores, shape.memory_request_bytes, shape.gpus, 1)
            held[pod.node_name] = [a + b for a, b in zip(sums, amounts, strict=True)]
    for name, sums in held.items():
        node = engine.world.node(name)
        assert isinstance(node, NodeRecord), f"pods on {name}, which does not exist"
        offer = (
            node.allocatable_cpu_millicores,
            node.allocatable_memory_bytes,
            node.gpus,
            node.allocatable_pods,
        )
        assert all(a <= b for a, b in zip(sums, offer, strict=True)), (name, sums, offer)
        row = engine.nodes.row_of[name]
        free = [b - a for a, b in zip(sums, offer, strict=True)]
        assert free == engine.nodes.free[:, row].tolist()


def check_one_state(engine: Engine) -> None:
    """Fail when a pod is in no state, or in two."""
    waiting = engine.scheduler.waiting
    for pod in pods_of(engine):
        running = pod.uid in engine.usage.row_of
        queued = pod.uid in waiting
        placed = bool(pod.node_name)
        assert queued != (placed or pod.terminal), (pod.name, queued, placed, pod.phase)
        if running:
            assert placed
            assert (pod.phase, pod.container_state) == ("Running", "running")
            assert pod.node_name not in engine.world.down
        elif pod.container_state == "running":
            assert pod.node_name in engine.world.down, f"{pod.name} runs nowhere"
        assert not (pod.terminal and pod.ready)
        assert (pod.started_at is None) or placed
    known = {pod.uid for pod in pods_of(engine)}
    assert set(engine.world.pods) == known
    assert set(engine.usage.row_of) <= known


@TRIES
@given(seed=st.integers(0, 2**32))
def test_capacity_is_never_exceeded_and_each_pod_is_in_one_state(
    build: Build, write: Write, seed: int
) -> None:
    """CPU, memory, GPUs and pod slots; waiting, placed, running or ended; at every moment seen."""
    engine = build(seed)
    for _ in lives(engine, write, Random(seed), 25):
        check_capacity(engine)
        check_one_state(engine)


@TRIES
@given(seed=st.integers(0, 2**32))
def test_nothing_comes_before_its_cause(build: Build, write: Write, seed: int) -> None:
    """Versions rise by one, time never goes back, phases go forward, and each pod is created,
    bound, started and ended in that order.
    """
    engine = build(seed)
    versions, times = [engine.store.resource_version], [engine.now]
    phases: dict[str, str] = {}

    def hear(change: Change) -> None:
        versions.append(change.rv)
        times.append(engine.now)
        pod = change.record
        if isinstance(pod, PodRecord):
            before = phases.get(pod.uid, "Pending")
            assert ORDER[before] <= ORDER[pod.phase], (before, pod.phase)
            assert pod.phase == before or ORDER[before] < ORDER[pod.phase]
            phases[pod.uid] = pod.phase
            moments = [pod.created_at, pod.scheduled_at, pod.started_at]
            seen = [moment for moment in moments if moment is not None]
            assert seen == sorted(seen)
            assert seen[-1] <= engine.now
            if pod.ended is not None:
                assert seen[-1] <= pod.ended.started_at <= pod.ended.finished_at <= engine.now

    engine.store.subscribe(hear)
    for _ in lives(engine, write, Random(seed), 20):
        pass

    assert versions == list(range(versions[0], versions[0] + len(versions)))
    assert times == sorted(times)


@TRIES
@given(seed=st.integers(0, 2**32))
def test_work_done_is_work_accounted(build: Build, write: Write, seed: int) -> None:
    """A task that completes has been given exactly its work: the integral of its rate over time."""
    engine = build(seed)
    given_work: dict[tuple[str, float], list[float]] = {}
    expected: dict[tuple[str, float], float] = {}
    seen_at, rates = engine.now, {}
    for _ in range(1_200):
        before = dict(rates)
        if not engine.step():
            break
        for key, rate in before.items():
            given_work.setdefault(key, []).append(rate * (engine.now - seen_at))
        seen_at, rates = engine.now, {}
        for uid, row in engine.usage.row_of.items():
            key = (uid, float(engine.usage["started_at"][row]))
            rates[key] = float(engine.usage["rate"][row])
            expected.setdefault(key, float(engine.usage["work_left"][row]))
        for pod in pods_of(engine):
            if pod.ended is not None and pod.ended.reason in ("Completed", "Error"):
                key = (pod.uid, pod.ended.started_at)
                if key in expected and pod.ended.exit_code in (0, 1):
                    work = expected.pop(key)
                    assert fsum(given_work.get(key, [])) == pytest.approx(work, abs=1e-4)


@TRIES
@given(seed=st.integers(0, 2**32))
def test_evictions_never_break_a_budget(build: Build, write: Write, seed: int) -> None:
    """An eviction that is granted leaves at least minAvailable healthy pods of each budget."""
    engine, random = build(seed), Random(seed)
    for _ in lives(engine, write, random, 10):
        for pod in pods_of(engine)[:20]:
            before = healthy(engine)
            try:
                engine.evict(pod.namespace, pod.name)
            except ApiError:
                continue
            for name, (count, least) in healthy(engine).items():
                assert count >= least or count == before[name][0], name


def healthy(engine: Engine) -> dict[str, tuple[int, int]]:
    """Return (healthy pods, minAvailable) by budget."""
    found: dict[str, tuple[int, int]] = {}
    for budget in engine.store.records("poddisruptionbudgets"):
        assert isinstance(budget, ObjectRecord)
        spec: dict[str, Any] = budget.body["spec"]
        count = sum(
            pod.ready and pod.deletion_at is None
            for pod in pods_of(engine)
            if pod.namespace == budget.namespace and matches(spec.get("selector"), pod.labels)
        )
        found[budget.name] = (count, int(spec["minAvailable"]))
    return found
