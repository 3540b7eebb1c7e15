"""Work of Jobs that came to an end, came late, or was thrown away."""

from __future__ import annotations

from typing import Any

import pytest

from inputs.errors import InputError
from twin.config import TwinConfig
from twin.engine import Engine
from twin.workloads.arrival import NodeShape, WorkloadArrival
from twin.workloads.row_place import RowPlace
from twin.workloads.rows import read_row

_SECONDS = 100.0


def _engine(**annotations: str) -> Engine:
    engine = Engine(TwinConfig(), seed=2)
    engine.add_nodes([NodeShape("n0", 4_000, 16 * 2**30, 0, {})])
    notes = {f"foresail.dev/{name.replace('_', '-')}": text for name, text in annotations.items()}
    resources = {"requests": {"cpu": "1"}, "limits": {"cpu": "1"}}
    pod = {
        "restartPolicy": "Never",
        "containers": [{"name": "c", "image": "i", "resources": resources}],
    }
    metadata = {"name": "job", "annotations": {"foresail.dev/work-seconds": f"{_SECONDS}", **notes}}
    engine.store.create("pods", "default", {"metadata": metadata, "spec": pod})
    return engine


@pytest.mark.parametrize(
    ("annotations", "outcome"),
    [
        ({}, "in time"),
        ({"deadline_seconds": "900"}, "in time"),
        ({"deadline_seconds": "60"}, "late"),
        ({"outcome": "fail"}, "lost"),
    ],
)
def test_finished_work_is_counted_by_its_outcome(annotations: dict[str, str], outcome: str) -> None:
    """A container that ends counts once, with the CPU-seconds that its node and container counters have."""
    engine = _engine(**annotations)
    engine.advance(engine.now + 600.0)
    assert engine.job_work.containers == {
        **dict.fromkeys(engine.job_work.containers, 0),
        outcome: 1,
    }
    node = float(engine.cpu_counters.node_seconds[0])
    assert 0.0 < node <= engine.job_work.cpu_seconds[outcome]
    assert engine.job_work.cpu_seconds[outcome] == pytest.approx(node, rel=0.2)


def _task(**fields: float | None) -> Engine:
    """Play a task of 100 s that arrives after 10 s on two nodes, read from a workload file's row."""
    row: dict[str, object] = {
        "record": "arrival", "name": "task", "kind": "task", "time_seconds": 10, "outcome": "succeed",
        "cpu_request_millicores": 1_000, "memory_request_bytes": 2**28, "cpu_usage_ratio": 1,
        "duration_seconds": _SECONDS, **fields,
    }  # fmt: skip
    arrival = read_row(row, RowPlace("w.jsonl", 1))
    assert isinstance(arrival, WorkloadArrival)
    engine = Engine(TwinConfig(), seed=2)
    engine.add_nodes([NodeShape(f"n{i}", 4_000, 16 * 2**30, 0, {}) for i in range(2)])
    engine.load(iter([arrival]))
    return engine


@pytest.mark.parametrize(
    ("fields", "outcome"),
    [
        ({"late_after_seconds": 300.0}, "in time"),
        ({"late_after_seconds": 60.0}, "late"),
        ({"active_deadline_seconds": 60}, "lost"),
        ({"active_deadline_seconds": 300}, "in time"),
    ],
)
def test_deadlines_of_a_workload_file_count(fields: dict[str, float], outcome: str) -> None:
    """A task that ends too late is late; one whose Job is given up at its deadline has worked for nothing."""
    engine = _task(**fields)
    engine.advance(engine.now + 600.0)
    assert {name for name, count in engine.job_work.containers.items() if count} == {outcome}
    if outcome == "lost":
        assert 30.0 < engine.job_work.cpu_seconds["lost"] < 80.0


def test_who_takes_the_place_of_another_has_no_more_time() -> None:
    """A pod that starts anew after an eviction is late by its Job's creation, not by its own."""
    engine = _task(late_after_seconds=150.0)
    engine.advance(engine.now + 80.0)
    [pod] = [pod.name for pod in engine.store.records("pods", "default")]
    engine.evict("default", pod)
    engine.advance(engine.now + 600.0)
    assert engine.job_work.containers == {"in time": 0, "late": 1, "lost": 1}


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"late_after_seconds": 0}, "late_after_seconds = 0: give a number from 1 to"),
        ({"active_deadline_seconds": 2.5}, "active_deadline_seconds = 2.5: give a whole number"),
        ({"late_after_seconds": 5, "kind": "service", "outcome": "run"}, "to tasks only"),
    ],
)
def test_a_bad_deadline_of_a_row_is_named(fields: dict[str, Any], text: str) -> None:
    """A deadline that is none, or one of a service, is refused with file, line and remedy."""
    with pytest.raises(InputError, match=r"w\.jsonl line 1") as caught:
        _task(**fields)
    assert text in str(caught.value)


@pytest.mark.parametrize("how", ["deleted", "machine"])
def test_work_that_is_cut_off_is_lost(how: str) -> None:
    """What a container had done when it was deleted or its machine died was done for nothing."""
    engine = _engine()
    engine.advance(engine.now + 60.0)
    if how == "deleted":
        engine.store.delete("pods", "default", "job", grace_period_seconds=0)
    else:
        engine.fail_node("n0", 30.0)
    engine.advance(engine.now + 5.0)
    assert engine.job_work.containers["lost"] == 1
    assert 10.0 < engine.job_work.cpu_seconds["lost"] < 60.0
