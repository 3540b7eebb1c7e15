"""Work slows, stops and begins again, but it does not vanish and is not done twice."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from twin.engine import Engine
from twin.faults import scenario_of
from twin.records import PodRecord
from twin.workloads.arrival import NodeShape, WorkloadArrival

GIB = 2**30
WORK_SECONDS = 300.0
TIMES = st.integers(0, 900)
FAULTS = st.one_of(
    st.builds(
        lambda at, ratio, lasts: {
            "fault": "slow_node",
            "at_seconds": at,
            "duration_seconds": lasts,
            "speed_ratio": ratio,
            "nodes": {"pick": 1},
        },
        TIMES,
        st.sampled_from([0.05, 0.3, 0.9]),
        st.integers(10, 900),
    ),
    st.builds(
        lambda kind, at, lasts: {
            "fault": kind,
            "at_seconds": at,
            "duration_seconds": lasts,
            "nodes": {"pick": 1},
        },
        st.sampled_from(["node_death", "node_shutdown"]),
        TIMES,
        st.integers(10, 900),
    ),
    st.builds(lambda at: {"fault": "burst", "at_seconds": at, "count": 5}, TIMES),
    st.builds(
        lambda at: {"fault": "clock_skew", "at_seconds": at, "skew_seconds": -33.3, "nodes": {}},
        TIMES,
    ),
)


def crowded_cluster(seed: int, faults: list[dict[str, Any]]) -> Engine:
    """Build two nodes whose tasks want twice the CPU that there is."""
    engine = Engine(seed=seed)
    engine.add_nodes([NodeShape(f"n{i}", 2_000, 8 * GIB, 0, {}) for i in range(2)])
    engine.load(
        WorkloadArrival(
            time_seconds=10.0 * number,
            name=f"t{number}",
            kind="task",
            cpu_request_millicores=500,
            memory_request_bytes=GIB // 2,
            gpus=0,
            cpu_usage_ratio=2.0,
            memory_usage_ratio=0.5,
            duration_seconds=WORK_SECONDS,
            outcome="succeed",
        )
        for number in range(12)
    )
    engine.faults.play(scenario_of({"faults": faults}, "drawn"))
    return engine


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 1_000), st.lists(FAULTS, min_size=1, max_size=4))
def test_work_done_is_work_accounted(seed: int, faults: list[dict[str, Any]]) -> None:
    """At every step: done + left is the whole work, done never exceeds the time that passed, and no
    pod succeeds before it has done all of it.
    """
    engine = crowded_cluster(seed, faults)
    skewed = any(fault["fault"] == "clock_skew" for fault in faults)
    for _ in range(60):
        engine.advance(engine.now + 30)
        usage, rows = engine.usage, engine.usage.rows()
        done, left = usage["worked"][rows], usage["work_left"][rows]
        whole = np.array([float(engine.world.pods[usage.uids[row]].annotations[
            "foresail.dev/work-seconds"]) for row in rows.tolist()])  # fmt: skip
        assert np.allclose(done + left, whole, rtol=0.0, atol=1e-6)
        assert (done <= engine.now - usage["started_at"][rows] + 1e-6).all()
        assert (left > -1e-6).all()
        for pod in engine.store.records("pods"):
            if isinstance(pod, PodRecord) and pod.phase == "Succeeded" and not skewed:
                assert pod.ended is not None
                ran = pod.ended.finished_at - pod.ended.started_at
                assert ran >= WORK_SECONDS - 1e-5


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 1_000), st.lists(FAULTS, min_size=1, max_size=3))
def test_all_work_is_done_in_the_end(seed: int, faults: list[dict[str, Any]]) -> None:
    """Whatever goes wrong for a while, every task has succeeded once when it is over."""
    engine = crowded_cluster(seed, faults)
    succeeded: set[str] = set()
    for _ in range(400):
        engine.advance(engine.now + 30)
        for job in engine.store.list("jobs"):
            if job.get("status", {}).get("succeeded"):
                succeeded.add(job["metadata"]["name"])
    bursts = sum(fault.get("count", 0) for fault in faults)

    assert len(succeeded) == 12 + bursts
