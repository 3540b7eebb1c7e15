"""The clusters that the contract suite runs against."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from bus.clock import SystemClock
from services.cluster import OfficialClientTransport, Transport, TwinTransport
from twin.inprocess import InProcessTwin
from twin.workloads import open_workload

REAL = "FORESAIL_TEST_KUBECONFIG"
"""Kubeconfig of a throw-away cluster or API server; the suite creates and removes a namespace."""
NODES = 3


@pytest.fixture
def served_twin(tmp_path: Path) -> Iterator[dict[str, str]]:
    """Start the embedded cluster as a process of its own; what it said when it was ready."""
    options = ("--nodes", str(NODES), "--workload", "idle", "--kubeconfig-dir", str(tmp_path))
    command = [sys.executable, "-m", "twin", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield json.loads(process.stdout.readline())
        finally:
            process.terminate()


@pytest.fixture(
    params=[
        "in process",
        pytest.param("over HTTP", marks=pytest.mark.twin),
        pytest.param("real", marks=pytest.mark.slow),
    ]
)
async def transport(request: pytest.FixtureRequest) -> AsyncIterator[Transport]:
    """Return a transport to each kind of cluster in turn."""
    made = _transport(request)
    yield made
    await made.close()


def _transport(request: pytest.FixtureRequest) -> Transport:
    if request.param == "in process":
        workload = open_workload("idle", nodes=NODES, seed=1)
        return TwinTransport(InProcessTwin.of(workload, seed=1, speed=1.0, clock=SystemClock()))
    if request.param == "over HTTP":
        ready: dict[str, str] = request.getfixturevalue("served_twin")
        return OfficialClientTransport(Path(ready["admin_kubeconfig"]))
    if REAL not in os.environ:
        pytest.skip(f"no real API server here: set {REAL} to the kubeconfig of a throw-away one")
    return OfficialClientTransport(Path(os.environ[REAL]))
