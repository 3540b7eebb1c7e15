"""One log, many recordings: sealed by the hour, without a hole or a double at any seam, whatever kills the recorder."""

from __future__ import annotations

import asyncio
import signal
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from bus.recording.check import check_file
from bus.recording.log_part import LogPart
from bus.streams import StreamDeclaration
from schemas.identity import Origin
from services.recorder.names import RecordingName, read_name
from services.recorder.rolling import RecordingFolder
from services.recorder.settings import RecorderSettings
from tests.recorder.conftest import Log, log_lines, recorded, until

pytestmark = [pytest.mark.nats, pytest.mark.timeout(400)]


async def stop(process: asyncio.subprocess.Process) -> int:
    """Ask a recorder to end; return its exit code."""
    process.send_signal(signal.SIGTERM)
    return await process.wait()


async def test_every_event_is_in_the_recordings_once(log: Log, tmp_path: Path) -> None:
    """Rolled each second, the recordings together hold the log, each file is whole, and no seam loses anything."""
    folder, output = tmp_path / "recordings", tmp_path / "recorder.log"
    process = await log.start_recorder({"folder": str(folder), "roll_seconds": 1}, output)
    for _ in range(35):
        await log.write(20)
        await asyncio.sleep(0.1)
    assert await stop(process) == 0

    files = sorted(folder.iterdir())
    assert len(files) >= 3
    assert all(check_file(file).whole for file in files)
    stored = await log.stored()
    assert [message for message in recorded(folder) if message.subject == stored[-1].subject] == [
        message for message in stored if message.subject == stored[-1].subject
    ]


async def test_a_killed_recorder_goes_on_where_it_was(log: Log, tmp_path: Path) -> None:
    """Killed again and again while events come, it leaves no hole and no double, in sealed files alone."""
    folder, output = tmp_path / "recordings", tmp_path / "recorder.log"
    random = Random(7)
    settings = {"folder": str(folder), "roll_seconds": 2}
    for _ in range(6):
        process = await log.start_recorder(settings, output)
        for _ in range(random.randrange(2, 12)):
            await log.write(random.randrange(1, 60))
            await asyncio.sleep(0.1)
        process.kill()
        await process.wait()
        await log.write(30)
    process = await log.start_recorder(settings, output)
    await log.write(10)
    assert await stop(process) == 0

    assert not list(folder.glob("*.partial"))
    counts = Counter(message.seq for message in recorded(folder))
    stored = {message.seq: message for message in await log.stored()}
    assert sorted(counts) == sorted(stored)
    assert {seq for seq, count in counts.items() if count > 1} <= {
        seq for seq, message in stored.items() if ".config." in message.subject
    }
    assert {message.seq: message for message in recorded(folder)} == stored


async def test_a_log_of_the_same_name_is_recorded_from_its_beginning(
    log: Log, tmp_path: Path
) -> None:
    """After `foresail reset` a log has the old one's name and begins anew: recorded positions hold other events."""
    folder, output = tmp_path / "recordings", tmp_path / "recorder.log"
    other = RecordingFolder(RecorderSettings(folder=str(folder)), Origin("c", "i1"))
    folder.mkdir()
    await log.write(5)
    stored = await log.stored()
    old = [
        type(message)(message.seq, message.time_ns - 86_400 * 10**9, message.subject, {}, b"{}")
        for message in stored
    ]
    other.open(old[0], LogPart(1, 1, complete=True, whole=True), {})
    for message in old:
        other.write(message)
    other.seal()

    process = await log.start_recorder({"folder": str(folder)}, output)
    await asyncio.sleep(0.5)
    assert await stop(process) == 0
    found = recorded(folder)
    assert all(message in found for message in stored)
    assert len(list(folder.glob("*.fslog"))) == 2


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Give a file system of 3 MiB; only root can make one."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(folder)],
        check=False,
        capture_output=True,
    )
    if mounted.returncode != 0:
        pytest.skip("cannot mount a small disk here")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


@pytest.mark.parametrize("least_free_bytes", [0, 1024**2])
async def test_a_full_disk_is_one_line_and_costs_nothing(
    log: Log, small_disk: Path, tmp_path: Path, least_free_bytes: int
) -> None:
    """The disk fills: that is said once, as a line and in the log; with room again everything is recorded."""
    output = tmp_path / "recorder.log"
    filler = small_disk / "filler"
    filler.write_bytes(bytes(3 * 1024**2 // 2))
    settings = {
        "folder": str(small_disk / "recordings"),
        "retry_seconds": 0.3,
        "least_free_bytes": least_free_bytes,
    }
    process = await log.start_recorder(settings, output)
    await log.write(60, size=100_000)
    await until(lambda: any(line["level"] == "error" for line in log_lines(output)))
    await asyncio.sleep(1.0)
    assert process.returncode is None
    filler.unlink()
    filling = small_disk / "recordings"
    await asyncio.to_thread(
        subprocess.run, ["mount", "-o", "remount,size=40m", str(small_disk)], check=True
    )
    await until(lambda: any(line["event"] == "is well again" for line in log_lines(output)))
    await log.write(5)
    assert await stop(process) == 0

    errors = [line["event"] for line in log_lines(output) if line["level"] == "error"]
    assert len(errors) == 1
    assert "nothing is recorded since" in errors[0]
    assert "No space left on device" in errors[0]
    stored = await log.stored()
    assert {message.seq: message for message in recorded(filling)} == {
        message.seq: message for message in stored
    }
    told = [message for message in stored if message.subject.endswith("run.error.recorder")]
    assert len(told) == 1


async def test_what_the_log_gave_up_meanwhile_is_named(log: Log, tmp_path: Path) -> None:
    """A recorder that was away for longer than the log keeps says how much is lost, and goes on."""
    folder, output = tmp_path / "recordings", tmp_path / "recorder.log"
    settings = {"folder": str(folder)}
    process = await log.start_recorder(settings, output)
    await log.write(50)
    assert await stop(process) == 0
    small = StreamDeclaration.of("c", "i1", max_bytes=1024**2)
    await log.bus.declare(log.url, small)
    await log.write(40, size=50_000)
    first_seq = (await log.bus.info()).first_seq
    assert first_seq > 52
    process = await log.start_recorder(settings, output)
    await until(lambda: any(line["level"] == "error" for line in log_lines(output)))
    await asyncio.sleep(0.5)
    assert await stop(process) == 0

    (error,) = [line["event"] for line in log_lines(output) if line["level"] == "error"]
    assert f"the log gave up seq 52 to {first_seq - 1}" in error
    seqs = {message.seq for message in recorded(folder)}
    assert set(range(first_seq, (await log.bus.info()).last_seq + 1)) <= seqs


def test_names_say_what_is_in_a_file() -> None:
    """A name gives cluster, start, time and position back, also where the cluster's name has dashes."""
    name = RecordingName("my-shop_1", "i12", 1_795_694_400, 4711)
    assert name.text() == "my-shop_1.i12.20261126T120000Z.000000004711.fslog"
    assert read_name(name.text()) == name
    assert read_name("run.fslog") is None
    assert read_name(name.text() + ".partial") is None
