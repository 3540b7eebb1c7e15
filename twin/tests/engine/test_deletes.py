"""What a second delete, or a condition written again, changes."""

from __future__ import annotations

from twin.controllers.conditions import set_condition
from twin.engine import Engine
from twin.records import PodRecord
from twin.workloads.arrival import NodeShape

POD = {
    "metadata": {"name": "p"},
    "spec": {"containers": [{"name": "c", "image": "i"}], "terminationGracePeriodSeconds": 30},
}


def test_a_second_delete_shortens_the_grace_and_never_lengthens_it() -> None:
    """The earlier of two ends holds."""
    engine = Engine(None, 1)
    engine.add_nodes([NodeShape("n0", 8_000, 2**35, 0, {})])
    engine.store.create("pods", "default", POD)
    engine.advance(engine.now + 60.0)
    ends = []
    for grace in (20, 300, 10):
        engine.store.delete("pods", "default", "p", grace_period_seconds=grace)
        pod = engine.store.record("pods", "default", "p")
        assert isinstance(pod, PodRecord)
        ends.append(pod.deletion_at)

    assert ends == [engine.now + 20.0, engine.now + 20.0, engine.now + 10.0]


def test_a_condition_keeps_its_time_while_its_status_stays() -> None:
    """Another reason is no transition; another status is one."""
    known = set_condition([], "Ready", "True", "A", "", "t1")
    known = set_condition(known, "Ready", "True", "B", "", "t2")
    assert (known[0]["reason"], known[0]["lastTransitionTime"]) == ("B", "t1")
    known = set_condition(known, "Ready", "False", "B", "", "t3")
    assert known[0]["lastTransitionTime"] == "t3"
