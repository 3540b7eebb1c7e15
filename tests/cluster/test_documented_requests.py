"""The examples of the Kubernetes documentation that give a number, each as a pod like theirs.

The name of each case is the page on kubernetes.io (or the KEP) whose example it is.
"""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from services.kube_objects import Pod
from services.pod_requests import EffectiveRequest, effective_request
from services.quantities import parse_quantity, parse_whole

MIB = 2**20


def _asks(
    cpu: str = "", memory: str = "", *, always: bool = False, name: str = ""
) -> dict[str, Any]:
    amounts = {"cpu": cpu, "memory": memory}
    requests = {resource: text for resource, text in amounts.items() if text}
    policy = {"restartPolicy": "Always"} if always else {}
    return {"name": name, "resources": {"requests": requests}, **policy}


def _resized(*, cpu: str, allocated: str, actual: str, reason: str) -> dict[str, Any]:
    """Return the pod of the page on resizing, 200Mi of memory, at one moment of a resize of its CPU."""
    status = {
        "name": "pause",
        "allocatedResources": {"cpu": allocated, "memory": "200Mi"},
        "resources": {"requests": {"cpu": actual, "memory": "200Mi"}},
    }
    pending = [{"type": "PodResizePending", "status": "True", "reason": reason}] if reason else []
    return {
        "spec": {"containers": [_asks(cpu, "200Mi", name="pause")]},
        "status": {"containerStatuses": [status], "conditions": pending},
    }


CASES: dict[str, tuple[dict[str, Any], float, float]] = {
    "manage-resources-containers: frontend": (
        {"spec": {"containers": [_asks("250m", "64Mi"), _asks("250m", "64Mi")]}}, 0.5, 128,
    ),
    "pod-level-resources: pod-resources-demo": (
        {"spec": {"resources": {"requests": {"cpu": "1", "memory": "100Mi"}},
                  "containers": [_asks("0.5", "50Mi"), {"name": "two"}]}}, 1.0, 100,
    ),
    "pod-overhead: kata-fc": (
        {"spec": {"overhead": {"memory": "120Mi", "cpu": "250m"},
                  "containers": [_asks("500m", "100Mi"), _asks("1500m", "100Mi")]}}, 2.25, 320,
    ),
    "init-containers: the highest of them is the effective one": (
        {"spec": {"containers": [_asks("100m", "64Mi")],
                  "initContainers": [_asks("300m", "32Mi"), _asks("200m", "256Mi")]}}, 0.3, 256,
    ),
    "init-containers: the sum of the others where it is higher": (
        {"spec": {"containers": [_asks("200m", "64Mi"), _asks("200m", "64Mi")],
                  "initContainers": [_asks("300m", "100Mi")]}}, 0.4, 128,
    ),
    "kep-753: sidecars count beside containers": (
        {"spec": {"containers": [_asks("1", "10Mi")],
                  "initContainers": [_asks("500m", "10Mi", always=True)]}}, 1.5, 20,
    ),
    "kep-753: an init container runs beside the sidecars before it": (
        {"spec": {"containers": [_asks("1", "10Mi")],
                  "initContainers": [_asks("2", "5Mi"), _asks("500m", "10Mi", always=True),
                                     _asks("2", "5Mi")]}}, 2.5, 20,
    ),
    "resize-container-resources: 700m becomes 800m": (
        _resized(cpu="800m", allocated="800m", actual="800m", reason=""), 0.8, 200,
    ),
    "resize-container-resources: 1000 cores are infeasible": (
        _resized(cpu="1000", allocated="800m", actual="800m", reason="Infeasible"), 0.8, 200,
    ),
    "kep-1287: a deferred resize keeps its room": (
        _resized(cpu="2", allocated="800m", actual="800m", reason="Deferred"), 2.0, 200,
    ),
    "kep-1287: what is in force counts until it is less": (
        _resized(cpu="500m", allocated="500m", actual="800m", reason=""), 0.8, 200,
    ),
}  # fmt: skip


@pytest.mark.parametrize("page", CASES)
def test_what_the_documentation_says_a_pod_requests(page: str) -> None:
    """CPU in cores and memory in MiB, as that page states them."""
    body, cores, mebibytes = CASES[page]
    request = effective_request(msgspec.json.decode(json.dumps(body), type=Pod))
    assert request == EffectiveRequest(cores, round(mebibytes * MIB), 0)


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("0.1", "100m"),  # "0.1 is equivalent to 100m"
        ("1", "1000m"),
        (
            "128974848",
            "128974848000m",
        ),  # "roughly the same value: 128974848, 129e6, 129M, 128974848000m, 123Mi"
        ("129e6", "129M"),
        ("128974848", "123Mi"),
    ],
)
def test_quantities_that_the_documentation_calls_equal(text: str, same: str) -> None:
    """`manage-resources-containers`, "Resource units in Kubernetes"."""
    assert parse_quantity(text) == parse_quantity(same)


def test_a_typing_error_that_the_documentation_warns_of() -> None:
    """400m of memory is 0.4 bytes, of which a whole one is held."""
    assert parse_whole("400m") == 1
