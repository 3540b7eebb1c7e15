"""Learned arms are judged beside the best simple rule, in one unit, and every job counts."""

from __future__ import annotations

from dataclasses import replace
from math import inf

import numpy as np
import numpy.typing as npt
import pytest

from lab.learning.comparison.benchmark import Arm, Played, play_stream, rule_arms
from lab.learning.comparison.compare import Comparison
from lab.learning.comparison.judgement import (
    WorkloadJudgement,
    best_rule,
    judge_workload,
    statement,
)
from lab.learning.comparison.overall import overall
from lab.learning.comparison.plays import Plays
from lab.learning.comparison.report import Report
from lab.learning.jobs import Amounts, Job, JobStream, ordered_stream
from lab.learning.workloads.sources import stream_source

GIB = 2**30


def _played(
    name: str, slowdown: list[list[float]], *, learned: bool = False, truth: bool = False
) -> Played:
    values = np.array(slowdown)
    seeds = tuple(lambda: lambda cluster: None for _ in slowdown)
    others = (
        "wait_minutes",
        "longest_wait_hours",
        "completed",
        "unfinished",
        "utilization_percent",
    )
    zeros = {measure: np.zeros_like(values) for measure in others}
    return Played(
        Arm(name, seeds, learned=learned, knows_truth=truth), {"slowdown": values, **zeros}
    )


def _judged(rule: npt.NDArray[np.float64], ours: npt.NDArray[np.float64]) -> WorkloadJudgement:
    played = [_played("rule", [rule.tolist()]), _played("ours", ours.tolist(), learned=True)]
    return judge_workload("lublin", "rule", played, 0)


def test_the_best_rule_is_settled_without_the_truth() -> None:
    """Neither a rule that knows true times nor a learned policy is the best simple rule, however good."""
    development = [
        _played("sjf+fit", [[4.0, 6.0]]),
        _played("fcfs", [[9.0, 9.0]]),
        _played("sjf-truth+fit", [[1.0, 1.0]], truth=True),
        _played("ours", [[2.0, 2.0]], learned=True),
    ]
    assert best_rule(development) == "sjf+fit"


@pytest.mark.parametrize(
    ("factor", "word"), [(0.8, "beat"), (0.95, "short of the goal"), (1.3, "did not beat")]
)
def test_the_statement_says_what_the_interval_allows(factor: float, word: str) -> None:
    """A gain with an interval above 0 is a gain, one below is a loss, and the goal is named where it is missed."""
    draws = np.random.default_rng(0)
    rule = draws.uniform(4.0, 6.0, 40)
    ours = factor * rule[None, :] * draws.normal(1.0, 0.01, (5, 1))
    judged = _judged(rule, ours)
    (line,) = statement([judged])
    assert word in line
    assert "ours" in line
    assert "rule" in line


def test_noise_is_called_noise() -> None:
    """Where the interval holds 0, nobody is said to be better."""
    draws = np.random.default_rng(1)
    rule = draws.uniform(1.0, 9.0, 10)
    ours = rule[None, :] * draws.normal(1.0, 0.5, (5, 10))
    judged = _judged(rule, ours)
    assert "neither shown better nor worse" in statement([judged])[0]


def _queue() -> JobStream:
    jobs = [
        Job(f"job-{number}", 0.0, Amounts(1_000, GIB), 600.0, 600.0)
        for number in range(4)
    ]  # fmt: skip
    return ordered_stream("four", jobs, Amounts(1_000, GIB))


def test_jobs_that_wait_for_ever_are_counted() -> None:
    """A rule that admits nobody has a slowdown of jobs that still wait, and says how many are unfinished."""
    lazy = Arm("lazy", (lambda: lambda cluster: None,))
    quick = next(arm for arm in rule_arms(1) if arm.name == "first-fit")
    nothing, all_done = (play_stream(arm.seeds[0](), _queue(), 6_000.0) for arm in (lazy, quick))
    assert nothing["unfinished"] == 4
    assert nothing["completed"] == 0
    assert all_done["unfinished"] == 0
    assert nothing["slowdown"] > all_done["slowdown"]


def test_all_arms_play_the_same_jobs() -> None:
    """Every arm accounts for every job of the stream, and the report names all of them."""
    whole = [stream_source("uniform", split="test")(seed) for seed in range(2)]
    streams = [replace(stream, jobs=stream.jobs[:40]) for stream in whole]
    comparison = Comparison("uniform", rule_arms(2), (), streams, streams, inf)
    plays = Plays()
    for one in comparison.rounds():
        list(plays.play(one, lambda: True))
    judged = comparison.judged(plays)
    assert judged is not None
    played = [one.played for one in judged.standings]
    for one in played:
        done = one.values["completed"] + one.values["unfinished"]
        assert (done <= [len(stream.jobs) for stream in streams]).all()
    text = Report([judged], overall([judged], 0), ["made by a test"]).markdown()
    assert all(one.arm.name in text for one in played)
    assert "No learned policy was played." in text
