"""Retries, as Kubernetes would have made them."""

from __future__ import annotations

import polars as pl
import pytest

from features.history import Kind
from lab.traces.google2011_kubernetes import MOST_TASKS, dealt_out, with_back_off

SECOND = 1_000_000
LOOP = (
    *((0, Kind.SUBMIT), (1, Kind.SCHEDULE), (11, Kind.FAIL)),
    *((11, Kind.SUBMIT), (12, Kind.SCHEDULE), (22, Kind.FAIL)),
    *((22, Kind.SUBMIT), (23, Kind.SCHEDULE)),
)


def events(*rows: tuple[int, Kind], job: int = 5, task: int = 0) -> pl.DataFrame:
    """Return events of one task."""
    count = len(rows)
    return pl.DataFrame(
        {
            "segment": [0] * count, "job": [job] * count, "task": [task] * count, "user": ["ann"] * count,
            "time_us": [second * SECOND for second, _ in rows], "kind": [int(kind) for _, kind in rows],
            "row": [100 * job + number for number in range(count)],
        },
        schema_overrides={"kind": pl.Int8, "task": pl.Int32},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("end", "seen"),
    [
        ((83, Kind.FINISH), [0, 1, 11, 21, 22, 32, 52, 53, 113]),  # 10 s, then 20 s
        ((40, Kind.KILL), [0, 1, 11, 21, 22, 32]),  # killed while it waited
    ],
)
def test_retries_come_after_the_back_off(end: tuple[int, Kind], seen: list[int]) -> None:
    """What a task finished it does later; what its user had given up by then it does not do."""
    other = events((1_000, Kind.SUBMIT), job=6)
    table = with_back_off(pl.concat((events(*LOOP, end), other))).filter(pl.col("job") == 5)
    assert [time // SECOND for time in table["time_us"]] == seen


def test_an_attempt_that_runs_when_its_task_is_given_up_is_killed() -> None:
    """It ends when the trace ended it, however late it began."""
    table = with_back_off(
        pl.concat((events(*LOOP, (60, Kind.KILL)), events((90, Kind.SUBMIT), job=6)))
    )
    last = table.filter(pl.col("job") == 5).sort("time_us", "row").rows(named=True)[-1]
    assert (last["time_us"], last["kind"]) == (60 * SECOND, Kind.KILL)


def test_large_jobs_and_users_are_dealt_out() -> None:
    """No job is larger than the most, none of its tasks is lost, and what a task did stays together."""
    many = pl.concat([events(*LOOP, task=task) for task in range(3 * MOST_TASKS)])
    dealt = dealt_out(many)
    sizes = dealt.group_by("job").agg(pl.col("task").n_unique(), pl.col("user").n_unique())
    assert len(sizes) == 3
    assert int(sizes["task"].sum()) == 3 * MOST_TASKS
    assert sizes["user"].to_list() == [1, 1, 1]
    assert int(dealt.group_by("task").agg(pl.col("job").n_unique())["job"].max() or 0) == 1
