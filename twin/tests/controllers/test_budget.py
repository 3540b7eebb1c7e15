"""PodDisruptionBudgets: what they count, and what an eviction is answered."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from twin.errors import ApiError

Object = dict[str, Any]
Build = Callable[..., Object]


def budget(cluster: Any, name: str = "b", **spec: Any) -> None:
    """Create a budget for app=web."""
    selector = {"matchLabels": {"app": "web"}}
    cluster.create("poddisruptionbudgets", name, {"selector": selector, **spec})


def counts(cluster: Any) -> tuple[int, int, int, int]:
    """Return (expected, desired, healthy, allowed)."""
    status = cluster.status("poddisruptionbudgets", "b")
    names = ("expectedPods", "desiredHealthy", "currentHealthy", "disruptionsAllowed")
    return tuple(status[name] for name in names)  # type: ignore[return-value]


def unready(cluster: Any, workload: Build, replicas: int) -> list[str]:
    """Create a Deployment whose pods run but are not ready for an hour."""
    spec = workload("web", replicas)
    container = spec["template"]["spec"]["containers"][0]
    container["readinessProbe"] = {"initialDelaySeconds": 3_600, "httpGet": {"port": 80}}
    cluster.create("deployments", "web", spec)
    cluster.run(30)
    return [pod.name for pod in cluster.pods(app="web")]


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"minAvailable": 5}, (7, 5, 7, 2)),
        ({"minAvailable": "50%"}, (7, 4, 7, 3)),
        ({"maxUnavailable": 2}, (7, 5, 7, 2)),
        ({"maxUnavailable": "30%"}, (7, 4, 7, 3)),
        ({"maxUnavailable": 0}, (7, 7, 7, 0)),
        ({"minAvailable": 9}, (7, 9, 7, 0)),
        ({"minAvailable": "0%"}, (7, 0, 7, 7)),
    ],
)
def test_counts(
    cluster: Any, workload: Build, spec: Object, expected: tuple[int, int, int, int]
) -> None:
    """Percentages are of the owner's replicas and round up, for both fields."""
    cluster.create("deployments", "web", workload("web", 7))
    budget(cluster, **spec)
    cluster.run(30)

    assert counts(cluster) == expected
    enough = ("True", "SufficientPods") if expected[3] else ("False", "InsufficientPods")
    assert cluster.conditions("poddisruptionbudgets", "b")["DisruptionAllowed"] == enough


def test_an_eviction_is_spent_at_once(cluster: Any, workload: Build) -> None:
    """A second eviction in the same moment sees the first: 429 with the cause and the numbers."""
    cluster.create("deployments", "web", workload("web", 3))
    budget(cluster, maxUnavailable=1)
    cluster.run(30)
    first, second, _ = (pod.name for pod in cluster.pods(app="web"))
    cluster.engine.evict("default", first)
    with pytest.raises(ApiError) as caught:
        cluster.engine.evict("default", second)

    assert caught.value.status == 429
    (cause,) = caught.value.details["causes"]
    assert cause == {
        "reason": "DisruptionBudget",
        "message": "The disruption budget b needs 2 healthy pods and has 2 currently",
    }
    cluster.run(60)
    assert counts(cluster) == (3, 2, 3, 1)
    assert "disruptedPods" not in cluster.status("poddisruptionbudgets", "b")


def test_an_eviction_that_leads_nowhere_is_forgotten(cluster: Any, workload: Build) -> None:
    """disruptedPods holds a pod that was not deleted for two minutes, then a KubeEvent says so."""
    cluster.create("deployments", "web", workload("web", 3))
    budget(cluster, maxUnavailable=1)
    cluster.run(30)
    obj = cluster.get("poddisruptionbudgets", "b")
    name = cluster.pods(app="web")[0].name
    status = {**obj["status"], "disruptedPods": {name: "2026-01-01T00:00:30Z"}}
    cluster.engine.store.replace(
        "poddisruptionbudgets", "default", "b", {**obj, "status": status}, subresource="status"
    )
    cluster.run(60)
    assert counts(cluster)[2:] == (2, 0)
    cluster.run(60)
    cluster.note("pods", name, touched="yes")
    cluster.run(1)

    assert counts(cluster)[2:] == (3, 1)
    assert "NotDeleted" in cluster.reasons(name)


