"""A full disk under the log: writers wait, the stack says so, and room alone brings everything back."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from bus import nats_connection, nats_publish
from bus.clock import SystemClock
from bus.nats_adapter import NatsBus
from bus.nats_server import NatsServer
from bus.port import Message
from bus.streams import StreamDeclaration
from foresail.stack import disk_space
from foresail.stack.disk_space import MIB, disk_trouble, restart_when_disk_has_room
from foresail.stack.log_server import max_file_store
from foresail.stack.supervised_processes import supervised_log
from foresail.stack.supervisor import Supervisor
from tests.patience import HANGS_SECONDS

DECLARATION = StreamDeclaration.of("c", "i1")
COUNT = 60


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Give a file system of 12 MiB; only root can make one."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=12m", "tmpfs", str(folder)],
        check=False,
        capture_output=True,
    )
    if mounted.returncode != 0:
        pytest.skip("cannot mount a small disk here")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def message(number: int) -> Message:
    """Return the n-th message of 100 KB."""
    one = f"d{number}"
    headers = {"Nats-Msg-Id": one, "ce-id": one}
    return Message("foresail.c.decision", headers, b" " * 100_000)


@pytest.mark.nats
async def test_a_full_disk_costs_time_and_nothing_else(
    small_disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk fills while a writer writes: it waits and says why, the server is restarted when
    there is room, and every message is stored once, in order.
    """
    for module in (nats_connection, nats_publish):
        monkeypatch.setattr(module, "ACK_SECONDS", 1.0)
    monkeypatch.setattr(disk_space, "CHECK_SECONDS", 0.2)
    changes: list[str] = []
    clock = SystemClock()

    def note(_name: str, what: str) -> None:
        changes.append(what)

    server = NatsServer(small_disk / "nats")
    (small_disk / "filler").write_bytes(bytes(8 * MIB))
    async with AsyncExitStack() as cleanup:
        supervisor = Supervisor(clock, patience_seconds=0.0)
        supervisor.add(supervised_log(server))
        cleanup.push_async_callback(supervisor.stop)
        await NatsBus.declare(await server.start(), DECLARATION)
        bus = await NatsBus.connect(server.url, cluster="c", stream=DECLARATION.name)
        cleanup.push_async_callback(bus.close)
        supervisor.keep(note, note)
        keeping = asyncio.create_task(
            restart_when_disk_has_room(server, clock, note, low_bytes=0, room_bytes=4 * MIB)
        )
        cleanup.callback(keeping.cancel)
        stored: list[int] = []

        async def write() -> None:
            for number in range(COUNT):
                stored.extend(await bus.publish([message(number)]))

        writing = asyncio.create_task(write())
        async with asyncio.timeout(HANGS_SECONDS):
            while not (bus.link().trouble and changes):
                await asyncio.sleep(0.05)
        full = len(stored)
        (small_disk / "filler").unlink()
        async with asyncio.timeout(HANGS_SECONDS):
            await writing
        found = [message.headers["ce-id"] async for message in bus.history(["foresail.c.>"])]

    assert 0 < full < COUNT
    assert "cannot write the log (no space left on device); publishers wait for room" == changes[0]
    assert "has room again; it is restarted" in changes
    assert [f"d{number}" for number in range(COUNT)] == found
    assert list(range(1, COUNT + 1)) == stored


def test_a_full_disk_is_named(tmp_path: Path) -> None:
    """Less than the limit is a line with the number; more is none."""
    assert "B are free on the disk of the log" in disk_trouble(tmp_path, 2**62)
    assert not disk_trouble(tmp_path, 0)


@pytest.mark.parametrize(
    ("max_bytes", "store"), [(2 * 1024**3, "16GB"), (15_000_000_001, "17GB"), (64 * 10**9, "65GB")]
)
def test_the_store_has_room_for_its_log(max_bytes: int, store: str) -> None:
    """The server's own limit never refuses a log that the settings allow."""
    assert store == max_file_store(max_bytes)
