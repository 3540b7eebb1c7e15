"""Work of Jobs that came to an end, came late, or was thrown away."""

from __future__ import annotations

import pytest

from twin.config import TwinConfig
from twin.engine import Engine
from twin.workloads.arrival import NodeShape

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