def test_pods_that_hold_nothing_need_no_budget(cluster: Any, workload: Build) -> None:
    """Pending pods may always go."""
    cluster.create("deployments", "web", workload("web", 1, cpu="99"))
    budget(cluster, maxUnavailable=0)
    cluster.run(30)
    pod = cluster.pods(app="web")[0]
    cluster.engine.evict("default", pod.name)

    assert pod.name not in [pod.name for pod in cluster.pods(app="web")]


@pytest.mark.parametrize(("policy", "goes"), [(None, False), ("AlwaysAllow", True)])
def test_unhealthy_pods(cluster: Any, workload: Build, policy: str | None, goes: bool) -> None:
    """IfHealthyBudget (the default) keeps unready pods while the budget is short."""
    name = unready(cluster, workload, 2)[0]
    extra = {"unhealthyPodEvictionPolicy": policy} if policy else {}
    budget(cluster, minAvailable=1, **extra)
    cluster.run(5)
    if goes:
        cluster.engine.evict("default", name)
    else:
        with pytest.raises(ApiError, match="disruption budget"):
            cluster.engine.evict("default", name)

    assert (name not in [pod.name for pod in cluster.pods(app="web")]) is goes


def test_pods_without_owner_do_not_count_for_percentages(cluster: Any, template: Build) -> None:
    """Unmanaged pods are expected only by a whole minAvailable; otherwise a KubeEvent says so."""
    for number in range(3):
        made = template("web")
        head = {**made["metadata"], "name": f"p{number}"}
        cluster.engine.store.create("pods", "default", {"metadata": head, "spec": made["spec"]})
    budget(cluster, minAvailable="50%")
    budget(cluster, "whole", minAvailable=1)
    cluster.run(30)

    assert counts(cluster) == (0, 0, 3, 0)
    assert cluster.status("poddisruptionbudgets", "whole")["disruptionsAllowed"] == 2
    assert "UnmanagedPods" in cluster.reasons("b")


def test_pods_of_what_nobody_can_scale(cluster: Any, template: Build) -> None:
    """A Job has no number of replicas: nobody may go, the condition says why, and an eviction is refused."""
    cluster.create("jobs", "j", {"template": job_template(template("web"))})
    cluster.run(30)
    budget(cluster, maxUnavailable=1)
    cluster.run(5)

    (condition,) = cluster.status("poddisruptionbudgets", "b")["conditions"]
    assert (condition["status"], condition["reason"]) == ("False", "SyncFailed")
    assert condition["message"] == "jobs.batch does not implement the scale subresource"
    assert "CalculateExpectedPodCountFailed" in cluster.reasons("b")
    with pytest.raises(ApiError, match="disruption budget"):
        cluster.engine.evict("default", cluster.pods()[0].name)


def job_template(made: Object) -> Object:
    """Return a pod template whose pods are not started again."""
    return {**made, "spec": {**made["spec"], "restartPolicy": "Never"}}


def test_pods_whose_owner_is_gone(cluster: Any, template: Build) -> None:
    """An owner that is not there has no replicas: the status says which pod it was asked for."""
    made = template("web")
    owner = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "name": "r",
        "uid": "u",
        "controller": True,
    }
    head = {**made["metadata"], "name": "p", "ownerReferences": [owner], "finalizers": ["a.b/c"]}
    cluster.engine.store.create("pods", "default", {"metadata": head, "spec": made["spec"]})
    budget(cluster, maxUnavailable=1)
    cluster.run(5)

    (condition,) = cluster.status("poddisruptionbudgets", "b")["conditions"]
    assert condition["message"] == 'found no controllers for pod "p"'


def test_two_budgets_for_one_pod_are_an_error(cluster: Any, workload: Build) -> None:
    """The eviction API does not choose between budgets: 500, as the real one."""
    cluster.create("deployments", "web", workload("web", 3))
    budget(cluster, maxUnavailable=1)
    budget(cluster, "other", maxUnavailable=1)
    cluster.run(30)
    with pytest.raises(ApiError, match="more than one PodDisruptionBudget") as caught:
        cluster.engine.evict("default", cluster.pods()[0].name)

    assert caught.value.status == 500


def test_a_dry_run_spends_nothing(cluster: Any, workload: Build) -> None:
    """dryRun answers as the real thing and leaves pod and budget alone."""
    cluster.create("deployments", "web", workload("web", 2))
    budget(cluster, maxUnavailable=1)
    cluster.run(30)
    before = counts(cluster)
    for pod in cluster.pods(app="web"):
        cluster.engine.evict("default", pod.name, dry_run=True)
    cluster.run(5)

    assert (counts(cluster), len(cluster.pods(app="web"))) == (before, 2)
