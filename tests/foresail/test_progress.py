"""Progress with time left: on a terminal a bar, elsewhere nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bus.recording import open_recording
from bus.recording.footer import stated_messages
from foresail.__main__ import main
from lab.forecast.progress import in_steps, within
from tests.architecture.source_tree import ROOT
from tests.patience import HANGS_SECONDS
from tests.terminal import pseudo_terminal

GOLDEN = ROOT / "tests" / "golden" / "v1.fslog"
RUN = ("up", "--virtual-time", "--for", "60s", "--nodes", "5", "--workload", "openb")


def on_terminal(folder: Path, *arguments: str) -> tuple[str, str]:
    """Run a command whose stderr is a terminal; return its output and what the terminal got."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm", "COLUMNS": "100"}
    with pseudo_terminal() as (stderr, seen):
        done = subprocess.run(
            [sys.executable, "-m", "foresail", *arguments],
            cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=stderr, text=True, check=True,
            timeout=HANGS_SECONDS,
        )  # fmt: skip
    return done.stdout, b"".join(seen).decode(errors="replace")


@pytest.mark.slow
def test_a_watched_run_shows_the_time_left_and_records_the_same_bytes(tmp_path: Path) -> None:
    """On a terminal a bar, in place of the services' log lines; it changes nothing of what is simulated."""
    printed, terminal = on_terminal(tmp_path, *RUN, "--record", "watched.fslog")
    assert "simulating" in terminal
    assert "left" in terminal
    assert '"level"' not in printed + terminal
    assert "cycles" in printed

    command = [sys.executable, "-m", "foresail", *RUN, "--record", "plain.fslog"]
    done = subprocess.run(
        command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, check=True, timeout=HANGS_SECONDS,
    )  # fmt: skip
    assert "simulating" not in done.stdout + done.stderr
    assert (tmp_path / "watched.fslog").read_bytes() == (tmp_path / "plain.fslog").read_bytes()


READERS = {
    "recording check run.fslog": "checking run.fslog",
    "recording info run.fslog": "proving run.fslog",
    "recording redact run.fslog redacted.fslog": "redacting run.fslog",
    "recording to-parquet run.fslog tables": "reading run.fslog",
    "explain last --recording run.fslog": "reading the log",
    "explain node openb-node-0000 --recording run.fslog": "reading the log",
    "timeline --list --recording run.fslog": "reading the log",
    "verify run.fslog": "verifying run.fslog",
    "sweep run.fslog --param agents.safety.replicate=0.8,0.9 --jobs 1": "sweeping",
}


@contextmanager
def terminal_as_stderr(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[bytes]]:
    """Make this process' stderr a terminal inside the block; give what it got, complete after the block."""
    with (
        pseudo_terminal() as (descriptor, got),
        os.fdopen(descriptor, "w", closefd=False) as stderr,
        monkeypatch.context() as patched,
    ):
        patched.setattr(sys, "stderr", stderr)
        patched.setenv("TERM", "xterm")
        patched.setenv("COLUMNS", "100")
        yield got


@pytest.mark.slow
@pytest.mark.parametrize("command", READERS)
def test_what_reads_a_recording_shows_how_far_it_is(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    command: str,
) -> None:
    """With the time left on a terminal; in a pipe nothing but its result."""
    for name in ("terminal", "pipe"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "run.fslog").write_bytes(GOLDEN.read_bytes())
    monkeypatch.chdir(tmp_path / "terminal")
    with terminal_as_stderr(monkeypatch) as got:
        assert main(command.split()) == 0
    terminal = b"".join(got).decode(errors="replace")
    capsys.readouterr()
    monkeypatch.chdir(tmp_path / "pipe")
    main(command.split())
    printed = capsys.readouterr()

    assert READERS[command] in terminal
    assert "left" in terminal
    assert printed.err == ""
    assert READERS[command] not in printed.out


def test_shares_of_parts_add_up() -> None:
    """Steps of a part go from where it begins to where it ends, and never past it."""
    seen: list[tuple[str, float]] = []
    part = within(lambda text, share: seen.append((text, share)), "15 min", 0.5, 1.0)
    step = in_steps(part, 2)
    for name in ("reading", "fitting", "saving", "more than was announced"):
        step(name)
    assert seen == [
        ("15 min: reading", 0.5), ("15 min: fitting", 0.75), ("15 min: saving", 1.0),
        ("15 min: more than was announced", 1.0),
    ]  # fmt: skip


def test_the_footer_says_how_much_there_is_to_read(tmp_path: Path) -> None:
    """As many as are read; nothing where it is cut off or no recording at all."""
    assert stated_messages(GOLDEN) == len(list(open_recording(GOLDEN)))
    cut = tmp_path / "cut.fslog"
    cut.write_bytes(GOLDEN.read_bytes()[:-9])
    assert stated_messages(cut) is None
    cut.write_bytes(b"")
    assert stated_messages(cut) is None
