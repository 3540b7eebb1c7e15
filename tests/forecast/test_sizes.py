"""The backtest of size rules: a machine as large as what its pods request lacks as often as rules are too tight."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from lab.forecast.sizes import FILE, judge, main, read_days

STEPS = 288


def test_steady_use_lacks_nothing_and_what_grows_does() -> None:
    """Pods that use the same all day idle by the margin alone; memory that doubles within an hour lacks each hour."""
    steady = np.full((24, STEPS), 2.0)
    growing = np.tile(2.0 ** (np.arange(STEPS) / 12.0), (24, 1))
    found = judge([(steady, growing)], pods=12)
    cores = found["cores", "pooled", 6, 1.1]
    assert cores.lacking == 0
    assert 1 - cores.used / cores.requested == pytest.approx(0.1 / 1.1)
    memory = found["memory", "highest", 96, 1.1]
    assert memory.lacking / memory.steps > 0.8


def test_it_reads_the_days_and_says_what_it_cannot(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Days come one by one; a folder without the file is one line and exit code 2."""
    assert main(["--data", str(tmp_path)]) == 2
    assert FILE.path in capsys.readouterr().err
    path = tmp_path / FILE.path
    path.parent.mkdir(parents=True)
    columns = {
        "job_id": [1] * STEPS + [1] * STEPS,
        "day": [1] * STEPS + [2] * STEPS,
        "step": list(range(STEPS)) * 2,
        "cpu_pct": [1.0] * 2 * STEPS,
        "mem_pct": [2.0] * 2 * STEPS,
    }
    pl.DataFrame(columns).write_parquet(path)
    assert [cores.shape for cores, _ in read_days(tmp_path, (1, 2))] == [(1, STEPS), (1, STEPS)]
    assert main(["--data", str(tmp_path), "--days", "2", "--pods", "1"]) == 0
    assert "| cores | pooled | 5 min | 9.1 %, 0.00 %" in capsys.readouterr().out
