"""`foresail dashboard FILE`: a recording in the same page, without a stack."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from bus.errors import Permanent
from bus.exit_codes import ExitCode
from bus.port import Message
from bus.recording.bus import RecordingBus
from foresail.__main__ import main
from tests.architecture.source_tree import ROOT
from tests.patience import HANGS_SECONDS

RECORDING = ROOT / "tests" / "golden" / "v2.fslog"


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """Open the recording."""
    with opened_recording(RECORDING) as address:
        yield address


@contextmanager
def opened_recording(file: Path) -> Iterator[str]:
    """Open a recording as a user does, yield its address once all of it is read, and end it by Ctrl-C."""
    command = [sys.executable, "-m", "foresail", "dashboard", str(file)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        address = process.stdout.readline().split()[1]
        _wait_until_read(address)
        yield address
    finally:
        process.send_signal(signal.SIGINT)
        code = process.wait(HANGS_SECONDS)
        process.stdout.close()
    assert code == ExitCode.INTERRUPTED


def _wait_until_read(address: str) -> None:
    transport, end = httpx.HTTPTransport(retries=9), time.monotonic() + HANGS_SECONDS
    with httpx.Client(transport=transport, base_url=address, timeout=HANGS_SECONDS) as http:
        while (state := http.get("/healthz").json()["state"]) != "live":
            assert time.monotonic() < end, state
            time.sleep(0.02)


def test_a_recording_opens_whole(url: str) -> None:
    """Its last decision is there, its name says that it is a file, and nothing counts as late."""
    sections = httpx.get(f"{url}/api/state").json()["sections"]

    assert sections["head"]["file"] == RECORDING.name
    assert sections["decision"]["cycle"] == sections["head"]["cycle"] > 0


async def test_a_recording_is_read_by_position_and_never_written() -> None:
    """As a bus it yields what lies between two positions, and refuses every message."""
    bus = RecordingBus(RECORDING)
    info = await bus.info()
    read = [message.seq async for message in bus.history([">"], start_seq=5, end_seq=9)]

    assert (info.first_seq, read) == (1, [5, 6, 7, 8, 9])
    with pytest.raises(Permanent, match="takes no message"):
        await bus.publish([Message("foresail.a.b", {}, b"")])


def test_what_is_no_recording_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line with the file and what to give instead, exit code 2."""
    file = tmp_path / "a.fslog"
    file.write_text("no recording", encoding="utf-8")

    assert main(["dashboard", str(file)]) == ExitCode.BAD_INPUT
    assert "a.fslog" in capsys.readouterr().err
