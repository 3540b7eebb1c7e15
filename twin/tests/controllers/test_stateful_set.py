"""StatefulSets: stable names, order, partitions and revisions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Object = dict[str, Any]
Build = Callable[..., Object]


def names(cluster: Any) -> list[str]:
    """Return the names of the live pods."""
    return [pod.name for pod in cluster.pods(app="db")]


def images(cluster: Any) -> dict[str, str]:
    """Return the image of each live pod."""
    return {pod.name: pod.shape.images[0] for pod in cluster.pods(app="db")}


def test_pods_come_one_after_the_other(cluster: Any, workload: Build) -> None:
    """OrderedReady makes a pod only when the one before it is ready, and names them by ordinal."""
    cluster.create("statefulsets", "db", {**workload("db", 3), "serviceName": "db"})
    seen: list[tuple[int, int]] = []

    def look() -> None:
        pods = cluster.pods(app="db")
        seen.append((len(pods), sum(pod.ready for pod in pods)))
        assert len(pods) <= seen[-1][1] + 1

    cluster.watch(40, look)

    assert names(cluster) == ["db-0", "db-1", "db-2"]
    pod = cluster.get("pods", "db-1")
    assert pod["spec"]["hostname"] == "db-1"
    assert pod["spec"]["subdomain"] == "db"
    assert pod["metadata"]["labels"]["apps.kubernetes.io/pod-index"] == "1"
    status = cluster.status("statefulsets", "db")
    assert (status["replicas"], status["readyReplicas"], status["updatedReplicas"]) == (3, 3, 3)
    assert status["currentRevision"] == status["updateRevision"]
    assert (
        "SuccessfulCreate",
        "Create Pod db-0 in StatefulSet db successful",
    ) in cluster.kube_events("db")


def test_parallel_does_not_wait(cluster: Any, workload: Build) -> None:
    """Parallel makes all pods at once, and takes all surplus ones away at once."""
    spec = {**workload("db", 3), "podManagementPolicy": "Parallel"}
    cluster.create("statefulsets", "db", spec)
    cluster.run(0.5)
    assert names(cluster) == ["db-0", "db-1", "db-2"]
    cluster.run(30)
    cluster.write("statefulsets", "db", replicas=1)
    cluster.run(0.5)

    assert names(cluster) == ["db-0"]


def test_scaling_down_goes_from_the_top(cluster: Any, workload: Build) -> None:
    """The highest ordinal goes first, and the next one only when it is gone."""
    cluster.create("statefulsets", "db", workload("db", 3))
    cluster.run(60)
    cluster.write("statefulsets", "db", replicas=1)
    order: list[list[str]] = []

    def look() -> None:
        names = [pod.name for pod in cluster.pods(deleting=True, app="db")]
        if not order or order[-1] != names:
            order.append(names)
        assert sum(pod.deletion_at is not None for pod in cluster.pods(deleting=True)) <= 1

    cluster.watch(30, look)

    assert order == [["db-0", "db-1", "db-2"], ["db-0", "db-1"], ["db-0"]]


def test_a_lost_pod_comes_back_under_its_name(cluster: Any, workload: Build) -> None:
    """A deleted pod is replaced by one of the same name and another uid."""
    cluster.create("statefulsets", "db", workload("db", 2))
    cluster.run(60)
    before = {pod.name: pod.uid for pod in cluster.pods()}
    cluster.delete("pods", "db-0")
    cluster.run(60)
    after = {pod.name: pod.uid for pod in cluster.pods()}

    assert before.keys() == after.keys()
    assert (before["db-0"] != after["db-0"], before["db-1"] == after["db-1"]) == (True, True)


def test_an_update_stops_at_the_partition(cluster: Any, workload: Build) -> None:
    """Ordinals below the partition keep the old template, even when they are made anew."""
    cluster.create("statefulsets", "db", workload("db", 4))
    cluster.run(90)
    rolling = {"type": "RollingUpdate", "rollingUpdate": {"partition": 2}}
    fresh = workload("db", 4, image="app:2")["template"]
    cluster.write("statefulsets", "db", template=fresh, updateStrategy=rolling)
    cluster.watch(90, lambda: _at_most_one_down(cluster, 4))
    assert images(cluster) == {"db-0": "app:1", "db-1": "app:1", "db-2": "app:2", "db-3": "app:2"}
    status = cluster.status("statefulsets", "db")
    assert (status["currentReplicas"], status["updatedReplicas"]) == (2, 2)
    cluster.delete("pods", "db-1")
    cluster.run(60)
    assert images(cluster)["db-1"] == "app:1"
    rolling = {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}}
    cluster.write("statefulsets", "db", updateStrategy=rolling)
    cluster.run(90)

    assert set(images(cluster).values()) == {"app:2"}
    status = cluster.status("statefulsets", "db")
    assert status["currentRevision"] == status["updateRevision"]


def _at_most_one_down(cluster: Any, replicas: int) -> None:
    assert sum(pod.ready for pod in cluster.pods(app="db")) >= replicas - 1


def test_on_delete_waits_for_the_user(cluster: Any, workload: Build) -> None:
    """OnDelete replaces a pod only after somebody deleted it."""
    strategy = {"updateStrategy": {"type": "OnDelete"}}
    cluster.create("statefulsets", "db", {**workload("db", 2), **strategy})
    cluster.run(60)
    cluster.write("statefulsets", "db", template=workload("db", 2, image="app:2")["template"])
    cluster.run(60)
    assert set(images(cluster).values()) == {"app:1"}
    cluster.delete("pods", "db-1")
    cluster.run(60)

    assert images(cluster) == {"db-0": "app:1", "db-1": "app:2"}


def test_revisions_can_be_gone_back_to(cluster: Any, workload: Build) -> None:
    """An old template gets its old ControllerRevision with the newest number."""
    cluster.create("statefulsets", "db", workload("db", 1))
    for image in ("app:2", "app:1"):
        cluster.run(60)
        cluster.write("statefulsets", "db", template=workload("db", 1, image=image)["template"])
    cluster.run(60)
    revisions = list(cluster.engine.store.list("controllerrevisions", "default"))
    newest = max(revisions, key=lambda obj: int(obj["revision"]))

    assert sorted(obj["revision"] for obj in revisions) == [2, 3]
    image = newest["data"]["spec"]["template"]["spec"]["containers"][0]["image"]
    assert (image, images(cluster)) == ("app:1", {"db-0": "app:1"})


def test_ordinals_can_start_elsewhere(cluster: Any, workload: Build) -> None:
    """spec.ordinals.start shifts the names."""
    cluster.create("statefulsets", "db", {**workload("db", 2), "ordinals": {"start": 5}})
    cluster.run(60)

    assert names(cluster) == ["db-5", "db-6"]


@pytest.mark.parametrize("field", ["serviceName", "selector", "podManagementPolicy"])
def test_most_fields_cannot_be_changed(cluster: Any, workload: Build, field: str) -> None:
    """Only replicas, ordinals, template and update strategy may change, as the API server says."""
    cluster.create("statefulsets", "db", workload("db", 1))
    changed = {"matchLabels": {"app": "other"}} if field == "selector" else "Parallel"
    with pytest.raises(Exception, match="updates to statefulset spec for fields other than"):
        cluster.write("statefulsets", "db", **{field: changed})
