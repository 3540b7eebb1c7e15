"""What the scheduler reserves for a pod, each rule with a case computed by hand."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from services.kube_objects import EffectiveRequest, Pod, effective_request

GIB = 2**30


def _container(cpu: str, memory: str, *, sidecar: bool = False, gpus: int = 0) -> dict[str, Any]:
    requests = {"cpu": cpu, "memory": memory}
    if gpus:
        requests["nvidia.com/gpu"] = str(gpus)
    kind = {"restartPolicy": "Always"} if sidecar else {}
    return {"resources": {"requests": requests}, **kind}


def _request(**spec: Any) -> EffectiveRequest:
    pod = msgspec.json.decode(json.dumps({"spec": spec}), type=Pod)
    return effective_request(pod.spec)


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
