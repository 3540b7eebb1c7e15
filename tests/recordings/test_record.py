"""`record`: from the beginning, a point in the past or now, all layers or some; always re-runnable."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from bus.errors import InputError
from bus.memory_adapter import MemoryBus, MemoryLog
from bus.port import Message, Messages
from bus.recording import RecordingWriter, open_recording
from bus.recording.check import check_file
from bus.recording.window import cycle_of_message
from foresail.recording.log_part import LogPart, beginning_for, first_since, patterns_of
from foresail.recording.record import _copy
from lab.rerun.verify import verify

CLUSTER = "twin"


@pytest.fixture
async def bus(run_file: Path) -> MemoryBus:
    """Return a log that holds the run, at the same positions and times."""
    now = [0]
    log = MemoryLog(wall_ns=lambda: now[0])
    bus = MemoryBus(log, CLUSTER)
    for message in open_recording(run_file):
        now[0] = message.time_ns
        await bus.publish([Message(message.subject, message.headers, message.data)])
    return bus


async def record_from(
    bus: MemoryBus, run_file: Path, target: Path, seq: int, layers: tuple[str, ...] | None = None
) -> LogPart:
    """Record from a position on, as the verb does."""
    patterns = patterns_of(CLUSTER, layers)
    part = await beginning_for(bus, CLUSTER, patterns, seq, 1)
    header = open_recording(run_file).header
    writer = RecordingWriter(
        target, header if part.whole else {**header, "cut": part.header_entry()}
    )
    for head in part.heads:
        writer.write(head)
    async for message in bus.history(patterns, start_seq=part.first_seq):
        writer.write(message)
    writer.seal()
    return part


async def test_a_recording_from_the_past_can_be_re_run(
    bus: MemoryBus, run_file: Path, tmp_path: Path
) -> None:
    """Begun in the middle of a log, it begins with what the middle needs, and verifies."""
    seq = await first_since(bus, CLUSTER, await bus.info(), cycle=50)
    part = await record_from(bus, run_file, tmp_path / "a", seq)
    report = verify(tmp_path / "a")

    assert 1 < part.first_seq < part.from_seq == seq
    assert part.complete
    assert check_file(tmp_path / "a").whole
    assert report.holds
    assert report.layers["decision"].equal >= 10


async def test_a_beginning_is_the_same_however_far_one_looks_back(
    bus: MemoryBus, run_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Looking back step by step finds what reading the whole log finds."""
    whole = await record_from(bus, run_file, tmp_path / "a", 800)
    monkeypatch.setattr("foresail.recording.log_part.LOOK_BACK", 5)
    assert whole == await record_from(bus, run_file, tmp_path / "b", 800)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


async def test_some_layers_are_recorded_with_the_settings(
    bus: MemoryBus, run_file: Path, tmp_path: Path
) -> None:
    """Only the wanted layers are there, from a keyframe on where they have any, and settings."""
    log = [message.seq for message in open_recording(run_file)]
    asked = log[len(log) * 3 // 4]
    part = await record_from(bus, run_file, tmp_path / "a", asked, ("observation", "decision"))
    messages = list(open_recording(tmp_path / "a"))
    first = next(message for message in messages if message.subject.endswith(".observation"))

    assert {"config", "observation", "decision"} == {
        message.subject.split(".")[2] for message in messages
    }
    assert json.loads(first.data)["frame"]["frame"] == "keyframe"
    assert part.complete
    assert asked // 2 < part.first_seq <= part.from_seq
    with pytest.raises(InputError, match="--layers = dreams: choose from snapshot"):
        patterns_of(CLUSTER, ("dreams",))


async def test_a_moment_is_found_in_the_log(bus: MemoryBus, run_file: Path) -> None:
    """The first message of a cycle, and the first at or after a time."""
    log, info = list(open_recording(run_file)), await bus.info()
    by_cycle = await first_since(bus, CLUSTER, info, cycle=30)
    by_time = await first_since(bus, CLUSTER, info, time_ns=log[400].time_ns)

    assert 30 == cycle_of_message(log[by_cycle - 1])
    assert log[by_time - 1].time_ns == log[400].time_ns
    assert log[by_time - 2].time_ns < log[400].time_ns
    assert info.last_seq + 1 == await first_since(bus, CLUSTER, info, cycle=9_999)


async def test_a_time_to_follow_begins_when_the_log_is_written(
    bus: MemoryBus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A log that takes longer to read than one wants to follow it is whole all the same."""
    stored = (await bus.info()).last_seq

    def slow(read: Callable[..., Messages]) -> Callable[..., Messages]:
        async def slowly(patterns: list[str], *, start_seq: int) -> Messages:
            async for message in read(patterns, start_seq=start_seq):
                await asyncio.sleep(1e-4)
                yield message

        return slowly

    monkeypatch.setattr(bus, "history", slow(bus.history))
    monkeypatch.setattr(bus, "read", slow(bus.read))
    writer = RecordingWriter(tmp_path / "a", {})
    part = LogPart(1, 1, complete=True, whole=True)
    patterns = patterns_of(CLUSTER, None)
    count, stopped = await _copy(bus, patterns, writer, part, 1e-3, follow=True)
    writer.close()

    assert (count, stopped) == (stored, False)
