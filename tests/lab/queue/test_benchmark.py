"""The benchmark: equal clusters, equal jobs, every job in one counted state, figures over the whole time."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bus.errors import InputError
from lab.learning.jobs import Amounts, Job, JobStream
from lab.learning.workloads.published import KINDS, NODE, NODES, published_stream
from lab.queue.accounts import ACCOUNTS, METRICS, ArmResult, result_of
from lab.queue.arms import DEFAULT, KUEUE, PLAIN, arm_of
from lab.queue.comparing import QueueComparison, comparison_markdown, interval
from lab.queue.playing import QueuePlay, play_arm, prepare
from lab.queue.twin_stage import TwinStage
from lab.queue.view import QueueView, chosen_now
from schemas.queue import QueueJob, QueueState
from tests.lab.queue.test_alerts import EMPTY

SECONDS = 1_200.0
GIB = 2**30


async def _play(name: str, seed: int = 1, seconds: float = SECONDS) -> ArmResult:
    play = QueuePlay(published_stream(seed), seed, seconds, "batch")
    stage = TwinStage(NODES, NODE.cpu_millicores, NODE.memory_bytes, seed)
    arm = arm_of(name, seed)
    return await play_arm(stage, arm, play, await prepare(stage, arm, play))


def test_the_published_hour_has_its_179_jobs() -> None:
    """One each 20 s, of four kinds; true times are those of the containers, deadlines thrice the estimate."""
    jobs = published_stream(1).jobs
    assert len(jobs) == 179
    assert {job.arrival_seconds for job in jobs} == {20.0 * number for number in range(179)}
    assert {job.name.rpartition("-")[0] for job in jobs} == {kind.name for kind in KINDS}
    assert all(job.deadline_seconds == 3 * job.estimate_seconds for job in jobs)
    assert published_stream(1) == published_stream(1) != published_stream(2)


@pytest.mark.parametrize("name", [PLAIN, *KUEUE, "sjf+fit"])
async def test_every_job_is_in_exactly_one_state(name: str) -> None:
    """In each arm the states add up to the stream; what was to come later is unsubmitted."""
    result = await _play(name)
    assert set(result.accounts) == set(ACCOUNTS)
    assert sum(result.accounts.values()) == len(result.finishes) == 179
    assert result.accounts["unsubmitted"] == 179 - SECONDS / 20
    assert result.accounts["completed"] > 5
    assert set(result.metrics) == set(METRICS)


async def test_equal_arguments_give_equal_results() -> None:
    """A benchmark can be repeated; theirs had no seed (2.e.11)."""
    assert await _play("random", seconds=600.0) == await _play("random", seconds=600.0)


async def test_plain_kubernetes_is_no_kueue() -> None:
    """In the arm that they called kueue-default no queue holds a Job: more pods wait, and deadlines run (2.e.5)."""
    plain, kueue = (
        await _play(PLAIN, seconds=3_600.0),
        await _play("kueue-best-effort-fifo", seconds=3_600.0),
    )
    assert plain.accounts["rejected"] > 0
    assert kueue.accounts["rejected"] == 0


def _state(seconds: float, **more: object) -> QueueState:
    return QueueState(**(EMPTY | {"cluster_time_seconds": seconds} | more))


def _row(name: str, **more: object) -> QueueJob:
    given = {
        "job_id": name, "name": name, "namespace": "batch", "status": "Suspended",
        "submission_time_seconds": 0.0, **more,
    }  # fmt: skip
    return QueueJob.model_validate(given)


JOBS = tuple(
    Job(name, 0.0, Amounts(1_000, GIB), 60.0, 60.0) for name in ("ended", "waits", "runs", "lost")
)
ROWS = {
    "ended": _row(
        "ended", status="Succeeded", start_time_seconds=0.0, completion_time_seconds=60.0,
        admission_time_seconds=0.0,
    ),
    "waits": _row("waits"),
    "runs": _row("runs", status="Running", start_time_seconds=60.0, admission_time_seconds=60.0),
}  # fmt: skip


def test_what_is_admitted_is_not_yet_completed() -> None:
    """Theirs counted admissions as completed jobs (2.e.9)."""
    result = result_of("a", 1, JOBS, ROWS, [_state(0.0), _state(3_600.0)], {"lost": "no"})
    assert {name: count for name, count in result.accounts.items() if count} == {
        "completed": 1,
        "running": 1,
        "waiting": 1,
        "refused": 1,
    }
    assert (result.metrics["throughput"], result.metrics["success_rate"]) == (1.0, 25.0)


def test_a_job_that_never_ran_has_waited_until_the_end() -> None:
    """Starving somebody is no way to a short wait."""
    result = result_of("a", 1, JOBS, ROWS, [_state(0.0), _state(3_600.0)], {})
    assert result.metrics["mean_wait_minutes"] == pytest.approx((0 + 60 + 1) / 3)


def test_figures_are_means_over_the_time_and_not_the_last_sample() -> None:
    """Theirs took the last one (2.e.11); a sample that nobody measured counts for nothing."""
    samples = [
        _state(0.0, jobs_suspended=4, cpu_used_ratio=0.2),
        _state(30.0, jobs_pending=2),
        _state(60.0, cpu_used_ratio=0.4),
    ]
    metrics = result_of("a", 1, JOBS, ROWS, samples, {}).metrics
    assert metrics["avg_queue_length"] == 2.0
    assert metrics["cpu_utilization"] == pytest.approx(30.0)


def test_a_rule_sees_every_job_that_waits() -> None:
    """Theirs saw the first ten in the API's order, and nobody else (2.e.12)."""
    names = [f"job-{number}" for number in range(30)]
    jobs = tuple(
        Job(name, 0.0, Amounts(1_000, GIB), 600.0 - number, 60.0)
        for number, name in enumerate(names)
    )
    stream = JobStream("s", jobs, Amounts(2_000, 8 * GIB))
    view = QueueView(stream, {name: _row(name) for name in names}, 10.0, 0.0)
    rule = arm_of("sjf+fit", 1).rule
    assert rule is not None
    assert [job.name for job in chosen_now(view, rule)] == ["job-29", "job-28"]


