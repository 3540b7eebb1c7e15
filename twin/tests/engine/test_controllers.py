"""Deployments, Jobs, budgets and garbage."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from twin.engine import Engine
from twin.errors import ApiError
from twin.workloads.arrival import WorkloadArrival

Build = Callable[..., dict[str, Any]]


def pods(engine: Engine) -> list[dict[str, Any]]:
    """Return the pods of the default namespace that are not being deleted."""
    found = engine.store.list("pods", "default")
    return [obj for obj in found if "deletionTimestamp" not in obj["metadata"]]


def images(engine: Engine) -> list[str]:
    """Return the image of each live pod, sorted."""
    return sorted(obj["spec"]["containers"][0]["image"] for obj in pods(engine))


def with_spec(engine: Engine, resource: str, name: str, **fields: Any) -> None:
    """Replace fields of an object's spec."""
    obj = engine.store.get(resource, "default", name)
    engine.store.replace(resource, "default", name, {**obj, "spec": {**obj["spec"], **fields}})


def test_a_deployment_comes_up_and_scales(engine: Engine, deployment: Build) -> None:
    """Status counts what is ready, and replicas follow the spec both ways."""
    engine.store.create("deployments", "default", deployment("web", 3))
    engine.advance(engine.now + 30)
    status = engine.store.get("deployments", "default", "web")["status"]
    assert (status["replicas"], status["readyReplicas"], status["updatedReplicas"]) == (3, 3, 3)
    with_spec(engine, "deployments", "web", replicas=1)
    engine.advance(engine.now + 30)

    assert len(pods(engine)) == 1
    with_spec(engine, "deployments", "web", replicas=0)
    engine.advance(engine.now + 60)
    assert list(engine.store.list("pods", "default")) == []


def test_a_rollout_keeps_to_its_bounds(engine: Engine, deployment: Build) -> None:
    """With 4 replicas and 25 %, never fewer than 3 ready pods nor more than 5 live ones."""
    engine.store.create("deployments", "default", deployment("web", 4))
    engine.advance(engine.now + 30)
    fresh = deployment("web", 4, image="app:2")["spec"]["template"]
    with_spec(engine, "deployments", "web", template=fresh)
    until = engine.now + 90
    while engine.now < until:
        engine.advance(engine.now + 0.1)
        live = pods(engine)
        ready = sum(
            c["status"] == "True"
            for obj in live
            for c in obj["status"].get("conditions", ())
            if c["type"] == "Ready"
        )
        assert ready >= 3
        assert len(live) <= 5

    assert images(engine) == ["app:2"] * 4
    sets = list(engine.store.list("replicasets", "default"))
    assert sorted(entry["spec"]["replicas"] for entry in sets) == [0, 4]
    status = engine.store.get("deployments", "default", "web")["status"]
    assert {c["type"]: c["reason"] for c in status["conditions"]} == {
        "Available": "MinimumReplicasAvailable",
        "Progressing": "NewReplicaSetAvailable",
    }


def test_going_back_reuses_the_old_replicaset(engine: Engine, deployment: Build) -> None:
    """A template that was there before gets its old ReplicaSet and a new revision."""
    engine.store.create("deployments", "default", deployment("web", 2))
    for image in ("app:2", "app:1"):
        engine.advance(engine.now + 60)
        fresh = deployment("web", 2, image=image)["spec"]["template"]
        with_spec(engine, "deployments", "web", template=fresh)
    engine.advance(engine.now + 60)
    revision = "deployment.kubernetes.io/revision"
    annotations = engine.store.get("deployments", "default", "web")["metadata"]["annotations"]

    assert images(engine) == ["app:1", "app:1"]
    assert engine.store.count("replicasets") == 2
    assert annotations[revision] == "3"


def test_deleting_a_deployment_takes_its_pods(engine: Engine, deployment: Build) -> None:
    """Background deletion cascades; orphaning leaves the ReplicaSet without owner."""
    for name in ("gone", "left"):
        engine.store.create("deployments", "default", deployment(name, 2))
    engine.advance(engine.now + 30)
    engine.store.delete("deployments", "default", "gone")
    engine.store.delete("deployments", "default", "left", propagation="Orphan")
    engine.advance(engine.now + 60)
    (kept,) = engine.store.list("replicasets", "default")

    assert engine.store.count("deployments") == 0
    assert len(pods(engine)) == 2
    assert "ownerReferences" not in kept["metadata"]


def test_foreground_deletion_waits_for_the_dependents(engine: Engine, deployment: Build) -> None:
    """The owner stays, marked, until its ReplicaSet is gone."""
    engine.store.create("deployments", "default", deployment("web", 2))
    engine.advance(engine.now + 30)
    engine.store.delete("deployments", "default", "web", propagation="Foreground")
    assert engine.store.find("deployments", "default", "web") is not None
    engine.advance(engine.now + 60)

    assert [engine.store.count(kind) for kind in ("deployments", "replicasets", "pods")] == [0] * 3


