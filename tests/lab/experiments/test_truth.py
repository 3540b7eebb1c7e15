"""What is measured of a trial: counted by hand in small worlds."""

from __future__ import annotations

import pytest

from lab.experiments.metrics import METRICS
from lab.experiments.pressure_samples import PressureSamples
from lab.experiments.truth import GroundTruth
from twin.port.engine import Engine
from twin.port.objects import PodRecord
from twin.port.settings import TwinConfig
from twin.port.workloads import NodeShape, WorkloadArrival

GIB = 2**30


def _task(name: str, at: float, cores: int = 1, seconds: float = 600.0) -> WorkloadArrival:
    return WorkloadArrival(at, name, "task", cores * 1_000, GIB, 0, 1.0, 0.5, seconds, "succeed")


def _service(name: str, at: float, replicas: int, traffic: str = "") -> WorkloadArrival:
    return WorkloadArrival(
        at, name, "service", 1_000, GIB, 0, 0.2, 0.5, None, "run",
        replicas=replicas, traffic=traffic, request_cpu_seconds=0.02 if traffic else None,
    )  # fmt: skip


def _play(
    *arrivals: WorkloadArrival, seconds: float = 3_600.0, warm_up: float = 0.0, nodes: int = 1
) -> tuple[Engine, GroundTruth]:
    engine = Engine(TwinConfig(), seed=3)
    engine.add_nodes([NodeShape(f"n{i}", 4_000, 16 * GIB, 0, {}) for i in range(nodes)])
    truth = GroundTruth(engine, warm_up)
    engine.load(iter(arrivals))
    engine.advance(engine.now + seconds)
    return engine, truth


def _pods(engine: Engine) -> list[PodRecord]:
    """Return the pods that nobody has deleted."""
    pods = (pod for pod in engine.store.records("pods") if isinstance(pod, PodRecord))
    return [pod for pod in pods if pod.deletion_at is None]


def test_a_job_that_waits_is_counted_from_its_creation_to_its_place() -> None:
    """Two Jobs that fill the machine one after the other: the second waits as long as the first works."""
    _, truth = _play(_task("a", 10.0, cores=4), _task("b", 20.0, cores=4))
    metrics = truth.metrics()
    waited = metrics["waiting_pod_hours"] * 3_600.0
    assert metrics["jobs_completed"] == 2.0
    assert waited == pytest.approx(600.0, abs=60.0)
    assert metrics["waiting_pods_most"] == 1.0
    assert metrics["pending_clear_seconds"] == pytest.approx(waited, abs=1.0)
    assert metrics["cpu_seconds_done"] == pytest.approx(2 * 4 * 600.0, rel=0.2)
    assert truth.payers()["default Jobs"].waiting_pod_hours == pytest.approx(waited / 3_600.0)
    own = metrics["job_seconds_mean"] - waited / 2.0  # start-up and a busy node are in it
    assert 600.0 < own < 720.0
    assert metrics["job_slowdown_mean"] == pytest.approx(metrics["job_seconds_mean"] / 600.0)


def test_nothing_before_the_end_of_the_warm_up_counts() -> None:
    """The same world with its first hour as warm-up shows only what came after."""
    arrivals = (_task("a", 10.0), _task("b", 4_000.0))
    _, truth = _play(*arrivals, seconds=7_200.0, warm_up=3_600.0)
    metrics = truth.metrics()
    assert metrics["jobs_completed"] == 1.0
    assert metrics["cpu_seconds_done"] == pytest.approx(600.0, rel=0.3)
    assert metrics["node_hours"] == pytest.approx(1.0, rel=0.02)


def test_machines_cost_hours_and_energy_unless_they_sleep() -> None:
    """An idle machine draws its 80 W; asleep it draws 12 W, is no node-hour, and waking it counts."""
    engine, truth = _play(seconds=3_600.0, nodes=2)
    before = truth.metrics()
    assert before["node_hours"] == pytest.approx(2.0)
    assert before["energy_kwh"] == pytest.approx(0.16)
    node = engine.store.get("nodes", "", "n1")
    for state in ("sleep", "on"):
        node["metadata"]["annotations"] = {"foresail.dev/power-state": state}
        node["metadata"].pop("resourceVersion", None)
        engine.store.replace("nodes", "", "n1", node)
        engine.advance(engine.now + 3_600.0)
    after = truth.metrics()
    assert after["node_hours"] - before["node_hours"] == pytest.approx(3.0, rel=0.03)
    assert after["energy_kwh"] - before["energy_kwh"] == pytest.approx(0.08 * 3 + 0.012, rel=0.03)
    assert after["activations"] == 1.0