def test_what_runs_holds_its_quota_in_the_view() -> None:
    """A Job that was moved and not yet admitted holds it, too, so nobody is admitted on its room."""
    stream = JobStream("s", JOBS, Amounts(2_000, 8 * GIB))
    rows = ROWS | {"lost": replace_row(ROWS["waits"], name="lost", queue_name="jobs")}
    view = QueueView(stream, rows, 100.0, 0.0)
    assert (view.free.cpu_millicores, view.pending_count) == (0, 1)
    assert not view.fits(1)


def replace_row(row: QueueJob, **more: object) -> QueueJob:
    """Return a row with some fields changed."""
    return row.model_copy(update=more)


def test_an_arm_that_there_is_not_is_refused() -> None:
    """With the names that would do; nothing is played in its place (2.e.11: an untrained agent was)."""
    with pytest.raises(InputError, match="kueue-strict-fifo"):
        arm_of("dqn-that-nobody-trained", 1)


def _result(arm: str, seed: int, throughput: float) -> ArmResult:
    result = result_of(arm, seed, JOBS, ROWS, [_state(0.0), _state(3_600.0)], {})
    return replace(result, metrics={**result.metrics, "throughput": throughput})


def test_differences_are_paired_by_stream() -> None:
    """Arms that differ alike on every stream differ for certain, however much streams do."""
    results = [
        _result("a", 1, 10.0),
        _result("a", 2, 50.0),
        _result("b", 1, 12.0),
        _result("b", 2, 52.0),
    ]
    comparison = QueueComparison("w", "a", results)
    difference = comparison.difference("b", "throughput")
    assert (difference.mean, difference.low, difference.high) == (2.0, 2.0, 2.0)
    assert comparison.metric("b", "throughput").low < 0
    assert comparison.accounts("a")["completed"] == 2
    assert "| b | 2 ± 0 |" in comparison_markdown(comparison, "foresail queue benchmark")


def test_the_interval_of_a_mean_is_students() -> None:
    """Of 1, 2, 3 by hand: 2 ± 4.303 / sqrt(3)."""
    assert interval([1.0, 2.0, 3.0]).high == pytest.approx(2 + 4.3027 / 3**0.5, abs=1e-3)


def test_the_default_arms_hold_plain_kubernetes_and_both_of_kueues() -> None:
    """The published comparison, corrected, comes without an argument."""
    assert {PLAIN, *KUEUE} < set(DEFAULT)
