"""How many failures of a history repeat others."""

from __future__ import annotations

import polars as pl
import pytest

from features.history import Kind
from lab.forecast.repetition import main, repetition_of


def test_failures_after_another_of_the_job_and_of_the_task_are_counted_apart() -> None:
    """Job 1 fails in two tasks, in one of them twice; job 2 once; other ends are none."""
    rows = [(1, 1), (1, 2), (1, 2), (2, 1)]
    events = pl.LazyFrame({
        "kind": [int(Kind.FAIL)] * len(rows) + [int(Kind.FINISH)],
        "job": [job for job, _ in rows] + [3],
        "task": [task for _, task in rows] + [1],
    })  # fmt: skip
    found = repetition_of(events)
    assert (found.failures, found.jobs) == (4, 2)
    assert (found.of_failed_jobs, found.of_failed_tasks) == (2, 1)
    assert found.line("made-up") == "| made-up | 4 | 2 | 50.0% | 25.0% |"


def test_without_a_dataset_it_says_what_it_wants(capsys: pytest.CaptureFixture[str]) -> None:
    """In one line, with exit code 2."""
    assert main([]) == 2
    assert "dataset" in capsys.readouterr().err
