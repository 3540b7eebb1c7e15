"""Deployments: rollouts, pauses, scaling meanwhile, deadlines and history."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from twin.controllers.deployment import REVISION, plain_template
from twin.errors import ApiError

Object = dict[str, Any]
Build = Callable[..., Object]
BROKEN = {"nodeSelector": {"no": "such-node"}}


def sizes(cluster: Any) -> dict[str, int]:
    """Return the replicas of each ReplicaSet by image."""
    return {
        obj["spec"]["template"]["spec"]["containers"][0]["image"]: obj["spec"]["replicas"]
        for obj in cluster.engine.store.list("replicasets", "default")
    }


def progress(cluster: Any) -> tuple[str, str]:
    """Return the condition Progressing."""
    found: tuple[str, str] = cluster.conditions("deployments", "web")["Progressing"]
    return found


def roll(cluster: Any, workload: Build, image: str, replicas: int, **options: Any) -> None:
    """Write another template."""
    fresh = workload("web", replicas, image=image, **options)["template"]
    cluster.write("deployments", "web", template=fresh)


@pytest.mark.parametrize(
    ("surge", "unavailable", "most", "least"),
    [("25%", "25%", 10, 6), (0, 1, 8, 7), (3, 0, 11, 8), ("100%", "0%", 16, 8), (0, "50%", 8, 4)],
)
def test_a_rollout_keeps_to_its_bounds(
    cluster: Any, workload: Build, surge: Any, unavailable: Any, most: int, least: int
) -> None:
    """At any moment at most replicas + maxSurge live, at least replicas - maxUnavailable ready."""
    rolling = {"maxSurge": surge, "maxUnavailable": unavailable}
    strategy = {"type": "RollingUpdate", "rollingUpdate": rolling}
    cluster.create("deployments", "web", {**workload("web", 8), "strategy": strategy})
    cluster.run(60)
    roll(cluster, workload, "app:2", 8)

    def look() -> None:
        pods = cluster.pods(app="web")
        assert least <= sum(pod.ready for pod in pods)
        assert len(pods) <= most

    cluster.watch(120, look)

    assert sizes(cluster) == {"app:1": 0, "app:2": 8}
    assert progress(cluster) == ("True", "NewReplicaSetAvailable")
    assert "ScalingReplicaSet" in cluster.reasons("web")


def test_recreate_never_mixes(cluster: Any, workload: Build) -> None:
    """Recreate starts the new pods only when the last old one is gone."""
    spec = {**workload("web", 3), "strategy": {"type": "Recreate"}}
    cluster.create("deployments", "web", spec)
    cluster.run(60)
    roll(cluster, workload, "app:2", 3)
    mixed: list[set[str]] = []

    def look() -> None:
        mixed.append({pod.shape.images[0] for pod in cluster.pods(deleting=True, app="web")})

    cluster.watch(60, look)

    assert all(len(images) <= 1 for images in mixed)
    assert mixed[-1] == {"app:2"}


def test_a_paused_rollout_stands_still_but_scales(cluster: Any, workload: Build) -> None:
    """While paused nothing is rolled, scaling is proportional, and it goes on afterwards."""
    cluster.create("deployments", "web", workload("web", 4))
    cluster.run(60)
    cluster.write("deployments", "web", paused=True)
    roll(cluster, workload, "app:2", 4)
    cluster.run(60)
    assert sizes(cluster) == {"app:1": 4}
    assert progress(cluster) == ("Unknown", "DeploymentPaused")
    cluster.write("deployments", "web", replicas=6)
    cluster.run(60)
    assert sizes(cluster) == {"app:1": 6}
    cluster.write("deployments", "web", paused=False)
    cluster.run(120)

    assert sizes(cluster) == {"app:1": 0, "app:2": 6}
    assert progress(cluster) == ("True", "NewReplicaSetAvailable")


def test_scaling_during_a_rollout_is_proportional(cluster: Any, workload: Build) -> None:
    """The documentation's example: 10 replicas stuck at 8 old and 5 new, scaled to 15."""
    rolling = {"maxSurge": 3, "maxUnavailable": 2}
    strategy = {"type": "RollingUpdate", "rollingUpdate": rolling}
    cluster.create("deployments", "web", {**workload("web", 10), "strategy": strategy})
    cluster.run(60)
    roll(cluster, workload, "app:2", 10, **BROKEN)
    cluster.run(60)
    assert sizes(cluster) == {"app:1": 8, "app:2": 5}
    cluster.write("deployments", "web", replicas=15)
    cluster.run(60)

    assert sizes(cluster) == {"app:1": 11, "app:2": 7}


