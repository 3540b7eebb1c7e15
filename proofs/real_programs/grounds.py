"""What a program runs on: a twin, or a real API server with real controllers and nodes that are kept up by hand."""

from __future__ import annotations

import asyncio
import os
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime
from http.client import HTTPException
from pathlib import Path

from bus.clock import SystemClock
from lab.fidelity.cluster import Cluster, ask
from lab.fidelity.real.http_cluster import HttpCluster
from lab.fidelity.real.node_keeper import NodeKeeper
from lab.fidelity.real.processes import CONTROL_PLANE, ControlPlane
from proofs.real_programs.processes import ASSETS, Twin, free_port, program
from proofs.real_programs.requests import Api, Object, until

LOOK_SECONDS = 0.4
_NODE = {"cpu": "16", "memory": "64Gi", "pods": "110"}
_OF_OTHERS = ("service-ca-certificate-publisher-controller",)
"""Controllers that serve one distribution alone: its ConfigMap in every namespace is nothing that others have."""
Ground = Callable[..., AbstractContextManager[Api]]
"""(folder, nodes=1, without=()): a cluster of so many nodes without these controllers, and without a scheduler if there
are any; yields its administrator.
"""


@contextmanager
def twin_ground(folder: Path, nodes: int = 1, without: Sequence[str] = ()) -> Iterator[Api]:
    """Start a twin; `without` any controller it has none of the controller manager's and no scheduler."""
    left_out = ("--without", "scheduler,controller-manager") if without else ()
    lasting = ("--port", str(free_port()), "--journal", str(folder / "journal"))
    twin = Twin(folder, ("--nodes", str(nodes), *lasting, *left_out))
    twin.api.restart_server = twin.restart
    try:
        yield twin.api
    finally:
        twin.end()


@contextmanager
def real_ground(folder: Path, nodes: int = 1, without: Sequence[str] = ()) -> Iterator[Api]:
    """Start etcd, kube-apiserver and the other controllers, and keep nodes and pods as kubelets would.

    Raises Missing when one of the programs is not on this machine.
    """
    for name in CONTROL_PLANE:
        program(name)
    place = folder / "control-plane"
    controllers = ("*", *(f"-{name}" for name in (*without, *_OF_OTHERS)))
    plane = ControlPlane(
        Path(os.environ.get(ASSETS, "")),
        place,
        controllers,
        scheduler=not without,
        accounts=True,
        server_flags=front_proxy_flags(folder),
    )
    try:
        cluster = asyncio.run(plane.start(SystemClock()))
        api = Api(plane.kubeconfig)
        with _kept(cluster):
            for number in range(nodes):
                api.ask("POST", "/api/v1/nodes", _node(f"node-{number:04}"))
            account = "/api/v1/namespaces/default/serviceaccounts/default"
            until("the default account", lambda: api.find(account), 60)
            until("ready nodes", lambda: all(map(_ready, api.items("/api/v1/nodes"))), 60)
            yield api
    finally:
        plane.close()


GROUNDS: dict[str, Ground] = {"twin": twin_ground, "real": real_ground}


def front_proxy_flags(folder: Path) -> tuple[str, ...]:
    """Return the flags by which the server tells other API servers who asks."""
    key, certificate = folder / "front-proxy.key", folder / "front-proxy.crt"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj",
               "/CN=front-proxy", "-keyout", str(key), "-out", str(certificate)]  # fmt: skip
    subprocess.run(command, check=True, capture_output=True)
    return (
        f"--requestheader-client-ca-file={certificate}",
        "--requestheader-allowed-names=front-proxy",
        "--requestheader-username-headers=X-Remote-User",
        "--requestheader-group-headers=X-Remote-Group",
        "--requestheader-extra-headers-prefix=X-Remote-Extra-",
        f"--proxy-client-cert-file={certificate}",
        f"--proxy-client-key-file={key}",
    )


def _node(name: str) -> Object:
    labels = {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux"}
    status = {"capacity": _NODE, "allocatable": _NODE}
    return {"metadata": {"name": name, "labels": labels}, "status": status}


def _ready(node: Object) -> bool:
    return not node["spec"].get("taints")


@contextmanager
def _kept(cluster: Cluster) -> Iterator[None]:
    """Keep nodes and pods until the block ends, in a thread of its own."""
    ended, keeper = threading.Event(), NodeKeeper(cluster)

    def keep() -> None:
        while not ended.wait(LOOK_SECONDS):
            stamp = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
            try:
                pods = ask(cluster, "GET", "/api/v1/pods")["items"]
                nodes = ask(cluster, "GET", "/api/v1/nodes")["items"]
                keeper.work(time.monotonic(), stamp, pods, nodes)
            except (RuntimeError, OSError, HTTPException):
                continue  # a busy machine: the next look finds the same

    thread = threading.Thread(target=keep, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
        if isinstance(cluster, HttpCluster):
            cluster.close()
