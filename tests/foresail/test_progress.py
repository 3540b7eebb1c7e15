"""Progress with time left: on a terminal a bar, elsewhere nothing."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from bus.recording import open_recording
from bus.recording.footer import stated_messages
from tests.architecture.source_tree import ROOT

GOLDEN = ROOT / "tests" / "golden" / "v1.fslog"
RUN = ("up", "--virtual-time", "--for", "60s", "--nodes", "5", "--workload", "openb")


def on_terminal(folder: Path, *arguments: str) -> tuple[str, str]:
    """Run a command whose stderr is a terminal; return its output and what the terminal got."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm", "COLUMNS": "100"}
    done = subprocess.run(
        [sys.executable, "-m", "foresail", *arguments],
        cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=theirs, text=True, check=True,
        timeout=120,
    )  # fmt: skip
    os.close(theirs)
    seen = b""
    with os.fdopen(ours, "rb", buffering=0) as terminal:
        try:
            while chunk := terminal.read(65_536):
                seen += chunk
        except OSError:  # the other side is closed and everything is read
            pass
    return done.stdout, seen.decode(errors="replace")


@pytest.mark.slow
def test_a_virtual_run_shows_a_bar_with_the_time_left(tmp_path: Path) -> None:
    """On a terminal, in place of the services' log lines."""
    printed, terminal = on_terminal(tmp_path, *RUN)
    assert "simulating" in terminal
    assert "left" in terminal
    assert '"level"' not in printed + terminal
    assert "cycles" in printed


@pytest.mark.slow
def test_a_watched_run_records_the_same_bytes(tmp_path: Path) -> None:
    """The bar changes nothing of what is simulated."""
    on_terminal(tmp_path, *RUN, "--record", "watched.fslog")
    command = [sys.executable, "-m", "foresail", *RUN, "--record", "plain.fslog"]
    done = subprocess.run(
        command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, check=True, timeout=120,
    )  # fmt: skip
    assert "simulating" not in done.stdout + done.stderr
    assert (tmp_path / "watched.fslog").read_bytes() == (tmp_path / "plain.fslog").read_bytes()


def test_the_footer_says_how_much_there_is_to_read(tmp_path: Path) -> None:
    """As many as are read; nothing where it is cut off or no recording at all."""
    assert stated_messages(GOLDEN) == len(list(open_recording(GOLDEN)))
    cut = tmp_path / "cut.fslog"
    cut.write_bytes(GOLDEN.read_bytes()[:-9])
    assert stated_messages(cut) is None
    cut.write_bytes(b"")
    assert stated_messages(cut) is None