def test_requests_and_the_minutes_below_their_objective() -> None:
    """A Service within its means has no bad minute; one with four times its capacity has hardly another."""
    _, good = _play(_service("web", 0.0, 2, "constant requests_per_second=20"))
    _, bad = _play(_service("web", 0.0, 1, "constant requests_per_second=200"))
    well, ill = good.metrics(), bad.metrics()
    assert well["requests_served"] == pytest.approx(20.0 * 3_600.0, rel=0.05)
    assert well["slo_minutes"] < 3.0
    assert well["requests_failed_ratio"] < 0.01
    assert ill["slo_minutes"] > 50.0
    assert ill["requests_failed_ratio"] > 0.5
    assert well["latency_p50_seconds"] <= well["latency_p95_seconds"] <= well["latency_p99_seconds"]


def test_replicas_that_are_taken_away_show_as_demand_held_back() -> None:
    """Scaling what somebody deployed to nothing is not free: the missing replicas are counted over time."""
    engine, truth = _play(_service("web", 0.0, 3), seconds=600.0)
    obj = engine.store.get("deployments", "default", "web")
    engine.store.replace(
        "deployments", "default", "web", {**obj, "spec": {**obj["spec"], "replicas": 1}}
    )
    engine.advance(engine.now + 3_600.0)
    metrics = truth.metrics()
    assert metrics["replicas_removed_hours"] == pytest.approx(2.0)
    assert metrics["replicas_changed"] == 2.0
    assert metrics["recovery_pod_hours"] == 0.0  # they were not lost: somebody asked for fewer
    assert {name: one.removed_pod_hours for name, one in truth.payers().items()} == {
        "default Deployments": pytest.approx(2.0)
    }


def test_work_that_is_suspended_or_removed_is_somebodys() -> None:
    """A Job that is held back for an hour, and one that is deleted: who asked for them is named."""
    engine, truth = _play(_task("a", 0.0, seconds=9_000.0), _task("b", 0.0), seconds=60.0)
    obj = engine.store.get("jobs", "default", "a")
    engine.store.replace("jobs", "default", "a", {**obj, "spec": {**obj["spec"], "suspend": True}})
    engine.store.delete("jobs", "default", "b")
    engine.advance(engine.now + 3_600.0)
    metrics, jobs = truth.metrics(), truth.payers()["default Jobs"]
    assert metrics["jobs_dropped"] == jobs.jobs_dropped == 1.0
    assert jobs.held_pod_hours == pytest.approx(metrics["held_pod_hours"]) == pytest.approx(1.0)


def test_a_lost_pod_counts_until_another_takes_its_place() -> None:
    """An evicted one until the next is ready; what nobody replaces counts to the end."""
    engine, truth = _play(_service("web", 0.0, 1), seconds=600.0, nodes=2)
    assert "recovery_seconds_mean" not in truth.metrics()
    at, (pod,) = engine.now, _pods(engine)
    engine.evict("default", pod.name)
    engine.advance(at + 600.0)
    (later,) = _pods(engine)
    first = truth.metrics()
    assert later.name != pod.name
    assert first["recovery_seconds_mean"] == pytest.approx(later.ready_at - at)
    assert truth.payers()["default Deployments"].evictions == 1.0
    for node in ("n0", "n1"):
        engine.fail_node(node, float("inf"))
    noticed = engine.lifecycle.notice_at(later.node_name)
    engine.advance(noticed + 3_600.0)
    gone = truth.metrics()["recovery_pod_hours"] - first["recovery_pod_hours"]
    assert gone == pytest.approx(1.0)


def test_a_pod_that_is_ready_again_was_lost_for_so_long() -> None:
    """Its machine stops for five minutes: from the moment that Kubernetes notices until it is ready."""
    engine, truth = _play(_service("web", 0.0, 1), seconds=600.0)
    engine.fail_node("n0", 290.0)  # less than pods tolerate
    noticed = engine.lifecycle.notice_at("n0")
    engine.advance(engine.now + 900.0)
    (pod,) = _pods(engine)
    assert truth.metrics()["recovery_seconds_mean"] == pytest.approx(pod.ready_at - noticed)
    assert pod.ready_at > noticed


