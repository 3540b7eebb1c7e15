"""A real API server for contract suites: one that is named, or etcd and kube-apiserver started here."""

from __future__ import annotations

import os
import shutil
import socket
import ssl
import subprocess
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from tests.patience import HANGS_SECONDS

NAMED = "FORESAIL_TEST_KUBECONFIG"
"""Kubeconfig of a throw-away cluster; the suites create and remove namespaces of their own."""
ASSETS = "KUBEBUILDER_ASSETS"
"""Folder of etcd, kube-apiserver and, for garbage collection, kube-controller-manager."""
COLLECTING = (
    "garbage-collector-controller,namespace-controller,clusterrole-aggregation-controller,"
    "serviceaccount-controller,root-ca-certificate-publisher-controller,"
    "persistentvolume-binder-controller,persistentvolumeclaim-protection-controller,"
    "persistentvolume-protection-controller,service-cidr-controller"
)
"""The controllers that contract suites need."""
TOKEN = "token-of-the-contract-suite"


@dataclass(frozen=True, slots=True)
class ApiServer:
    """A running API server."""

    kubeconfig: Path
    collects: bool
    """Whether garbage and namespaces are collected."""


@pytest.fixture(scope="session")
def api_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    """Return the real API server of this machine; skip where there is none."""
    if NAMED in os.environ:
        yield ApiServer(Path(os.environ[NAMED]), collects=True)
        return
    etcd, server = _binary("etcd"), _binary("kube-apiserver")
    if etcd is None or server is None:
        pytest.skip(
            f"no real API server here: no etcd and kube-apiserver on PATH or in {ASSETS}, and "
            f"{NAMED} names no throw-away cluster"
        )
    with _start(tmp_path_factory.mktemp("real"), etcd, server) as started:
        yield started


@contextmanager
def real_cluster_in(folder: Path, controllers: str) -> Iterator[ApiServer]:
    """Start a real API server of one's own with these controllers; skip where a binary is missing."""
    names = ("etcd", "kube-apiserver", "kube-controller-manager")
    etcd, server, manager = map(_binary, names)
    if etcd is None or server is None or manager is None:
        pytest.skip(f"no real cluster here: no {', '.join(names)} on PATH or in {ASSETS}")
    with _start(folder, etcd, server, controllers) as started:
        yield started


@contextmanager
def real_server_in(folder: Path, *flags: str) -> Iterator[ApiServer]:
    """Start a real API server of one's own with these flags; skip where a binary is missing."""
    etcd, server = _binary("etcd"), _binary("kube-apiserver")
    if etcd is None or server is None:
        pytest.skip(f"no real API server here: no etcd and kube-apiserver on PATH or in {ASSETS}")
    with _start(folder, etcd, server, "", flags) as started:
        yield started


@contextmanager
def _start(
    folder: Path,
    etcd: str,
    server: str,
    expected: str = COLLECTING,
    flags: Sequence[str] = (),
) -> Iterator[ApiServer]:
    """Start a server; with no `expected` controllers, alone."""
    ports = [_free_port() for _ in range(3)]
    kubeconfig = _kubeconfig(folder, ports[2])
    with (folder / "log").open("wb") as log:
        processes = [
            subprocess.Popen(command, stdout=log, stderr=log)
            for command in (
                _etcd(etcd, folder, ports),
                [*_server(server, folder, ports), *flags],
            )
        ]
        try:
            _wait(ports[2], folder / "log", processes)
            controllers = _binary("kube-controller-manager") if expected else None
            if controllers is not None:
                command = _controllers(controllers, folder, expected)
                processes.append(subprocess.Popen(command, stdout=log, stderr=log))
            yield ApiServer(kubeconfig, collects=controllers is not None)
        finally:
            for process in reversed(processes):
                process.terminate()
                process.wait(HANGS_SECONDS)


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
        "--disable-admission-plugins=ServiceAccount",  # accounts are made too late for suites
    ]


def _controllers(binary: str, folder: Path, expected: str) -> list[str]:
    return [
        binary,
        f"--kubeconfig={folder / 'kubeconfig'}",
        f"--controllers={expected}",
        "--leader-elect=false",
        "--pvclaimbinder-sync-period=1s",
        "--bind-address=127.0.0.1",
        f"--secure-port={_free_port()}",
        f"--cert-dir={folder / 'controllers'}",
        f"--root-ca-file={folder / 'certificates' / 'apiserver.crt'}",
    ]


def _kubeconfig(folder: Path, port: int) -> Path:
    file = folder / "kubeconfig"
    authority = folder / "certificates" / "apiserver.crt"  # the server signs for itself
    cluster = {"server": f"https://127.0.0.1:{port}", "certificate-authority": str(authority)}
    content = {
        "clusters": [{"name": "real", "cluster": cluster}],
        "users": [{"name": "tester", "user": {"token": TOKEN}}],
        "contexts": [{"name": "real", "context": {"cluster": "real", "user": "tester"}}],
        "current-context": "real",
    }
    file.write_text(yaml.safe_dump(content), encoding="utf-8")
    return file


def _wait(port: int, log: Path, processes: list[subprocess.Popen[bytes]]) -> None:
    """Wait until the server is ready and has made its first namespaces."""
    deadline = time.monotonic() + HANGS_SECONDS
    unverified = ssl._create_unverified_context()
    while time.monotonic() < deadline and all(process.poll() is None for process in processes):
        try:
            for path in ("/readyz", "/api/v1/namespaces/default"):
                request = urllib.request.Request(f"https://127.0.0.1:{port}{path}")
                request.add_header("Authorization", f"Bearer {TOKEN}")
                urllib.request.urlopen(request, context=unverified, timeout=5).close()
        except OSError:
            time.sleep(0.2)
        else:
            return
    raise AssertionError(log.read_text(errors="replace")[-2_000:])
