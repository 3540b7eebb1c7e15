"""Endpoints, EndpointSlices and the addresses of Services."""

from __future__ import annotations

from typing import Any

import pytest

from twin.errors import ApiError
from twin.tests.controllers.conftest import Cluster
from twin.timestamps import rfc3339

_LABELS = {"app": "web"}


def _deployment(cluster: Cluster, replicas: int, **container: Any) -> None:
    pod = {"containers": [{"name": "c", "image": "i", **container}]}
    template = {"metadata": {"labels": _LABELS}, "spec": pod}
    spec = {"replicas": replicas, "selector": {"matchLabels": _LABELS}, "template": template}
    cluster.create("deployments", "web", spec)


def _service(cluster: Cluster, **spec: Any) -> Any:
    ports = [{"port": 80, "targetPort": 8080}]
    return cluster.create("services", "web", {"selector": _LABELS, "ports": ports, **spec})


def _endpoints(cluster: Cluster) -> list[Any]:
    return [
        entry
        for slice_ in cluster.engine.store.list("endpointslices", "default")
        for entry in slice_["endpoints"]
    ]


def _ready(cluster: Cluster) -> list[str]:
    entries = _endpoints(cluster)
    return sorted(entry["targetRef"]["name"] for entry in entries if entry["conditions"]["ready"])


def test_ready_pods_are_listed_with_their_addresses() -> None:
    """Slices and the Endpoints object name each ready pod with its address, node and resolved port."""
    cluster = Cluster()
    _deployment(cluster, 3, ports=[{"name": "http", "containerPort": 9000}])
    _service(cluster, ports=[{"port": 80, "targetPort": "http"}])
    cluster.run(30)
    pods = {pod.name: pod for pod in cluster.pods()}
    assert _ready(cluster) == sorted(pods)
    for entry in _endpoints(cluster):
        pod = pods[entry["targetRef"]["name"]]
        assert (entry["addresses"], entry["nodeName"]) == ([pod.pod_ip], pod.node_name)
    [subset] = cluster.get("endpoints", "web")["subsets"]
    assert sorted(entry["ip"] for entry in subset["addresses"]) == sorted(
        pod.pod_ip for pod in pods.values()
    )
    assert subset["ports"] == [{"port": 9000, "protocol": "TCP"}]


def test_pod_that_is_not_ready_gets_no_requests() -> None:
    """A pod whose probe does not answer yet is listed as not ready, and as ready once it does."""
    cluster = Cluster()
    probe = {"httpGet": {"path": "/", "port": 80}, "periodSeconds": 1}
    _deployment(cluster, 1, readinessProbe=probe)
    cluster.engine.store.replace(
        "deployments",
        "default",
        "web",
        _with_annotation(cluster.get("deployments", "web"), "foresail.dev/ready-seconds", "60"),
    )
    _service(cluster)
    cluster.run(40)
    assert _ready(cluster) == []
    assert "notReadyAddresses" in cluster.get("endpoints", "web")["subsets"][0]
    cluster.run(40)
    assert len(_ready(cluster)) == 1


def _with_annotation(deployment: Any, name: str, value: str) -> Any:
    template = deployment["spec"]["template"]
    metadata = {**template["metadata"], "annotations": {name: value}}
    spec = {**deployment["spec"], "template": {**template, "metadata": metadata}}
    return {**deployment, "spec": spec}


def test_deleted_pod_is_terminating_and_then_gone() -> None:
    """A pod that is deleted stops being ready at once, and leaves the slice when it has ended."""
    cluster = Cluster()
    _deployment(cluster, 2)
    _service(cluster)
    cluster.run(30)
    victim = cluster.pods()[0].name
    cluster.delete("pods", victim)
    cluster.run(0.1)
    [entry] = [one for one in _endpoints(cluster) if one["targetRef"]["name"] == victim]
    assert entry["conditions"] == {"ready": False, "serving": True, "terminating": True}
    cluster.run(30)
    assert victim not in [one["targetRef"]["name"] for one in _endpoints(cluster)]
    assert len(_ready(cluster)) == 2


def test_slices_hold_a_hundred_pods_each() -> None:
    """The hundred-and-first pod gets a slice of its own, and pods stay where they are listed."""
    cluster = Cluster(nodes=4)
    _deployment(cluster, 130)
    _service(cluster)
    cluster.run(60)
    sizes = sorted(
        len(one["endpoints"]) for one in cluster.engine.store.list("endpointslices", "default")
    )
    assert sizes == [30, 100]


