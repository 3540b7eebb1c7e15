"""Every test that docs/learning/defects.md names is there, and the two that have no better place."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from bus.errors import InputError
from foresail.__main__ import main
from lab.learning.comparison.learned_rule import read_rule

ROOT = Path(__file__).parents[3]
TABLE = ROOT / "docs/learning/defects.md"


def test_every_named_test_exists() -> None:
    """By file and by name."""
    named = re.findall(r"`([\w/]+\.py)::(\w+)`", TABLE.read_text("utf-8"))
    assert len(named) > 25
    missing = [
        f"{file}::{test}"
        for file, test in named
        if f"def {test}(" not in (ROOT / "tests" / file).read_text("utf-8")
    ]
    assert missing == []


def test_10_training_has_no_way_to_a_cluster() -> None:
    """What trains loads nothing that speaks with an API server, not even a simulated one's."""
    clients = (
        "kubernetes",
        "services.official_client",
        "services.executor",
        "lab.queue",
        "lab.live",
    )
    program = (
        "import sys, lab.learning.training.run, lab.learning.training.tasks;"
        f"print([name for name in sys.modules if name.startswith({clients!r})])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert done.stdout.strip() == "[]"


def test_11_a_policy_that_is_not_there_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Neither a file nor a run that is missing becomes an untrained policy."""
    with pytest.raises(InputError, match="cannot be read"):
        read_rule(tmp_path / "none.policy")
    assert main(["learn", "benchmark", f"{tmp_path}/none", "--streams", "1"]) == 2
    assert "no seed's training has ended there" in capsys.readouterr().err
