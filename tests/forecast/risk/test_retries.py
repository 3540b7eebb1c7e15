"""Retries: as Kubernetes would have made them, and what holding them back or ending attempts would save."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from features.history import Kind
from lab.forecast.risk.ending_early import row_of
from lab.forecast.risk.holding import Attempt, Course, at_once, backed_off, held_by, play
from lab.forecast.risk.recalibrate import fit
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


def attempt(seconds: float, *, fails: bool, failures: int, risk: float) -> Attempt:
    """Return an attempt on one core."""
    return Attempt(seconds, seconds / 3600.0, fails, failures, {"model": risk})


def test_who_waits_longer_wastes_less_until_the_task_is_given_up() -> None:
    """A loop that is given up after 100 s makes fewer attempts; one that finishes makes all of them, only later."""
    loop = tuple(attempt(10.0, fails=True, failures=n, risk=0.9) for n in range(1, 6))
    given_up = Course(1, 0, 100.0, loop)
    wasted = [
        round(play(given_up, wait).wasted * 360)
        for wait in (at_once, backed_off, held_by("model", 0.5))
    ]
    assert wasted == [5, 3, 0]

    finishes = Course(1, 0, None, (attempt(10.0, fails=False, failures=1, risk=0.9),))
    played = play(finishes, held_by("model", 0.5))
    assert (played.held, played.held_failing, played.delay_seconds) == (1, 0, 900.0)
    assert play(finishes, held_by("model", 0.95)).delay_seconds == 0.0


def test_ending_early_saves_what_is_left_and_loses_what_was_done() -> None:
    """Of two attempts of two hours on a core, one that fails and one that does not, both ended half way."""
    rows = [
        {"job": job, "task": 0, "attempt_start_us": 0, "time_us": number, "fails": job == 1,
         "age": 3_600.0 * number, "done": float(number), "left": 2.0 - number, "risk": risk}
        for job, last in ((1, 0.5), (2, 0.3)) for number, risk in ((0, 0.9), (1, last))
    ]  # fmt: skip
    moments = pl.DataFrame(rows)
    assert row_of(moments, 0.2) == "| 0.2 | 2 | 1 | 100.00 % | 50.0 % | 50.0 % |"
    assert row_of(moments, 0.4) == "| 0.4 | 1 | 1 | 0.00 % | 50.0 % | 0.0 % |"


def test_recalibration_finds_how_much_too_sure_a_model_is() -> None:
    """Risks whose log odds are twice the true ones get a slope of a half; the curve of knots says the same."""
    truth = np.linspace(0.02, 0.6, 40)
    odds = (truth / (1.0 - truth)) ** 2
    told = odds / (1.0 + odds)
    failed = np.concatenate([np.arange(1_000) < round(1_000 * one) for one in truth]).astype(
        np.int64
    )
    line = fit(np.repeat(told, 1_000), failed)
    assert (line.intercept, line.slope) == pytest.approx((0.0, 0.5), abs=0.01)
    curve = line.calibration()
    assert np.interp(told, curve.x, curve.y) == pytest.approx(truth, abs=0.01)
