"""`foresail forecast check-leaks` as people run it, on a small made trace."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from features.history import History
from features.history.tables import F32
from foresail.__main__ import main
from tests.forecast.risk.made import write_trace

CHECK = ("forecast", "check-leaks", "--dataset", "made", "--rows", "400")


@pytest.fixture
def built_dataset(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Build a dataset without stored features in a workspace of its own."""
    monkeypatch.setenv("BORG_XGBOOST_WORKSPACE", str(tmp_path))
    monkeypatch.delenv("BORG_DATA_DIR", raising=False)
    monkeypatch.delenv("BORG_PROCESSED_DIR", raising=False)
    trace_path = write_trace(tmp_path / "trace")
    build = ("dataset", "--trace", "google2011", "--input", str(trace_path), "--name", "made")
    assert main(["forecast", *build, "--features", "none"]) == 0


@pytest.mark.usefixtures("built_dataset")
def test_the_command_passes_honest_features_and_fails_a_leak(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It exits with 0 for the set we have, with 1 and the column's name when one leaks, and with 2
    when it is not told what to check."""
    capsys.readouterr()
    assert main([*CHECK, "--features", "live", "--json"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert (content["leaks"], content["features"]) == ([], 147)
    assert content["rows"] > 100

    honest = History.features

    def leaking(self: History, *asked: object) -> F32:
        values = honest(self, *asked)  # type: ignore[arg-type]  # the anchors, passed on
        values[:, 3] = np.float32(len(self.recent.tasks) + len(self.ledgers["cell"]))
        return values

    monkeypatch.setattr(History, "features", leaking)
    assert main([*CHECK, "--features", "live"]) == 1
    assert "cpu_request_ratio" in capsys.readouterr().out
    assert main(list(CHECK)) == 2
    assert "--features" in capsys.readouterr().err
