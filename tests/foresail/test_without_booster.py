"""Without XGBoost's library a stack runs by formulas, says so, and refuses only what was asked for by name."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from bus.events import event_of
from bus.exit_codes import ExitCode
from bus.recording import open_recording
from schemas.prediction import PredictionRisk, PredictionShadow

HIDDEN = "import sys; sys.modules['xgboost'] = None; from foresail.__main__ import main; sys.exit(main(sys.argv[1:]))"
UP = ("up", "--virtual-time", "--max-cycles", "4", "--nodes", "4", "--workload", "idle")


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command in a process that cannot import xgboost."""
    return subprocess.run(
        [sys.executable, "-c", HIDDEN, *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_stack_starts_with_the_formula_and_says_so_once(tmp_path: Path) -> None:
    """One line for each setting that gives way; no warning, no trained model in the log."""
    done = run(tmp_path, *UP, "--record", "run.fslog")

    assert done.returncode == ExitCode.GOOD, done.stderr
    assert done.stdout.count("xgboost is not installed: the formula predicts alone") == 1
    assert "Warning" not in done.stderr + done.stdout
    events = [event_of(message).data for message in open_recording(tmp_path / "run.fslog")]
    assert {one.model_id for one in events if isinstance(one, PredictionRisk)} == {"seed-formula/1"}
    assert not any(isinstance(one, PredictionShadow) for one in events)


def test_a_trained_model_by_name_is_refused(tmp_path: Path) -> None:
    """In one line, before anything starts."""
    done = run(tmp_path, *UP, "--model", "small-risk")

    assert done.returncode == ExitCode.BAD_INPUT
    assert "xgboost = not installed: install it to predict with a trained model" in done.stderr


def test_doctor_names_it(tmp_path: Path) -> None:
    """As something that trained models need, and a stack does not."""
    done = run(tmp_path, "doctor")

    assert "xgboost: not installed: no trained model predicts" in done.stdout
