"""The truncation check finds what it is there to find, and nothing in the features we have."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from features.history import FEATURE_SETS, Anchors, Events
from lab.forecast.features import ANCHORS, chunk_features, table_of, write_features
from lab.forecast.leaks import check_dataset, check_leaks, rows_to_check
from tests.forecast.history.generated import history, questions, same_bits

ROWS, QUESTIONS = 300, 80


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a dataset's folder with invented events and rows."""
    events = history(3, ROWS)
    tables = {"events": events.tasks, "job_events": events.jobs, "machine_events": events.machines}
    for name, table in (*tables.items(), ("anchors", questions(3, events, QUESTIONS))):
        columns = {item: getattr(table, item) for item in table.__dataclass_fields__}
        pl.DataFrame(columns).write_parquet(tmp_path / f"{name}.parquet")
    return tmp_path


def _moments(anchors: Anchors) -> list[int]:
    return [int(anchors.time_us[QUESTIONS // 3]), int(anchors.time_us[2 * QUESTIONS // 3])]


@pytest.mark.parametrize("name", sorted(FEATURE_SETS))
def test_no_feature_of_a_dataset_leaks(folder: Path, name: str) -> None:
    """Both sets pass on a dataset's own files."""
    frame = pl.read_parquet(folder / ANCHORS)
    moments = _moments(table_of(Anchors, frame))
    rows = rows_to_check([frame.head(30), frame.tail(-30)], QUESTIONS, moments, 2 * QUESTIONS)
    report = check_dataset(folder, name, rows, moments)
    assert (report.leaks, report.features) == ((), len(FEATURE_SETS[name].names))
    assert report.rows > QUESTIONS // 2


def test_a_leaking_feature_is_caught() -> None:
    """A column that counts a job's failures of all time, or those at the row's own moment, is
    named."""
    events: Events = history(5, ROWS)
    anchors = questions(5, events, QUESTIONS)

    def build(rows: Anchors, until_us: int | None) -> np.ndarray:
        tasks = events.tasks.rows(events.tasks.time_us < (2**62 if until_us is None else until_us))
        fails = tasks.rows(tasks.kind == 3)
        mine = fails.job[np.newaxis, :] == rows.job[:, np.newaxis]
        ages = rows.time_us[:, np.newaxis] - fails.time_us[np.newaxis, :]
        columns = [mine & (ages > 0), mine & (ages >= 0), mine]
        return np.stack([column.sum(axis=1) for column in columns], axis=1).astype(np.float32)

    names = ("honest", "counts_ties", "counts_the_future")
    report = check_leaks(build, names, anchors, _moments(anchors))
    assert {leak.feature for leak in report.leaks} == {"counts_ties", "counts_the_future"}


def test_an_interrupted_build_goes_on_to_the_same_features(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Parts are written once; one that is missing is made again with the same values, and equals
    what is computed in chunks."""
    monkeypatch.setattr("lab.forecast.features.ROWS_PER_PART", 16)
    monkeypatch.setattr("lab.forecast.features.EVENTS_AT_ONCE", 50)
    told: list[tuple[int, int]] = []
    described = write_features(folder, "full", lambda done, rows: told.append((done, rows)))
    assert told[-1] == (QUESTIONS, QUESTIONS)
    parts = sorted((folder / "features").iterdir())
    first = [pl.read_parquet(part) for part in parts]
    assert first[0].columns == described["feature_names"]
    parts[2].unlink()
    write_features(folder, "full", lambda _done, _rows: None)
    again = np.concatenate([pl.read_parquet(part).to_numpy() for part in parts])
    assert same_bits(again, np.concatenate([one.to_numpy() for one in first]))
    frame = pl.read_parquet(folder / ANCHORS)
    chunks = iter([frame.head(13), frame.slice(13, 40), frame.tail(-53)])
    assert same_bits(np.concatenate(list(chunk_features(folder, chunks, "full"))), again)
