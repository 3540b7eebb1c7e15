"""docs/tuning-guide.md: every command of the page is typed, in its order, and ends as the page says."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.patience import HANGS_SECONDS

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "tuning-guide.md"
SUMMARY = (
    "[D40_SESSION] TUNING SESSION SUMMARY", "Total Jobs:     50", "Success:        48", "Errors:         2",
    "Exit Code:      1  (", "Submitted Jobs (50):", "  - sess001-0001", "  ... and 45 more jobs",
)  # fmt: skip
"""Lines of the guide's own summary."""
_EXIT = re.compile(r"\s+# exit code (\d)$")
pytestmark = [pytest.mark.slow, pytest.mark.nats, pytest.mark.twin]


def commands() -> list[tuple[str, int]]:
    """Return each indented line of the page, and the exit code that it names."""
    lines = [
        line[4:] for line in PAGE.read_text(encoding="utf-8").splitlines() if line[:4] == " " * 4
    ]
    found = [(line, _EXIT.search(line)) for line in lines]
    return [(_EXIT.sub("", line), int(code[1]) if code else 0) for line, code in found]


def test_every_command_of_the_page_ends_as_it_says(tmp_path: Path) -> None:
    """In a copy of the example; what the page leaves in the background is ended here. Of 50 jobs two are bad:
    48 succeed, and the summary has the guide's form.
    """
    example = tmp_path / "examples" / "spread_backtest"
    shutil.copytree(ROOT / "examples" / "spread_backtest", example)
    (first, _), (second, _), *typed = commands()
    assert (first, second) == ("cd examples/spread_backtest", "export PYTHONPATH=.")
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = {**os.environ, "PYTHONPATH": f".:{ROOT}", "PATH": path}
    background: list[subprocess.Popen[bytes]] = []
    printed: dict[str, str] = {}
    try:
        for line, code in typed:
            if line.endswith("&"):
                background.append(
                    subprocess.Popen(
                        ["bash", "-c", f"exec {line.removesuffix('&')}"],
                        cwd=example,
                        env=environment,
                    )
                )
                until_there(example / "outputs" / "cluster.yaml")
                continue
            ended = subprocess.run(
                ["bash", "-c", line], cwd=example, env=environment, capture_output=True, text=True,
                timeout=HANGS_SECONDS, check=False,
            )  # fmt: skip
            printed[line] = ended.stdout
            assert ended.returncode == code, f"{line}\n{ended.stdout[-2000:]}{ended.stderr[-2000:]}"
    finally:
        for process in background:
            process.send_signal(signal.SIGINT)
            process.wait(HANGS_SECONDS)
    assert len(background) == 1
    (session,) = [text for line, text in printed.items() if "--python-executable python" in line]
    assert [line for line in SUMMARY if line not in session] == []
    summary = json.loads((example / "outputs/tuning/session001_summary.json").read_text())
    assert summary["success_jobs"] == 48
    (cluster,) = [text for line, text in printed.items() if "--max-jobs 4" in line]
    assert "[D41_K8S_SESSION]" in cluster


def until_there(path: Path) -> None:
    """Wait until what runs in the background has written a file."""
    for _ in range(600):
        if path.exists():
            return
        time.sleep(0.1)
    assert path.exists()
