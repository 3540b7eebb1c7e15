"""What the scheduler reserves for a pod, each rule with a case computed by hand."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any, Literal

import msgspec
import pytest

from services.kube_objects import Pod, PodSpec
from services.pod_requests import EffectiveRequest, effective_request, template_amount

GIB = 2**30


def _container(cpu: str, memory: str, *, sidecar: bool = False, gpus: int = 0) -> dict[str, Any]:
    requests = {"cpu": cpu, "memory": memory}
    if gpus:
        requests["nvidia.com/gpu"] = str(gpus)
    kind = {"restartPolicy": "Always"} if sidecar else {}
    return {"resources": {"requests": requests}, **kind}


def _request(**spec: Any) -> EffectiveRequest:
    pod = msgspec.json.decode(json.dumps({"spec": spec}), type=Pod)
    return effective_request(pod)


def test_containers_add_up() -> None:
    """Two containers hold the sum of their requests."""
    request = _request(containers=[_container("250m", "1Gi"), _container("1", "2Gi", gpus=2)])
    assert request == EffectiveRequest(1.25, 3 * GIB, 2)


@pytest.mark.parametrize(("cpu", "expected"), [("2", 2.0), ("500m", 1.0)])
def test_the_largest_init_container_counts_when_larger(cpu: str, expected: float) -> None:
    """Init containers run alone, one after the other: the maximum counts, not the sum."""
    init = [_container(cpu, "1Gi"), _container("100m", "1Gi")]
    assert _request(containers=[_container("1", "1Gi")], initContainers=init).cpu_cores == expected


def test_sidecars_hold_beside_containers_and_later_init_containers() -> None:
    """A sidecar stays: it adds to the containers and to the init containers started after it."""
    init = [_container("1", "1Gi", sidecar=True), _container("3", "1Gi")]
    assert _request(containers=[_container("2", "1Gi")], initContainers=init).cpu_cores == 4.0
    late = [_container("3", "1Gi"), _container("1", "1Gi", sidecar=True)]
    assert _request(containers=[_container("2", "1Gi")], initContainers=late).cpu_cores == 3.0


def test_overhead_comes_on_top() -> None:
    """The runtime's overhead is added once."""
    request = _request(
        containers=[_container("1", "1Gi")], overhead={"cpu": "250m", "memory": "128Mi"}
    )
    assert request == EffectiveRequest(1.25, GIB + 128 * 2**20, 0)


def test_a_request_of_the_whole_pod_takes_the_place_of_its_containers() -> None:
    """Pod-level requests win for the resources they name."""
    request = _request(containers=[_container("1", "1Gi")], resources={"requests": {"cpu": "500m"}})
    assert request == EffectiveRequest(0.5, GIB, 0)


def test_a_pod_without_requests_holds_nothing() -> None:
    """Best-effort pods reserve nothing."""
    assert _request(containers=[{}]) == EffectiveRequest(0.0, 0, 0)


def _resize(
    *,
    spec: str,
    promised: str,
    in_force: str,
    condition: str = "",
    sidecar: bool = False,
) -> float:
    """Return the cores held by a pod of one container whose CPU request is being changed."""
    name = "initContainers" if sidecar else "containers"
    body: dict[str, Any] = {
        "spec": {name: [{"name": "main", **_container(spec, "1Gi", sidecar=sidecar)}]},
        "status": {
            ("initContainerStatuses" if sidecar else "containerStatuses"): [
                {
                    "name": "main",
                    "resources": {"requests": {"cpu": in_force, "memory": "1Gi"}},
                    "allocatedResources": {"cpu": promised, "memory": "1Gi"},
                }
            ],
            "conditions": [{"type": "PodResizePending", "status": "True", "reason": condition}]
            if condition
            else [],
        },
    }
    return effective_request(msgspec.json.decode(json.dumps(body), type=Pod)).cpu_cores


