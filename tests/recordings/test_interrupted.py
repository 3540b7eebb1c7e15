"""A verb that is stopped says so with its exit code and leaves nothing half written."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from bus.exit_codes import ExitCode
from bus.recording import RecordingWriter, open_recording
from tests.patience import HANGS_SECONDS

pytestmark = pytest.mark.slow
TIMES = 12
"""How often the run is repeated, so that reading it takes long enough to be stopped."""
VERBS = {
    "check": ("recording", "check", "long.fslog"),
    "redact": ("recording", "redact", "long.fslog", "out"),
    "to-parquet": ("recording", "to-parquet", "long.fslog", "out"),
    "sweep": ("sweep", "long.fslog", "--param", "agents.safety.replicate=0.8", "--out", "kept"),
}
"""Verbs that read a whole recording: each way in which they write, or do not."""
TAP = ("tap", "--recording", "long.fslog")


@pytest.fixture(scope="module")
def folder(run_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a long recording."""
    folder = tmp_path_factory.mktemp("long")
    recording = open_recording(run_file)
    writer = RecordingWriter(folder / "long.fslog", recording.header)
    messages = list(recording)
    span_ns = messages[-1].time_ns - messages[0].time_ns + 1
    for turn in range(TIMES):
        for message in messages:
            time_ns = message.time_ns + turn * span_ns
            writer.write(
                replace(message, seq=message.seq + turn * messages[-1].seq, time_ns=time_ns)
            )
    writer.seal()
    return folder


def stopped_with(folder: Path, arguments: tuple[str, ...], number: int) -> int:
    """Start a verb, send it a signal while it has the recording open, and return its exit code."""
    command = [sys.executable, "-m", "foresail", *arguments]
    process = subprocess.Popen(
        command,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_until_open(process.pid, folder / "long.fslog")
        process.send_signal(number)
        return process.wait(HANGS_SECONDS)
    finally:
        process.kill()
        process.wait()


def wait_until_open(pid: int, path: Path) -> None:
    """Wait until a process reads a file, behind its first look at the header."""
    until = time.monotonic() + HANGS_SECONDS
    while time.monotonic() < until:
        for one in Path(f"/proc/{pid}/fdinfo").glob("*"):
            try:
                place = int(one.read_text().split()[1])
                opened = Path(f"/proc/{pid}/fd/{one.name}").readlink()
            except OSError:
                continue
            if opened == path and place > path.stat().st_size // 10:
                return
        time.sleep(0.002)
    pytest.fail("it never read the recording")


@pytest.mark.parametrize("verb", VERBS)
def test_sigterm_ends_a_verb_with_the_code_for_it(folder: Path, verb: str) -> None:
    """At once, whatever it computes, and no file that it was writing is left."""
    kept = {"kept"}  # where a sweep goes on from; other verbs find it when they come after
    before = {path.name for path in folder.iterdir()} - kept

    assert ExitCode.INTERRUPTED == stopped_with(folder, VERBS[verb], signal.SIGTERM)
    assert before == {path.name for path in folder.iterdir()} - kept


@pytest.mark.parametrize("verb", ["redact"])
def test_ctrl_c_does_the_same(folder: Path, verb: str) -> None:
    """SIGINT and SIGTERM are one."""
    before = {path.name for path in folder.iterdir()}

    assert ExitCode.INTERRUPTED == stopped_with(folder, VERBS[verb], signal.SIGINT)
    assert before == {path.name for path in folder.iterdir()}


def test_a_reader_that_goes_away_is_no_difference(folder: Path) -> None:
    """`foresail verb | head -1`: the verb's own code says that nobody read on, and stderr stays quiet."""
    for arguments in (TAP, ("tap", "--json", "--recording", "long.fslog")):
        process = subprocess.Popen(
            [sys.executable, "-m", "foresail", *arguments],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        with process.stderr:
            said = process.stderr.read()

        assert ExitCode.BROKEN_PIPE == process.wait(HANGS_SECONDS)
        assert b"" == said