def test_a_rollout_that_hangs_exceeds_its_deadline(cluster: Any, workload: Build) -> None:
    """After progressDeadlineSeconds Progressing is False; a mended template makes it True again."""
    cluster.create("deployments", "web", {**workload("web", 2), "progressDeadlineSeconds": 120})
    cluster.run(60)
    roll(cluster, workload, "app:2", 2, **BROKEN)
    cluster.run(100)
    assert progress(cluster)[0] == "True"
    cluster.run(60)
    assert progress(cluster) == ("False", "ProgressDeadlineExceeded")
    roll(cluster, workload, "app:3", 2)
    cluster.run(60)

    assert progress(cluster) == ("True", "NewReplicaSetAvailable")


def test_a_healthy_deployment_never_times_out(cluster: Any, workload: Build) -> None:
    """A Deployment that is complete stays so long after its deadline."""
    cluster.create("deployments", "web", {**workload("web", 2), "progressDeadlineSeconds": 60})
    cluster.run(600)

    assert progress(cluster) == ("True", "NewReplicaSetAvailable")


def test_history_is_kept_to_its_limit_and_can_be_gone_back_to(
    cluster: Any, workload: Build
) -> None:
    """Old ReplicaSets beyond the limit go; undo writes an old template, which is found again."""
    cluster.create("deployments", "web", {**workload("web", 1), "revisionHistoryLimit": 2})
    for number in range(2, 6):
        cluster.run(40)
        roll(cluster, workload, f"app:{number}", 1)
    cluster.run(60)
    assert sizes(cluster) == {"app:3": 0, "app:4": 0, "app:5": 1}
    old = next(obj for obj in cluster.engine.store.list("replicasets", "default")
               if obj["metadata"]["annotations"][REVISION] == "3")  # fmt: skip
    template = plain_template(old["spec"]["template"])
    cluster.write("deployments", "web", template=template)
    cluster.run(60)
    notes = cluster.get("deployments", "web")["metadata"]["annotations"]
    back = cluster.get("replicasets", old["metadata"]["name"])["metadata"]["annotations"]

    assert sizes(cluster) == {"app:3": 1, "app:4": 0, "app:5": 0}
    assert (notes[REVISION], back[REVISION]) == ("6", "6")
    assert back["deployment.kubernetes.io/revision-history"] == "3"


def test_min_ready_seconds_delay_availability(cluster: Any, workload: Build) -> None:
    """Pods count as available only after they were ready for minReadySeconds."""
    cluster.create("deployments", "web", {**workload("web", 2), "minReadySeconds": 30})
    cluster.run(20)
    status = cluster.status("deployments", "web")
    assert (status["readyReplicas"], "availableReplicas" in status) == (2, False)
    assert cluster.conditions("deployments", "web")["Available"][0] == "False"
    cluster.run(30)

    assert cluster.status("deployments", "web")["availableReplicas"] == 2
    assert cluster.conditions("deployments", "web")["Available"][0] == "True"


def test_pods_go_by_cost_and_age(cluster: Any, workload: Build) -> None:
    """Scaling down takes the pod with the lowest deletion cost first."""
    cluster.create("deployments", "web", workload("web", 3))
    cluster.run(30)
    cheap = cluster.pods(app="web")[1]
    cluster.note("pods", cheap.name, **{"controller.kubernetes.io/pod-deletion-cost": "-5"})
    cluster.write("deployments", "web", replicas=2)
    cluster.run(10)

    assert cheap.name not in [pod.name for pod in cluster.pods(app="web")]
    assert "SuccessfulDelete" in cluster.reasons(cheap.name.rpartition("-")[0])


def test_the_cause_of_a_change_reaches_the_history(cluster: Any, workload: Build) -> None:
    """kubernetes.io/change-cause is copied to the ReplicaSet, where rollout history reads it."""
    cluster.create("deployments", "web", workload("web", 1))
    cluster.run(30)
    cluster.note("deployments", "web", **{"kubernetes.io/change-cause": "first"})
    cluster.run(5)
    (only,) = cluster.engine.store.list("replicasets", "default")

    assert only["metadata"]["annotations"]["kubernetes.io/change-cause"] == "first"


@pytest.mark.parametrize(("spec", "field"), [
    ({"strategy": {"type": "Sometimes"}}, "spec.strategy"),
    ({"strategy": {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 0}}}, "maxUnavailable"),
    ({"strategy": {"rollingUpdate": {"maxSurge": "many"}}}, "maxSurge"),
    ({"progressDeadlineSeconds": 5, "minReadySeconds": 9}, "progressDeadlineSeconds"),
])  # fmt: skip
def test_bad_specs_are_refused(cluster: Any, workload: Build, spec: Object, field: str) -> None:
    """422 names the field."""
    with pytest.raises(ApiError, match=field):
        cluster.create("deployments", "web", {**workload("web", 1), **spec})
