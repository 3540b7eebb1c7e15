"""The commands of docs/workloads.md that need no trace files and no other cluster do what they say."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from foresail.__main__ import main
from tests.architecture.source_tree import ROOT
from tests.patience import HANGS_SECONDS
from twin.port.workloads import ALL_FIELDS, NAMES

PAGE = (ROOT / "docs" / "workloads.md").read_text(encoding="utf-8")
RUNNABLE = re.compile(
    r"^    ((?:foresail twin validate|foresail twin up|python -m lab\.workloads\.convert) .*"
    r"(?:examples/|\.parquet).*)$",
    re.MULTILINE,
)


@pytest.mark.slow
def test_the_examples_commands_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Validating, converting and playing the examples works as the page shows, in its order."""
    commands = RUNNABLE.findall(PAGE)
    assert len(commands) >= 4
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    environment = {k: v for k, v in os.environ.items() if not k.startswith("FORESAIL_")}
    for command in commands:
        words = [word for word in shlex.split(command) if word != "python"]
        if words[1:3] == ["twin", "validate"]:  # starts nothing: no process of its own
            assert main(words[1:]) == 0, command
            continue
        called = ["-m", "foresail", *words[1:]] if words[0] == "foresail" else words
        done = subprocess.run(
            [sys.executable, *called],
            cwd=tmp_path, env={**environment, "PYTHONPATH": str(ROOT)}, capture_output=True,
            text=True, timeout=HANGS_SECONDS, check=False,
        )  # fmt: skip
        assert done.returncode == 0, f"{command}: {done.stderr}"


def test_the_page_names_every_field_and_source() -> None:
    """The schema's table has a row for every field, and every shipped source is described."""
    rows = set(re.findall(r"`([a-z0-9_]+)`", PAGE))
    assert set(ALL_FIELDS) <= rows
    assert set(NAMES) <= rows
