"""The embedded server's folder: who looks after it, and what a machine without power leaves of it."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from bus.nats_server import PID_FILE, NatsServer

pytestmark = pytest.mark.nats


async def test_it_comes_back_where_it_was(tmp_path: Path) -> None:
    """Killed, it tells how it ended and starts again on its port; its process id is in its folder."""
    server = NatsServer(tmp_path / "nats")
    url = await server.start()
    first = server.pid
    assert first == int((server.folder / PID_FILE).read_text())
    os.kill(first, signal.SIGKILL)

    assert -signal.SIGKILL == await server.wait()
    await server.restart()
    assert url == server.url
    assert first != server.pid == int((server.folder / PID_FILE).read_text())
    assert not server.write_error()
    await server.stop()


async def test_everything_in_the_folder_is_synced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After `persist` every file and folder of the store has been given to the disk."""
    server = NatsServer(tmp_path / "nats")
    await server.start()
    synced: set[str] = set()
    real = os.fsync

    def fsync(descriptor: int) -> None:
        synced.add(str(Path(f"/proc/self/fd/{descriptor}").readlink()))
        real(descriptor)

    monkeypatch.setattr("bus.nats_server.os.fsync", fsync)
    there = {str(path) for path in server.folder.rglob("*")} | {str(server.folder)}
    server.persist()
    await server.stop()

    assert there <= synced