@pytest.mark.parametrize("sidecar", [False, True])
@pytest.mark.parametrize(
    ("spec", "promised", "in_force", "condition", "expected"),
    [
        ("2", "2", "2", "", 2.0),  # as asked for
        ("3", "1", "1", "Deferred", 3.0),  # room is kept for what will be given later
        ("3", "1", "1", "Infeasible", 1.0),  # which this node never can
        ("1", "1", "2", "", 2.0),  # a reduction counts once it is in force
        ("1", "2", "2", "", 2.0),  # or not even promised yet
        ("500m", "1", "1500m", "Infeasible", 1.5),
    ],
)
def test_a_resize_holds_the_largest_amount_until_it_is_done(
    *, spec: str, promised: str, in_force: str, condition: str, expected: float, sidecar: bool
) -> None:
    """Of what is asked for, promised and in force (KEP-1287, "Scheduler and API Server Interaction")."""
    held = _resize(
        spec=spec, promised=promised, in_force=in_force, condition=condition, sidecar=sidecar
    )
    assert held == expected


def test_a_resize_of_the_whole_pod() -> None:
    """Amounts of the whole pod are resized alike, and containers' do not count beside them."""
    body = {
        "spec": {
            "containers": [_container("1", "1Gi")],
            "resources": {"requests": {"cpu": "2"}},
        },
        "status": {
            "resources": {"requests": {"cpu": "4"}},
            "allocatedResources": {"cpu": "3"},
        },
    }
    pod = msgspec.json.decode(json.dumps(body), type=Pod)
    assert effective_request(pod) == EffectiveRequest(4.0, GIB, 0)


def test_amounts_that_repeat_the_spec_are_not_kept() -> None:
    """Each pod of a cluster has them, so they would cost memory for nothing."""
    same = {"requests": {"cpu": "1", "memory": "1Gi"}}
    status = {"name": "main", "resources": same, "allocatedResources": same["requests"]}
    body = {
        "spec": {"containers": [{"name": "main", "resources": same}]},
        "status": {"containerStatuses": [status]},
    }
    pod = msgspec.json.decode(json.dumps(body), type=Pod)
    assert pod.settled
    assert pod.status.container_statuses[0].allocated_resources == {}


def test_a_request_of_nothing_for_the_whole_pod() -> None:
    """An explicit 0 takes the containers' place, too."""
    request = _request(containers=[_container("1", "1Gi")], resources={"requests": {"cpu": "0"}})
    assert request == EffectiveRequest(0.0, GIB, 0)


def test_cpu_is_counted_in_whole_millicores() -> None:
    """Fractions of a millicore are rounded up, once for the whole pod."""
    containers = [_container("100400u", "1Gi"), _container("100400u", "1Gi")]
    assert _request(containers=containers).cpu_cores == 0.201


def test_gpus_of_each_vendor_are_counted_apart() -> None:
    """An init container's GPU of one vendor does not stand for a container's of another."""
    assert _request(containers=[{"resources": {"requests": {"nvidia.com/gpu": "1"}}}]).gpus == 1
    one = {"resources": {"requests": {"cpu": "1", "memory": "1Gi", "amd.com/gpu": "1"}}}
    two = {"resources": {"requests": {"cpu": "1", "memory": "1Gi", "nvidia.com/gpu": "2"}}}
    assert _request(containers=[one], initContainers=[two]).gpus == 3


@pytest.mark.parametrize(
    ("name", "field", "expected"),
    [
        ("cpu", "requests", "1.25"),
        ("cpu", "limits", "4.25"),  # the init container's, with the overhead
        ("memory", "limits", "0"),  # no limit, so no overhead on it
        ("ephemeral-storage", "requests", "1073741824"),
    ],
)
def test_what_a_quota_counts(
    name: str, field: Literal["requests", "limits"], expected: str
) -> None:
    """Requests and limits of any resource, init containers and overhead included."""
    container = {
        "resources": {"requests": {"cpu": "1", "ephemeral-storage": "1Gi"}, "limits": {"cpu": "2"}}
    }
    init = {"resources": {"limits": {"cpu": "4"}}}
    body = {
        "containers": [container],
        "initContainers": [init],
        "overhead": {"cpu": "250m", "memory": "64Mi"},
    }
    spec = msgspec.convert(body, PodSpec)
    assert template_amount(spec, name, field) == Decimal(expected)
