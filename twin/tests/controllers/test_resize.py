"""In-place resize: requests through the subresource, the kubelet's answer, and the accounts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from twin.errors import ApiError

Object = dict[str, Any]
Build = Callable[..., Object]


def start(cluster: Any, template: Build, name: str, cpu: str, node: str = "n0") -> None:
    """Start a pod on a node."""
    made = template("solo", cpu=cpu, memory="1Gi", nodeName=node)
    head = {**made["metadata"], "name": name}
    cluster.engine.store.create("pods", "default", {"metadata": head, "spec": made["spec"]})
    cluster.run(20)


def resize(
    cluster: Any, name: str, cpu: str, memory: str = "1Gi", *, limits: Object | None = None
) -> None:
    """Ask for other amounts, as `kubectl patch --subresource resize` does."""
    obj = cluster.get("pods", name)
    resources = {"requests": {"cpu": cpu, "memory": memory}}
    if limits:
        resources["limits"] = limits
    container = {**obj["spec"]["containers"][0], "resources": resources}
    new = {**obj, "spec": {**obj["spec"], "containers": [container]}}
    cluster.engine.store.replace("pods", "default", name, new, subresource="resize")


def state(cluster: Any, name: str) -> tuple[str, str]:
    """Return (type, reason) of the resize condition."""
    conditions = cluster.conditions_of(name)
    return next(((k, r) for k, r in conditions if k.startswith("PodResize")), ("", ""))


def allocated_resources(cluster: Any, name: str) -> Object:
    """Return the allocated resources that the status shows."""
    return dict(cluster.status("pods", name)["containerStatuses"][0]["allocatedResources"])


@pytest.fixture(autouse=True)
def _conditions(cluster: Any) -> None:
    """Give the cluster a reader of pod conditions, whose reason may be absent."""

    def conditions_of(name: str) -> list[tuple[str, str]]:
        entries = cluster.status("pods", name)["conditions"]
        return [(entry["type"], entry.get("reason", "")) for entry in entries]

    cluster.conditions_of = conditions_of


def free_cpu(cluster: Any, node: str) -> int:
    """Return the millicores that the scheduler sees as free on a node."""
    nodes = cluster.engine.nodes
    return int(nodes.free[0, nodes.row_of[node]])


def test_a_resize_that_fits_needs_no_restart(cluster: Any, template: Build) -> None:
    """In progress first, done a moment later: same container, new amounts, new accounts."""
    start(cluster, template, "a", "1")
    before = cluster.get("pods", "a")["status"]["containerStatuses"][0]
    assert free_cpu(cluster, "n0") == 7_000
    resize(cluster, "a", "3", memory="2Gi")
    assert allocated_resources(cluster, "a") == {"cpu": "1", "memory": "1Gi"}
    cluster.run(0.5)
    assert state(cluster, "a") == ("PodResizeInProgress", "")
    cluster.run(5)
    after = cluster.get("pods", "a")["status"]["containerStatuses"][0]

    assert state(cluster, "a") == ("", "")
    assert allocated_resources(cluster, "a") == {"cpu": "3", "memory": "2Gi"}
    assert (after["restartCount"], after["state"]) == (0, before["state"])
    assert free_cpu(cluster, "n0") == 5_000
    assert cluster.reasons("a")[-2:] == ["ResizeStarted", "ResizeCompleted"]


def test_what_never_fits_is_infeasible(cluster: Any, template: Build) -> None:
    """More than the node has is refused for good; the pod keeps what it had."""
    start(cluster, template, "a", "1")
    resize(cluster, "a", "9")
    cluster.run(5)
    entry = next(
        condition
        for condition in cluster.status("pods", "a")["conditions"]
        if condition["type"] == "PodResizePending"
    )

    assert entry["reason"] == "Infeasible"
    assert entry["message"] == (
        "Node didn't have enough capacity: cpu, requested: 9000, capacity: 8000"
    )
    assert (allocated_resources(cluster, "a")["cpu"], free_cpu(cluster, "n0")) == ("1", 7_000)
    resize(cluster, "a", "1")
    assert state(cluster, "a") == ("", "")


def test_what_does_not_fit_now_waits_for_room(cluster: Any, template: Build) -> None:
    """Deferred until another pod goes; meanwhile the scheduler counts what is asked for."""
    start(cluster, template, "a", "2")
    start(cluster, template, "b", "5")
    resize(cluster, "a", "4")
    cluster.run(5)
    assert state(cluster, "a") == ("PodResizePending", "Deferred")
    assert free_cpu(cluster, "n0") == -1_000
    cluster.delete("pods", "b")
    cluster.run(10)

    assert state(cluster, "a") == ("", "")
    assert (allocated_resources(cluster, "a")["cpu"], free_cpu(cluster, "n0")) == ("4", 4_000)


def test_a_shrinking_neighbour_makes_room(cluster: Any, template: Build) -> None:
    """A deferred resize goes on when another pod on the node becomes smaller."""
    start(cluster, template, "a", "2")
    start(cluster, template, "b", "5")
    resize(cluster, "a", "4")
    cluster.run(5)
    resize(cluster, "b", "1")
    cluster.run(10)

    assert (allocated_resources(cluster, "a")["cpu"], allocated_resources(cluster, "b")["cpu"]) == (
        "4",
        "1",
    )
    assert free_cpu(cluster, "n0") == 3_000


def test_new_limits_reach_the_container(cluster: Any, template: Build) -> None:
    """A CPU limit that falls is what the pod then gets at most."""
    made = template("solo", cpu="1", memory="1Gi", nodeName="n0",
                    notes={"foresail.dev/cpu-usage-ratio": "2"})  # fmt: skip
    resources = made["spec"]["containers"][0]["resources"]
    resources["limits"] = {"cpu": "2", "memory": "2Gi"}
    head = {**made["metadata"], "name": "a"}
    cluster.engine.store.create("pods", "default", {"metadata": head, "spec": made["spec"]})
    cluster.run(60)
    resize(cluster, "a", "200m", limits={"cpu": "400m", "memory": "2Gi"})
    cluster.run(60)
    (metric,) = cluster.engine.metrics.pod_metrics("default")
    used = int(metric["containers"][0]["usage"]["cpu"].removesuffix("n"))

    assert used <= 400_000_000


def test_quotas_and_quality_are_checked(cluster: Any, template: Build) -> None:
    """403 beyond the quota, 422 for another QoS class or another resource, and nothing happens; another
    image is left out, as the API server does.
    """
    cluster.create("resourcequotas", "q", {"hard": {"requests.cpu": "2"}})
    start(cluster, template, "a", "1")
    with pytest.raises(ApiError, match=r"exceeded quota: q, requested: requests.cpu=2") as caught:
        resize(cluster, "a", "3")
    assert caught.value.status == 403
    with pytest.raises(ApiError, match="QOS Class may not change"):
        resize(cluster, "a", "1", limits={"cpu": "1", "memory": "1Gi"})
    obj = cluster.get("pods", "a")
    (container,) = obj["spec"]["containers"]
    disk = {"requests": {**container["resources"]["requests"], "ephemeral-storage": "1Gi"}}
    for change in ({"resources": {**container["resources"], **disk}}, {"image": "other:1"}):
        new = {**obj, "spec": {**obj["spec"], "containers": [{**container, **change}]}}
        if "image" in change:
            cluster.engine.store.replace("pods", "default", "a", new, subresource="resize")
            continue
        with pytest.raises(ApiError, match="only cpu and memory resources are mutable"):
            cluster.engine.store.replace("pods", "default", "a", new, subresource="resize")
    assert cluster.get("pods", "a")["spec"]["containers"][0]["image"] == container["image"]
    resize(cluster, "a", "2")
    cluster.run(5)

    assert cluster.status("resourcequotas", "q")["used"] == {"requests.cpu": "2"}
    assert allocated_resources(cluster, "a")["cpu"] == "2"


def test_a_clone_goes_on_with_a_deferred_resize(cluster: Any, template: Build) -> None:
    """What waits for room is part of the state: a clone and its original end alike."""
    start(cluster, template, "a", "2")
    start(cluster, template, "b", "5")
    resize(cluster, "a", "4")
    cluster.run(5)
    other = cluster.engine.clone()
    for engine in (cluster.engine, other):
        engine.store.delete("pods", "default", "b")
        engine.advance(engine.now + 20)

    assert other.state_hash() == cluster.engine.state_hash()
    assert allocated_resources(cluster, "a")["cpu"] == "4"