def test_an_activation_takes_from_its_order_to_readiness() -> None:
    """Of rented machines; those that were there from the beginning took nothing."""
    engine, truth = _play(seconds=60.0)
    name = engine.cloud.catalogue.machines[0].name
    engine.cloud.order("me", "rented", engine.cloud.catalogue.offerings(name)[0], labels={})
    ordered = engine.now
    assert "activation_seconds_mean" not in truth.metrics()
    engine.advance(ordered + 1_800.0)
    (node,) = (one for one in engine.store.records("nodes") if one.name == "rented")
    took = truth.metrics()["activation_seconds_mean"]
    assert took == pytest.approx(node.created_at - ordered, abs=120.0)
    assert took > 0.0


def test_pressure_is_the_mean_of_each_minute() -> None:
    """Nobody waits, then one for the second half of a minute and longer; the points add up to the waiting."""
    _, truth = _play(_task("a", 0.0, cores=4), _task("b", 90.0, cores=4), seconds=3_600.0)
    points = truth.pressure()
    assert [at for at, _ in points] == [60.0 * step for step in range(1, 61)]
    assert points[1][1] == pytest.approx(0.5, abs=0.1)
    hours = sum(pods for _, pods in points) / 60.0
    assert hours == pytest.approx(truth.metrics()["waiting_pod_hours"], abs=1e-3)


def test_long_trials_keep_fewer_points() -> None:
    """More than fit are joined in groups, and their mean stays what it was."""
    samples = PressureSamples(0.0)
    for minute in range(1, 8):
        samples.sample(60.0 * minute, 60.0 * sum(range(minute + 1)))
    assert samples.points() == tuple((60.0 * minute, float(minute)) for minute in range(1, 8))
    assert samples.points(3) == ((180.0, 2.0), (360.0, 5.0), (420.0, 7.0))


def test_what_does_not_apply_is_left_out() -> None:
    """A world without requests and Jobs has neither latency nor slowdown: nothing is not the same as 0."""
    _, truth = _play(seconds=600.0)
    metrics = truth.metrics()
    assert "requests_served" not in metrics
    assert "jobs_completed" not in metrics
    assert set(metrics) <= set(METRICS)


def test_measuring_changes_nothing() -> None:
    """The cluster under measurement does what it does without: same pods, same places, same times."""
    arrivals = (
        _task("a", 10.0, cores=3),
        _service("web", 20.0, 2, "constant requests_per_second=9"),
    )
    measured, _ = _play(*arrivals, nodes=2)
    alone = Engine(TwinConfig(), seed=3)
    alone.add_nodes([NodeShape(f"n{i}", 4_000, 16 * GIB, 0, {}) for i in range(2)])
    alone.load(iter(arrivals))
    alone.advance(alone.now + 3_600.0)
    for resource in ("pods", "nodes", "jobs", "deployments", "events"):
        ours, theirs = (
            [record.state() for record in engine.store.records(resource)]
            for engine in (measured, alone)
        )
        assert ours == theirs


def test_slack_is_what_pods_request_and_do_not_use() -> None:
    """Four replicas that use a fifth of a core and half of a GiB each: the rest of what they request is slack."""
    _, truth = _play(_service("shop", 10.0, 4), seconds=4 * 3_600.0, warm_up=3_600.0)
    metrics = truth.metrics()
    assert metrics["requested_core_hours"] == pytest.approx(12.0, rel=0.01)
    assert metrics["requested_gib_hours"] == pytest.approx(12.0, rel=0.01)
    assert metrics["cpu_slack_ratio"] == pytest.approx(0.8, abs=0.05)
    assert metrics["memory_slack_ratio"] == pytest.approx(0.5, abs=0.05)
    assert metrics["memory_kills"] == metrics["starved_pod_minutes"] == 0.0


def test_pods_that_want_more_than_their_machine_has_starve() -> None:
    """Two Jobs that want all they request of a machine that is full, and one machine less: each minute counts."""
    _, truth = _play(_task("a", 0.0, cores=2), _task("b", 0.0, cores=2), seconds=600.0)
    assert truth.metrics()["starved_pod_minutes"] > 0.0
