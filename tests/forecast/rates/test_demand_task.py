"""`--task demand`: from a recording, windows and a table of rates to a model, and its diagnosis on later rows."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from bus.events import read_entry
from bus.recording import open_recording
from foresail.__main__ import main
from lab.forecast.rates.sources import by_kind, of_recording, of_windows
from tests.forecast.rates.made import daily, rows, write

STEP = 900


def windows(folder: Path) -> Path:
    """Write three days of windows of one workload with two instances, each using half of a daily wave."""
    cores = daily(3, STEP, 4.0, 5) / 2
    tables = [
        pl.DataFrame(
            {
                "source_cluster_id": "c", "source_workload_id": "web", "source_workload_instance_id": name,
                "window_start_us": np.arange(len(cores)) * STEP * 1_000_000,
                "window_end_us": (np.arange(len(cores)) + 1) * STEP * 1_000_000,
                "requested_cpu": 1.0, "requested_mem": 1.0, "observed_cpu_avg": cores,
                "terminal_event_time_us": pl.Series([None] * len(cores), dtype=pl.Int64),
                "terminal_event_type": pl.Series([None] * len(cores), dtype=pl.String),
            }
        )
        for name in ("web-1", "web-2")
    ]  # fmt: skip
    path = folder / "windows.parquet"
    pl.concat(tables).write_parquet(path)
    return path


def test_instances_of_a_workload_add_up(tmp_path: Path) -> None:
    """Two halves are the wave; what nobody observed is no series."""
    found = of_windows(windows(tmp_path))
    assert found["series"].unique().to_list() == ["cpu/c/web"]
    assert found["value"].to_numpy() == pytest.approx(daily(3, STEP, 4.0, 5))
    assert found["t_s"].to_list()[:2] == [0, STEP]


def test_a_recording_gives_what_live_inference_follows(tmp_path: Path) -> None:
    """Cores requested of a run of twenty minutes: the steps of five minutes that are over."""
    file = tmp_path / "run.fslog"
    words = ["up", "--virtual-time", "--for", "20m", "--interval", "60s", "--nodes", "4"]
    assert main([*words, "--workload", "idle", "--record", str(file)]) == 0
    events = [read_entry(message).event for message in open_recording(file)]
    found = of_recording(event for event in events if event is not None)
    assert "nodes/all" in found["series"]
    assert [name for name, _ in by_kind("run", found)] == sorted(
        {f"run-{one.partition('/')[0]}" for one in found["series"]}
    )
    times = found.filter(pl.col("series") == "nodes/all")["t_s"]
    assert times.diff().drop_nulls().to_list() == [300] * (len(times) - 1)
    assert len(times) >= 3


def test_a_model_is_trained_and_diagnosed_on_what_it_did_not_learn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two sources, a booster of one's own; later rows alone are judged, and the shares below the quantiles rise."""
    monkeypatch.setenv("BORG_XGBOOST_WORKSPACE", str(tmp_path / "ws"))
    table = write(tmp_path, rows(days=4))
    words = [
        "forecast",
        "train",
        "--task",
        "demand",
        "--name",
        "own",
        "--rounds",
        "8",
        "--depth",
        "3",
    ]
    sources = ["--windows", str(windows(tmp_path)), "--rates", str(table)]
    assert main([*words, *sources]) == 0
    card = (tmp_path / "ws" / "models" / "own" / "card.md").read_text()
    assert "depth 3" in card
    capsys.readouterr()
    assert main(["forecast", "diagnose", "--task", "demand", "--dataset", "own", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert set(found["tables"]) == {"windows-cpu", "rates"}
    part = found["tables"]["rates"]
    later = 2 * int(4 * 86_400 / STEP * 0.4)
    assert part["by_minutes"]["15"]["rows"] == pytest.approx(later, abs=2 * 4)
    shares = list(part["below"].values())
    assert shares == sorted(shares)
    assert sum(found["features"].values()) <= 1.0
    assert (
        main(["forecast", "diagnose", "--task", "demand", "--dataset", "own", "--split", "1"]) == 2
    )
    assert "has later, train" in capsys.readouterr().err


def test_series_that_are_too_short_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line that names the table and what it would take."""
    monkeypatch.setenv("BORG_XGBOOST_WORKSPACE", str(tmp_path))
    pl.read_parquet(windows(tmp_path)).head(8).write_parquet(tmp_path / "short.parquet")
    words = ["--task", "demand", "--windows", str(tmp_path / "short.parquet")]
    assert main(["forecast", "train", *words]) == 2
    assert "short-cpu: none of their rows can be learnt from" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--task", "demand"], "name what to learn from: --recording, --windows or --rates"),
        (
            ["--task", "demand", "--rates", "x.csv", "--dataset", "d"],
            "it means nothing to --task demand",
        ),
        (["--rates", "x.csv", "--dataset", "d"], "it means nothing to --task risk"),
        ([], "name a dataset, or give --task demand"),
        (["--task", "demand", "--windows", "nowhere"], "name a file or folder that exists"),
        (
            ["--task", "demand", "--rates", "x.csv", "--train-share", "2"],
            "give a number above 0 and at most 1",
        ),
    ],
)
def test_flags_that_do_not_fit_the_task_are_refused(
    words: list[str],
    complaint: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """One line, exit code 2."""
    monkeypatch.setenv("BORG_XGBOOST_WORKSPACE", str(tmp_path))
    assert main(["forecast", "train", *words]) == 2
    assert complaint in capsys.readouterr().err