def test_arrivals_become_pods_by_name(
    engine: Engine, arrival: Callable[..., WorkloadArrival]
) -> None:
    """First pods have the arrival's name, replacements a suffix; both kinds end as they should."""
    engine.load(
        iter(
            [
                arrival("svc", kind="service", duration_seconds=200.0, outcome="run"),
                arrival("task-ok", time_seconds=1.0, duration_seconds=30.0),
                arrival("task-bad", time_seconds=2.0, duration_seconds=30.0, outcome="fail"),
            ]
        )
    )
    engine.advance(engine.now + 20)
    assert {obj["metadata"]["name"] for obj in pods(engine)} == {"svc", "task-ok", "task-bad"}
    engine.store.delete("pods", "default", "svc")
    engine.advance(engine.now + 60)
    names = [obj["metadata"]["name"] for obj in pods(engine)]
    phases = {obj["metadata"]["name"]: obj["status"]["phase"] for obj in pods(engine)}

    assert [name.startswith("svc-") for name in names].count(True) == 1
    assert (phases["task-ok"], phases["task-bad"]) == ("Succeeded", "Failed")
    jobs = {obj["metadata"]["name"]: obj["status"] for obj in engine.store.list("jobs")}
    kinds = {name: [c["type"] for c in jobs[name]["conditions"]] for name in jobs}
    assert kinds["task-ok"] == ["SuccessCriteriaMet", "Complete"]
    assert kinds["task-bad"] == ["FailureTarget", "Failed"]
    engine.advance(engine.now + 400)
    assert [engine.store.count(kind) for kind in ("jobs", "deployments", "pods")] == [0, 0, 0]


def test_a_job_honours_parallelism_and_suspend(engine: Engine, pod: Build) -> None:
    """At most `parallelism` pods at once, `completions` in the end, none while suspended."""
    template = pod("x", cpu="100m", restartPolicy="Never",
                   annotations={"foresail.dev/work-seconds": "20"})  # fmt: skip
    del template["metadata"]["name"]
    spec = {"parallelism": 2, "completions": 5, "suspend": True, "template": template}
    engine.store.create("jobs", "default", {"metadata": {"name": "j"}, "spec": spec})
    engine.advance(engine.now + 10)
    assert pods(engine) == []
    with_spec(engine, "jobs", "j", suspend=False)
    most = 0
    for _ in range(200):
        engine.advance(engine.now + 1)
        running = [obj for obj in pods(engine) if obj["status"]["phase"] in ("Pending", "Running")]
        most = max(most, len(running))

    assert most == 2
    status = engine.store.get("jobs", "default", "j")["status"]
    assert status["succeeded"] == 5
    assert status["conditions"][-1]["type"] == "Complete"


def test_a_failing_job_retries_with_growing_waits(engine: Engine, pod: Build) -> None:
    """backoffLimit 2 makes three pods, the second 10 s and the third 20 s after a failure."""
    template = pod("x", restartPolicy="Never", annotations={
        "foresail.dev/work-seconds": "5", "foresail.dev/outcome": "fail"})  # fmt: skip
    del template["metadata"]["name"]
    spec = {"backoffLimit": 2, "template": template}
    engine.store.create("jobs", "default", {"metadata": {"name": "j"}, "spec": spec})
    engine.advance(engine.now + 200)
    records = sorted(engine.world.pods.values(), key=lambda record: record.created_at)
    ends = [record.ended.finished_at for record in records if record.ended]

    assert len(records) == len(ends) == 3
    assert records[1].created_at - ends[0] == pytest.approx(10.0, abs=0.3)
    assert records[2].created_at - ends[1] == pytest.approx(20.0, abs=0.3)
    status = engine.store.get("jobs", "default", "j")["status"]
    assert (status["failed"], status["conditions"][-1]["reason"]) == (3, "BackoffLimitExceeded")


def test_a_budget_allows_what_it_says(engine: Engine, deployment: Build) -> None:
    """With 3 ready pods and minAvailable 2, one eviction passes and the next is 429."""
    engine.store.create("deployments", "default", deployment("web", 3))
    budget = {"minAvailable": 2, "selector": {"matchLabels": {"app": "web"}}}
    engine.store.create("poddisruptionbudgets", "default",
                        {"metadata": {"name": "b"}, "spec": budget})  # fmt: skip
    engine.advance(engine.now + 30)
    status = engine.store.get("poddisruptionbudgets", "default", "b")["status"]
    expected = {
        "currentHealthy": 3,
        "desiredHealthy": 2,
        "expectedPods": 3,
        "disruptionsAllowed": 1,
    }
    assert {key: status[key] for key in expected} == expected
    first, second, _ = [obj["metadata"]["name"] for obj in pods(engine)]
    before = engine.state_hash()
    engine.evict("default", first, dry_run=True)
    assert engine.state_hash() == before
    engine.evict("default", first)
    with pytest.raises(ApiError) as caught:
        engine.evict("default", second)

    assert (caught.value.status, caught.value.reason) == (429, "TooManyRequests")
    assert caught.value.details["causes"] == [
        {
            "reason": "DisruptionBudget",
            "message": "The disruption budget b needs 2 healthy pods and has 2 currently",
        }
    ]
    engine.advance(engine.now + 30)
    engine.evict("default", second)


def test_an_eviction_checks_the_uid(engine: Engine, pod: Build) -> None:
    """An eviction meant for another pod of that name is a conflict."""
    engine.store.create("pods", "default", pod("a"))
    with pytest.raises(ApiError) as caught:
        engine.evict("default", "a", uid="somebody-else")

    assert caught.value.status == 409
