"""`to-parquet`: every event is a row of its family, typed, and tables inside events come out whole."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from bus.recording import open_recording
from foresail.__main__ import main
from schemas.decision import Decision
from schemas.observation import Observation
from schemas.registry import decode
from schemas.view import ObservationView, update_view


@pytest.fixture(scope="module")
def folder(run_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the tables of the run."""
    out = tmp_path_factory.mktemp("tables") / "run"
    assert 0 == main(["recording", "to-parquet", str(run_file), str(out), "--json"])
    return out


def test_every_event_is_a_row(run_file: Path, folder: Path) -> None:
    """All families together hold each position once, with id, time and producer."""
    whole = pl.concat(
        pl.read_parquet(path, columns=["seq", "recorded_time", "id"])
        for path in folder.glob("*.parquet")
        if path.stem.rsplit(".", 1)[-1].startswith("v")
    ).sort("seq")
    log = list(open_recording(run_file))

    assert [message.seq for message in log] == whole["seq"].to_list()
    assert [message.headers["ce-id"] for message in log] == whole["id"].to_list()
    assert [one.time_ns for one in log] == whole["recorded_time"].cast(pl.Int64).to_list()


def test_columns_are_typed(folder: Path) -> None:
    """Numbers are numbers, times are times, and parts are JSON that can be taken apart."""
    decisions = pl.read_parquet(folder / "decision.v2.parquet")

    rewards = pl.read_parquet(folder / "outcome.reward.v2.parquet")
    assert pl.Float64 == rewards.schema["mean_total"]
    assert pl.Int64 == decisions.schema["repeat_count"]
    assert pl.Datetime("us", "UTC") == decisions.schema["event_time"]
    kinds = decisions.select(pl.col("parts").str.json_path_match("$[0].action.kind")).to_series()
    assert kinds.null_count() == 0


def test_tables_come_out_whole(run_file: Path, folder: Path) -> None:
    """Nodes stand there with their values at every cycle, though most cycles travel as deltas."""
    view: ObservationView | None = None
    expected = []
    for message in open_recording(run_file):
        event = decode(message.subject, message.headers, message.data)
        if isinstance(event.data, Observation):
            view = update_view(view, event)
            assert view is not None
            expected += [
                (event.cycle, name, ratio)
                for name, ratio in zip(view.nodes.ids, view.nodes.cpu_requested_ratio, strict=True)
            ]
    table = pl.read_parquet(folder / "observation.v1.nodes.parquet")
    assert expected == table.select("cycle", "ids", "cpu_requested_ratio").rows()


def test_numbers_agree_with_the_events(run_file: Path, folder: Path) -> None:
    """A column holds what the events say."""
    repeats = [
        event.data.repeat_count
        for message in open_recording(run_file)
        if isinstance(
            (event := decode(message.subject, message.headers, message.data)).data, Decision
        )
    ]
    assert repeats == pl.read_parquet(folder / "decision.v2.parquet")["repeat_count"].to_list()


def test_nothing_is_overwritten(run_file: Path, folder: Path) -> None:
    """A folder that exists is left alone."""
    before = sorted(folder.iterdir())
    assert 2 == main(["recording", "to-parquet", str(run_file), str(folder)])
    assert before == sorted(folder.iterdir())
