"""`make setup` on a terminal: a bar with the time left; in a pipe pip's errors alone."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from deploy.install import Steps, bar_text
from tests.architecture.source_tree import ROOT
from tests.patience import HANGS_SECONDS
from tests.terminal import pseudo_terminal

FAKE_PIP = """
import sys, time
assert "--require-hashes" in sys.argv and ":all:" in sys.argv
for name in ("one", "two"):
    print(f"Collecting {name}==1.0", flush=True)
    time.sleep(0.4)
if any("fail.lock" in word for word in sys.argv):
    print("ERROR: THESE PACKAGES DO NOT MATCH THE HASHES", flush=True)
    sys.exit(1)
"""


def install(folder: Path, lock: str, *, terminal: bool) -> tuple[int, str]:
    """Install by a pip that only prints; return the exit code and what stderr got."""
    (folder / "pip").mkdir(exist_ok=True)
    (folder / "pip" / "__init__.py").touch()
    (folder / "pip" / "__main__.py").write_text(FAKE_PIP)
    (folder / lock).write_text("one==1.0 --hash=sha256:0\ntwo==1.0 --hash=sha256:0\n")
    with pseudo_terminal() as (stderr, got):
        done = subprocess.run(
            [sys.executable, str(ROOT / "deploy" / "install.py"), str(folder / lock)],
            env={**os.environ, "PYTHONPATH": str(folder)}, stdout=subprocess.DEVNULL, check=False,
            stderr=stderr if terminal else subprocess.PIPE, timeout=HANGS_SECONDS,
        )  # fmt: skip
    return done.returncode, (done.stderr or b"".join(got)).decode()


def test_a_terminal_sees_how_far_it_is(tmp_path: Path) -> None:
    """Share, time left and time so far; wiped out at the end."""
    code, seen = install(tmp_path, "good.lock", terminal=True)
    assert code == 0
    assert "25%  left 0:0" in seen
    assert "so far" in seen
    assert seen.endswith("\r\x1b[K")


def test_a_pipe_sees_no_bar(tmp_path: Path) -> None:
    """Logs of other machines stay clean."""
    assert install(tmp_path, "good.lock", terminal=False) == (0, "")


@pytest.mark.parametrize("terminal", [True, False])
def test_what_pip_refuses_is_shown(tmp_path: Path, terminal: bool) -> None:
    """With pip's exit code."""
    code, seen = install(tmp_path, "fail.lock", terminal=terminal)
    assert code == 1
    assert not terminal or "DO NOT MATCH THE HASHES" in seen


def test_fetching_is_half_and_unpacking_the_other() -> None:
    """What was there before counts for nothing, and no share passes 1."""
    steps = Steps(packages=4, installed_before=2)
    steps.take("Collecting one==1.0 (from -r requirements.lock (line 1))")
    steps.take("  Using cached one-1.0.whl")
    assert steps.share(installed=2) == 0.125
    for _ in range(9):
        steps.take("Collecting another")
    assert steps.share(installed=2) == 0.5
    assert steps.share(installed=99) == 1.0
    assert bar_text(0.5, 30.0).endswith(" 50%  left 0:30  so far 0:30")
    assert "left ?" in bar_text(0.0, 1.0)
