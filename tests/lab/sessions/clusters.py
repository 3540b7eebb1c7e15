"""Clusters that really run commands, for the Jobs of sessions: a twin, and a real control plane where there is one."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from kubernetes import client, config

from bus.clock import SystemClock
from lab.fidelity.real.processes import CONTROL_PLANE, ControlPlane
from proofs.real_programs.processes import Missing, program
from tests.lab.sessions.kubelet import Kubelet
from tests.patience import HANGS_SECONDS

CONTROLLERS = (
    *("job-controller", "ttl-after-finished-controller", "garbage-collector-controller"),
    *("namespace-controller", "resourcequota-controller"),
)
"""What the Jobs of a session need of kube-controller-manager."""


@contextmanager
def serving_twin(folder: Path, *options: str) -> Iterator[Path]:
    """Serve an idle cluster of three nodes; yields the administrator's kubeconfig."""
    command = [
        *(sys.executable, "-m", "twin", "--nodes", "3", "--workload", "idle", "--seed", "4"),
        *("--run-commands", "true", "--weather", "off", "--kubeconfig-dir", str(folder), *options),
    ]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    try:
        assert process.stdout is not None
        yield Path(json.loads(process.stdout.readline())["admin_kubeconfig"])
    finally:
        process.terminate()
        process.communicate(timeout=HANGS_SECONDS)


def left_of(kubeconfig: Path, session: str) -> list[str]:
    """Return the Jobs and pods of a session that are there."""
    api = config.new_client_from_config(str(kubeconfig))
    selector = f"foresail.dev/session={session}"
    jobs = client.BatchV1Api(api).list_namespaced_job("default", label_selector=selector).items
    pods = client.CoreV1Api(api).list_namespaced_pod("default", label_selector=selector).items
    api.rest_client.close()
    return [one.metadata.name for one in (*jobs, *pods)]


def until_nothing_left(kubeconfig: Path, session: str) -> None:
    """Wait until a session has neither Job nor pod."""
    deadline = time.monotonic() + HANGS_SECONDS
    while left := left_of(kubeconfig, session):
        assert time.monotonic() < deadline, f"still there: {', '.join(left)}"
        time.sleep(0.1)


@contextmanager
def serving_real_cluster(folder: Path) -> Iterator[Path]:
    """Run a real control plane with one node; yields its kubeconfig, skips where its programs are not to be found."""
    try:
        binaries = {program(name).parent for name in CONTROL_PLANE}
    except Missing as missing:
        pytest.skip(str(missing))
    plane = ControlPlane(binaries.pop(), folder / "plane", CONTROLLERS)
    with ExitStack() as stack:
        stack.callback(plane.close)
        cluster = asyncio.run(plane.start(SystemClock()))
        kubelet = Kubelet(cluster, folder / "kubelet")
        kubelet.start()
        stack.callback(kubelet.close)
        yield plane.kubeconfig
