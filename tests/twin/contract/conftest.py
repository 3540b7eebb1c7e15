"""The clusters of the contract suite: the embedded one in process and over HTTP, and a real API
server where its binaries are at hand.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import httpx
import pytest
import yaml

from bus.clock import SystemClock
from tests.twin.contract.faces import Face, InProcess, OverHttp, Place
from twin.inprocess import InProcessTwin
from twin.workloads import open_workload

ASSETS = "KUBEBUILDER_ASSETS"
TOKEN = "token-of-the-contract-suite"
START_SECONDS = 60.0
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
        workload = open_workload("idle", nodes=3, seed=1)
        twin = InProcessTwin.of(workload, seed=1, speed=1.0, clock=SystemClock())
        return InProcess(twin)
    found: Face = request.getfixturevalue(f"{request.param}_cluster")
    return found


@pytest.fixture
def place(face: Face) -> Place:
    """Return a new namespace."""
    name = f"contract-{os.getpid()}-{next(_numbers)}"
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    found = face.ask("POST", "/api/v1/namespaces", body=body)
    assert found.status == 201, found.text
    return Place(face, name)


@pytest.fixture
def over_http(place: Place) -> Place:
    """Return a new namespace that is reached with headers and living watches."""
    if not place.face.has_headers:
        pytest.skip("the in-process adapter has neither headers nor watches that go on")
    return place


@pytest.fixture
def simulated(place: Place) -> Place:
    """Return a new namespace where controllers and kubelets are at work."""
    if not place.face.simulated:
        pytest.skip("an API server alone has no controllers and no kubelets")
    return place


@pytest.fixture
def collected(place: Place) -> Place:
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
def real_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OverHttp]:
    """Start etcd and kube-apiserver, and what collects garbage; skip where there are none."""
    etcd, server = _binary("etcd"), _binary("kube-apiserver")
    if etcd is None or server is None:
        pytest.skip(f"no real API server here: no etcd and kube-apiserver on PATH or in {ASSETS}")
    folder = tmp_path_factory.mktemp("real")
    ports = [_free_port() for _ in range(3)]
    with (folder / "log").open("wb") as log:
        store = subprocess.Popen(_etcd(etcd, folder, ports), stdout=log, stderr=log)
        served = subprocess.Popen(_server(server, folder, ports), stdout=log, stderr=log)
        started = [store, served]
        try:
            made = OverHttp(_kubeconfig(folder, ports[2]), "real", simulated=False)
            _wait(made, folder / "log", served)
            controllers = _binary("kube-controller-manager")
            if controllers is not None:
                command = _controllers(controllers, folder)
                started.append(subprocess.Popen(command, stdout=log, stderr=log))
                made.collects = True
            yield made
            made.close()
        finally:
            for process in reversed(started):
                process.terminate()
                process.wait(20)


def _binary(name: str) -> str | None:
    assets = os.environ.get(ASSETS, "")
    return shutil.which(name, path=assets) if assets else shutil.which(name)


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


def _etcd(binary: str, folder: Path, ports: list[int]) -> list[str]:
    client, peer = (f"http://127.0.0.1:{port}" for port in ports[:2])
    return [
        binary,
        f"--data-dir={folder / 'etcd'}",
        f"--listen-client-urls={client}",
        f"--advertise-client-urls={client}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=default={peer}",
        "--log-level=error",
    ]


def _server(binary: str, folder: Path, ports: list[int]) -> list[str]:
    key = folder / "service-account.key"
    subprocess.run(["openssl", "genrsa", "-out", str(key), "2048"], check=True, capture_output=True)
    (folder / "tokens.csv").write_text(f'{TOKEN},tester,1,"system:masters"\n', encoding="utf-8")
    return [
        binary,
        f"--etcd-servers=http://127.0.0.1:{ports[0]}",
        "--bind-address=127.0.0.1",
        f"--secure-port={ports[2]}",
        f"--cert-dir={folder / 'certificates'}",
        f"--token-auth-file={folder / 'tokens.csv'}",
        "--authorization-mode=RBAC",
        f"--service-account-key-file={key}",
        f"--service-account-signing-key-file={key}",
        "--service-account-issuer=https://kubernetes.default.svc",
        "--service-cluster-ip-range=10.96.0.0/16",
        "--disable-admission-plugins=ServiceAccount",  # nobody makes the accounts here
    ]


def _controllers(binary: str, folder: Path) -> list[str]:
    return [
        binary,
        f"--kubeconfig={folder / 'kubeconfig'}",
        "--controllers=garbage-collector-controller,namespace-controller",
        "--leader-elect=false",
        "--bind-address=127.0.0.1",
        f"--secure-port={_free_port()}",
        f"--cert-dir={folder / 'controllers'}",
    ]


def _kubeconfig(folder: Path, port: int) -> Path:
    file = folder / "kubeconfig"
    cluster = {"server": f"https://127.0.0.1:{port}", "insecure-skip-tls-verify": True}
    content = {
        "clusters": [{"name": "real", "cluster": cluster}],
        "users": [{"name": "tester", "user": {"token": TOKEN}}],
        "contexts": [{"name": "real", "context": {"cluster": "real", "user": "tester"}}],
        "current-context": "real",
    }
    file.write_text(yaml.safe_dump(content), encoding="utf-8")
    return file


def _wait(face: OverHttp, log: Path, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + START_SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        try:
            if face.ask("GET", "/readyz").status == 200:
                found = face.ask("GET", "/api/v1/namespaces/default")
                if found.status == 200:
                    return
        except httpx.HTTPError:
            pass
        time.sleep(0.2)
    raise AssertionError(log.read_text(errors="replace")[-2_000:])
