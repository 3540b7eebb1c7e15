"""A recording as a bus: what is asked for is read from the file, and hardly anything of it stays in memory."""

from __future__ import annotations

import gc
import shutil
from pathlib import Path

import pytest

from bus.errors import BusUnavailable
from bus.port import StoredMessage
from bus.recording import bus as bus_module
from bus.recording import open_recording
from bus.recording.bus import RecordingBus
from tests.architecture.source_tree import ROOT

RECORDING = ROOT / "tests" / "golden" / "v2.fslog"


def held() -> int:
    """Return how many stored messages are in memory."""
    gc.collect()
    return sum(1 for one in gc.get_objects() if type(one) is StoredMessage)


async def test_no_message_is_held_and_each_is_as_it_was_recorded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Read in order, twice, by a subject and one alone: the same messages; of frames the newest are kept."""
    monkeypatch.setattr(bus_module, "KEPT_FRAMES", 2)
    before = held()
    bus = RecordingBus(RECORDING)
    after_opening = held()
    async for message in bus.history([">"]):
        assert held() <= before + 1
        if message.seq == 40:
            break
    read = [[message async for message in bus.history([">"])] for _ in range(2)]
    recorded = list(open_recording(RECORDING))
    of_decisions = [
        one async for one in bus.history(["foresail.twin.decision"], start_seq=9, end_seq=200)
    ]
    info = await bus.info()

    assert after_opening == before
    assert read[0] == read[1] == recorded
    assert of_decisions == [
        one for one in recorded if one.subject == "foresail.twin.decision" and 9 <= one.seq <= 200
    ]
    assert (
        await bus.last("foresail.twin.decision")
        == [one for one in recorded if one.subject == "foresail.twin.decision"][-1]
    )
    assert await bus.last("foresail.twin.nobody") is None
    assert (info.first_seq, info.last_seq, info.messages) == (1, recorded[-1].seq, len(recorded))
    assert info.bytes == sum(len(one.data) for one in recorded)
    assert len(bus._lines) == 2


async def test_a_file_that_changed_meanwhile_is_said(tmp_path: Path) -> None:
    """It was proven when it was opened; what is not there any more is no message."""
    file = tmp_path / "run.fslog"
    shutil.copy(RECORDING, file)
    bus = RecordingBus(file)
    with file.open("r+b") as opened:
        opened.truncate(200)

    with pytest.raises(BusUnavailable, match=r"run\.fslog changed after it was opened"):
        _ = [message async for message in bus.history([">"])]
