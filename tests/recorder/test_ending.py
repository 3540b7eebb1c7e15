"""A recorder that is told to stop ends its work, however often it is told."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from bus.clock import SystemClock
from bus.memory_adapter import MemoryBus, MemoryLog
from bus.port import StoredMessage
from bus.process import Progress
from bus.recording.log_part import LogPart
from schemas.identity import Origin
from services.recorder import service
from services.recorder.rolling import RecordingFolder
from services.recorder.settings import RecorderSettings

ORIGIN = Origin("c", "i1")


async def test_it_ends_its_work_though_it_is_cancelled_meanwhile(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Whoever stops a process cancels it again and again; following takes a while to end."""
    finished = []

    class SlowToEnd(service.Recorder):
        async def follow(self) -> None:
            try:
                await asyncio.Event().wait()
            finally:
                await asyncio.shield(asyncio.sleep(0.3))

        async def finish(self) -> None:
            finished.append(True)

    monkeypatch.setattr(service, "Recorder", SlowToEnd)
    settings = RecorderSettings(folder=str(tmp_path))
    task: asyncio.Task[Any] = asyncio.create_task(
        service.run(
            settings, MemoryBus(MemoryLog(), "c"), SystemClock(), ORIGIN, progress=Progress()
        )
    )
    await asyncio.sleep(0.05)
    while not task.done():
        task.cancel()
        await asyncio.wait({task}, timeout=0.05)

    assert finished


def test_what_lacks_its_beginning_is_not_kept(tmp_path: Path) -> None:
    """Stopped before all that has to stand in front was written, a recording is begun anew."""
    folder = RecordingFolder(RecorderSettings(folder=str(tmp_path), least_free_bytes=0), ORIGIN)
    message = StoredMessage(7, 10**18, "foresail.c.decision", {}, b"{}")
    folder.open(message, LogPart(5, 7, False, False), {})
    folder.discard()

    assert not folder.is_open
    assert list(tmp_path.iterdir()) == []
    assert not folder.covers(message)