def test_change_of_selector_and_deletion_are_followed() -> None:
    """A Service that selects nobody has an empty slice; one that is deleted leaves nothing behind."""
    cluster = Cluster()
    _deployment(cluster, 2)
    _service(cluster)
    cluster.run(30)
    cluster.write("services", "web", selector={"app": "other"})
    cluster.run(1)
    assert _endpoints(cluster) == []
    cluster.delete("services", "web")
    cluster.run(1)
    assert list(cluster.engine.store.list("endpointslices", "default")) == []
    assert cluster.engine.store.find("endpoints", "default", "web") is None


def test_slice_that_somebody_deletes_is_made_again() -> None:
    """The controller restores a slice that a client took away."""
    cluster = Cluster()
    _deployment(cluster, 1)
    _service(cluster)
    cluster.run(30)
    [slice_] = cluster.engine.store.list("endpointslices", "default")
    cluster.delete("endpointslices", slice_["metadata"]["name"])
    cluster.run(1)
    assert len(_ready(cluster)) == 1


def test_addresses_are_given_once_and_kept() -> None:
    """Services get addresses of their own, which an update without them keeps and no update changes."""
    cluster = Cluster()
    made = [
        cluster.create("services", f"s{number}", {"type": "NodePort", "ports": [{"port": 80}]})[
            "spec"
        ]
        for number in range(40)
    ]
    assert len({spec["clusterIP"] for spec in made}) == 40
    ports = {spec["ports"][0]["nodePort"] for spec in made}
    assert len(ports) == 40
    assert all(30_000 <= port <= 32_767 for port in ports)
    kept = dict(cluster.get("services", "s0"))
    kept["spec"] = {"type": "NodePort", "ports": [{"port": 80}]}
    after = cluster.engine.store.replace("services", "default", "s0", kept)["spec"]
    assert (after["clusterIP"], after["ports"]) == (made[0]["clusterIP"], made[0]["ports"])
    with pytest.raises(ApiError, match="field is immutable"):
        cluster.write("services", "s0", clusterIP="10.96.7.7")


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ({"clusterIP": "10.96.0.1"}, "already allocated"),
        ({"clusterIP": "192.168.0.1"}, "does not match the current range"),
        ({"type": "NodePort", "ports": [{"port": 80, "nodePort": 80}]}, "range of valid ports"),
    ],
)
def test_addresses_that_are_not_to_be_had_are_refused(spec: Any, why: str) -> None:
    """An address in use or out of range is refused in the API server's words."""
    with pytest.raises(ApiError, match=why):
        _service(Cluster(), **spec)


def test_bad_traffic_is_refused_at_the_write() -> None:
    """A Service whose traffic cannot be read is refused with what to give instead."""
    with pytest.raises(ApiError, match=r"foresail.dev/traffic\]: Invalid value: constant lacks"):
        Cluster().create(
            "services",
            "web",
            {"ports": [{"port": 80}]},
            annotations={"foresail.dev/traffic": "constant"},
        )


def test_what_is_written_says_since_when_it_was_due() -> None:
    """The first look names the Service's own time, a later one the first pod's whose readiness changed."""
    cluster = Cluster()
    made = _service(cluster)
    cluster.run(1)
    [slice_] = cluster.engine.store.list("endpointslices", "default")
    key = "endpoints.kubernetes.io/last-change-trigger-time"
    born = made["metadata"]["creationTimestamp"]
    assert slice_["metadata"]["annotations"][key] == born
    _deployment(cluster, 1)
    cluster.run(30)
    [slice_] = cluster.engine.store.list("endpointslices", "default")
    [pod] = cluster.pods()
    assert slice_["metadata"]["annotations"] == {key: rfc3339(int(pod.ready_at))}


def test_pods_of_a_node_with_a_zone_say_so() -> None:
    """A row names the zone of its pod's node."""
    cluster = Cluster(nodes=1)
    [node] = cluster.engine.store.list("nodes")
    labels = {**node["metadata"].get("labels", {}), "topology.kubernetes.io/zone": "a"}
    metadata = {**node["metadata"], "labels": labels}
    cluster.engine.store.replace("nodes", "", metadata["name"], {**node, "metadata": metadata})
    _deployment(cluster, 1)
    _service(cluster)
    cluster.run(30)
    assert [entry["zone"] for entry in _endpoints(cluster)] == ["a"]
