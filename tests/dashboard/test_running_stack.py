"""What the page of a running stack asks of other commands: the same answers as over a recording of the same log."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from bus.ports import free_port
from bus.recording import open_recording
from bus.recording.writer import writing_recording
from tests.dashboard.test_file_view import RECORDING
from tests.patience import HANGS_SECONDS

pytestmark = [pytest.mark.slow, pytest.mark.nats, pytest.mark.twin]
CHANGE = "agents.safety.throttle_risk=0.05"
CYCLES = 20
UP = ("--exercise", "--profile", "baseline-rules", "--nodes", "12", "--interval", "1s")


@contextmanager
def running(folder: Path, words: tuple[str, ...]) -> Iterator[subprocess.Popen[str]]:
    """Run a command in a folder, and end it by Ctrl-C."""
    process = subprocess.Popen(
        [sys.executable, "-m", "foresail", *words], cwd=folder, stdout=subprocess.PIPE, text=True
    )
    try:
        yield process
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=HANGS_SECONDS)


def until(condition: Callable[[], Any]) -> Any:
    """Return what a condition gives once it gives something; a server that is not there yet gives nothing."""
    end = time.monotonic() + HANGS_SECONDS
    while time.monotonic() < end:
        try:
            if found := condition():
                return found
        except httpx.TransportError:
            pass
        time.sleep(0.2)
    raise AssertionError("it never came")


def saying(folder: Path, *words: str) -> Any:
    """Return what a command says as JSON, whatever its exit code."""
    command = [sys.executable, "-m", "foresail", *words, "--json"]
    said = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return json.loads(said.stdout)


def recorded_until(recording: Path, path: Path, seq: int) -> Path:
    """Write what a recording holds up to a position to a new one."""
    source = open_recording(recording)
    with writing_recording(path, source.header) as writer:
        for message in source:
            if message.seq <= seq:
                writer.write(message)
    return path


def without_names(answer: dict[str, Any]) -> dict[str, Any]:
    """Return an answer of the page without what says which file it was computed over."""
    return {name: value for name, value in answer.items() if name not in {"file", "log"}}


def test_a_stacks_page_says_what_commands_say_of_a_recording(tmp_path: Path) -> None:
    """What if and Compare at a moment of the past and now, on its own page and on a second one, which write nothing;
    then, over the stack's own recording cut off at the same positions, the commands.
    """
    port = free_port()
    words = ("up", *UP, "--speed", "20", "--record", "run.fslog", "--compare", str(RECORDING))
    with (
        running(tmp_path, (*words, "--dashboard-port", str(port), "--nats-port", "0")),
        httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=HANGS_SECONDS) as page,
    ):
        head = until(
            lambda: (
                (found := page.get("/api/state").json()["sections"]["head"])
                and (found["cycle"] or 0) >= CYCLES
                and found
            )
        )
        past_seq = page.get("/api/moment", params={"cycle": CYCLES - 8}).json()["seq"]
        then = page.get("/api/what-if", params={"set": CHANGE, "at": past_seq}).json()
        now = page.get("/api/what-if", params={"set": CHANGE}).json()
        beside = page.get("/api/compare").json()
        again = page.get("/api/compare").json()
        later = page.get("/api/compare", params={"at": now["log"]["copied"]["last_seq"]}).json()
        with running(tmp_path, ("dashboard", "--compare", str(RECORDING))) as second:
            assert second.stdout is not None
            url = second.stdout.readline().split()[1]
            with httpx.Client(base_url=url, timeout=HANGS_SECONDS) as other:
                until(lambda: other.get("/healthz").json()["seq"] >= past_seq)
                elsewhere = other.get("/api/what-if", params={"set": CHANGE, "at": past_seq}).json()

    run = tmp_path / "run.fslog"
    copied = now["log"]["copied"]
    assert (past_seq, past_seq) == tuple(
        one["log"]["copied"]["last_seq"] for one in (then, elsewhere)
    )
    assert copied["whole"]
    assert copied["last_seq"] >= head["seq"] > past_seq
    for place, answer in enumerate((then, now, elsewhere)):
        seq = answer["log"]["copied"]["last_seq"]
        part = recorded_until(run, tmp_path / f"part{place}.fslog", seq)
        said = saying(tmp_path, "what-if", str(part), "--set", CHANGE)
        assert without_names(said) == without_names(answer)
        assert answer["decisions"]["same"] < sum(answer["decisions"].values())
    assert again == beside
    for answer in (beside, later):
        part = recorded_until(
            run, tmp_path / "running stack.fslog", answer["log"]["copied"]["last_seq"]
        )
        said = saying(tmp_path, "diff", str(part), str(RECORDING), "--clusters")
        part.unlink()
        assert said["clusters"] == answer["clusters"]
        assert without_names(said) == without_names(answer)
        assert answer["settings"]
    producers = {message.headers.get("ce-source", "") for message in open_recording(run)}
    assert not any("dashboard" in name or "reader" in name for name in producers)
    assert producers
