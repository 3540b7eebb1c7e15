"""The clusters of the contract suite: the embedded one in process and over HTTP, and a real API
server where its binaries are at hand.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from inputs.clock import SystemClock
from tests.patience import HANGS_SECONDS
from tests.real_api_server import ApiServer, api_server  # noqa: F401 - a fixture
from twin.config import TwinConfig
from twin.config.access import AccessConfig
from twin.inprocess import InProcessTwin
from twin.tests.contract.faces import Face, InProcess, OverHttp, Place
from twin.workloads import open_workload

_numbers = count(1)


@pytest.fixture(
    scope="session",
    params=[
        "in process",
        pytest.param("served", marks=pytest.mark.twin),
        pytest.param("real", marks=pytest.mark.slow),
    ],
)
def face(request: pytest.FixtureRequest) -> Face:
    """Return each way to a cluster in turn."""
    if request.param == "in process":
        config = TwinConfig(access=AccessConfig(server_objects=True))
        workload = open_workload("idle", nodes=3, seed=1)
        twin = InProcessTwin.of(workload, seed=1, speed=1.0, clock=SystemClock(), config=config)
        return InProcess(twin)
    world: Face = request.getfixturevalue(f"{request.param}_cluster")
    return world


@pytest.fixture(
    scope="session", params=["in process", pytest.param("real", marks=pytest.mark.slow)]
)
def rbac_face(request: pytest.FixtureRequest) -> Face:
    """Return each way to a cluster whose Roles and bindings count; an administrator asks."""
    if request.param == "in process":
        config = TwinConfig(access=AccessConfig("rbac", server_objects=True))
        workload = open_workload("idle", nodes=1, seed=1)
        twin = InProcessTwin.of(workload, seed=1, speed=1.0, clock=SystemClock(), config=config)
        return InProcess(twin)
    world: Face = request.getfixturevalue("real_cluster")
    return world


@pytest.fixture
def place(face: Face) -> Place:
    """Return a new namespace."""
    name = f"contract-{os.getpid()}-{next(_numbers)}"
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    response = face.ask("POST", "/api/v1/namespaces", body=body)
    assert response.status == 201, response.text
    made = Place(face, name)
    if face.has_headers if face.simulated else face.collects:
        _wait_for_what_controllers_make(made)
    return made


def _wait_for_what_controllers_make(place: Place) -> None:
    """Wait for the ConfigMap that a control plane puts into every namespace, lest a watch shows it."""
    deadline = time.monotonic() + HANGS_SECONDS
    while place.ask("GET", "configmaps", "kube-root-ca.crt").status != 200:
        assert time.monotonic() < deadline, "no kube-root-ca.crt"
        time.sleep(0.05)


@pytest.fixture
def over_http(place: Place) -> Place:
    """Return a new namespace that is reached with headers and living watches."""
    if not place.face.has_headers:
        pytest.skip("the in-process adapter has neither headers nor watches that go on")
    return place


@pytest.fixture
def simulated_place(place: Place) -> Place:
    """Return a new namespace where controllers and kubelets are at work."""
    if not place.face.simulated:
        pytest.skip("an API server alone has no controllers and no kubelets")
    return place


@pytest.fixture
def simulated_face(face: Face) -> Face:
    """Return the embedded cluster."""
    if not face.simulated:
        pytest.skip("what is asked here is about the embedded cluster's own limits")
    return face


@pytest.fixture
def collected_place(place: Place) -> Place:
    """Return a new namespace where garbage and namespaces are collected."""
    if not place.face.collects:
        pytest.skip("this API server has no kube-controller-manager beside it")
    return place


@pytest.fixture(scope="session")
def served_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OverHttp]:
    """Start the embedded cluster as a process of its own."""
    folder = tmp_path_factory.mktemp("served")
    options = ("--nodes", "3", "--workload", "idle", "--kubeconfig-dir", str(folder))
    command = [sys.executable, "-m", "twin", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            ready = json.loads(process.stdout.readline())
            made = OverHttp(Path(ready["admin_kubeconfig"]), "served", simulated=True)
            yield made
            made.close()
        finally:
            process.terminate()


@pytest.fixture(scope="session")
def real_cluster(
    api_server: ApiServer,  # noqa: F811 - the fixture of that name
) -> Iterator[OverHttp]:
    """Return a real API server; skip where there is none."""
    made = OverHttp(api_server.kubeconfig, "real", simulated=False)
    made.collects = api_server.collects
    yield made
    made.close()
