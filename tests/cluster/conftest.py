"""The clusters that the contract suite runs against."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from bus.clock import SystemClock
from services.cluster import Transport
from services.official_client import OfficialClientTransport
from services.twin_transport import TwinTransport
from tests.real_api_server import ApiServer, api_server  # noqa: F401 - a fixture
from twin.port.api import InProcessTwin
from twin.port.workloads import open_workload

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
    scope="session",
    params=[
        "in process",
        pytest.param("over HTTP", marks=pytest.mark.twin),
        pytest.param("real", marks=pytest.mark.slow),
    ],
)
def kind(request: pytest.FixtureRequest) -> str | ApiServer:
    """Return each kind of cluster in turn; a real API server runs for the whole session."""
    if request.param == "real":
        server: ApiServer = request.getfixturevalue("api_server")
        return server
    return str(request.param)


@pytest.fixture
async def transport(
    kind: str | ApiServer, request: pytest.FixtureRequest
) -> AsyncIterator[Transport]:
    """Return a transport to each kind of cluster in turn."""
    made = _transport(kind, request)
    yield made
    await made.close()


def _transport(kind: str | ApiServer, request: pytest.FixtureRequest) -> Transport:
    if isinstance(kind, ApiServer):
        return OfficialClientTransport(kind.kubeconfig)
    if kind == "in process":
        workload = open_workload("idle", nodes=NODES, seed=1)
        return TwinTransport(InProcessTwin.of(workload, seed=1, speed=1.0, clock=SystemClock()))
    ready: dict[str, str] = request.getfixturevalue("served_twin")
    return OfficialClientTransport(Path(ready["admin_kubeconfig"]))
