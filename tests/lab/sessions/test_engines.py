"""The contract of an engine, seen through the runner: every job comes to exactly one end, whatever it does."""

from __future__ import annotations

import asyncio
import json

import pytest

from lab.sessions.engines.port import Attempt
from projections.session_state import FINAL
from tests.lab.sessions.harness import Harness, states, until_nobody

pytestmark = pytest.mark.slow


async def test_jobs_end_as_they_should_and_the_counts_add_up(harness: Harness) -> None:
    """Success, failure, time-out, no result and bad results each have a state of their own and a reason."""
    does = ["succeed", "fail", "hang", "nothing", "text", "list"]
    jobs = harness.jobs({"do": do, "score": 2} for do in does)

    state, code = await harness.run(jobs, timeout_per_job_seconds=6.0, max_parallel=6)

    found = dict(zip(does, state.jobs.values(), strict=True))
    assert {do: change.state for do, change in found.items()} == {
        "succeed": "succeeded", "fail": "failed", "hang": "timed-out", "nothing": "failed",
        "text": "failed", "list": "failed",
    }  # fmt: skip
    assert found["succeed"].value == 2.0
    assert "it went wrong" in found["fail"].why
    assert "it went wrong" in "".join(found["fail"].log_tail)
    assert "longer than" in found["hang"].why
    assert "no JSON" in found["text"].why
    assert sum(state.counts[name] for name in FINAL) == state.total == 6
    assert code == 1


async def test_results_come_back_where_they_belong(harness: Harness) -> None:
    """Each result, small or of a megabyte, stands in its own file, and its hash in the log."""
    jobs = harness.jobs([{"do": "succeed", "score": 0}, {"do": "megabyte", "score": 3}])

    state, code = await harness.run(jobs)

    assert code == 0
    for job, score in zip(jobs, (0, 3), strict=True):
        text = (harness.folder / "out" / f"{job.job_id}.json").read_text()
        assert json.loads(text)["metrics"]["score"] == score
        assert state.jobs[job.job_id].sha256


async def test_a_result_that_is_too_large_fails_that_job_alone(harness: Harness) -> None:
    """17 MiB are refused by name."""
    state, code = await harness.run(harness.jobs([{"do": "large"}, {"do": "succeed"}]))

    assert list(states(state).values()) == ["failed", "succeeded"]
    assert code == 1


async def test_what_a_timed_out_job_started_is_gone_with_it(harness: Harness) -> None:
    """A hanging job's child ends, too."""
    await harness.run(harness.jobs([{"do": "hang"}]), timeout_per_job_seconds=4.0)

    await asyncio.to_thread(until_nobody, str(harness.diary))


async def test_a_job_that_fails_once_is_tried_again(harness: Harness) -> None:
    """With a retry it succeeds at its second attempt; one that always fails has had both."""
    jobs = harness.jobs([{"do": "fail-once"}, {"do": "fail"}])

    state, code = await harness.run(jobs, retries=1)

    assert [(one.state, one.attempt) for one in state.jobs.values()] == [
        ("succeeded", 2),
        ("failed", 2),
    ]
    assert code == 1


async def test_no_more_jobs_run_at_once_than_may(harness: Harness) -> None:
    """Never more begun than ended plus the limit."""
    jobs = harness.jobs({"do": "sleep", "seconds": 1.5} for _ in range(6))

    await harness.run(jobs, max_parallel=2)

    running = most = 0
    for line in harness.lines():
        running += -1 if line.endswith("done") else 1
        most = max(most, running)
    assert 1 <= most <= 2  # a busy machine may start the second after the first has ended


async def test_a_cancelled_session_stops_what_runs_and_begins_nothing(harness: Harness) -> None:
    """The two that run and the two that wait end as cancelled, and no process stays."""
    jobs = harness.jobs({"do": "hang"} for _ in range(4))
    running = asyncio.create_task(harness.run(jobs, max_parallel=2))
    while len(harness.lines()) < 2:
        await asyncio.sleep(0.05)
    async with harness.log("somebody") as log:
        await log.request_cancel("enough")

    state, code = await running

    assert set(states(state).values()) == {"cancelled"}
    assert state.counts["cancelled"] == 4
    assert len(harness.lines()) == 2
    assert code == 1
    await asyncio.to_thread(until_nobody, str(harness.diary))


async def test_a_resumed_session_runs_no_job_twice_after_success(harness: Harness) -> None:
    """A second runner takes up the log of the first, which stopped in the middle, and runs the rest alone."""
    jobs = harness.jobs([{"do": "succeed"}] * 3 + [{"do": "sleep", "seconds": 0.2}] * 3)
    first = asyncio.create_task(harness.run(jobs, max_parallel=1))
    while sum(line.endswith("done") for line in harness.lines()) < 2:
        await asyncio.sleep(0.01)
    first.cancel()
    await asyncio.gather(first, return_exceptions=True)
    async with harness.log("reader") as log:
        known = [one.job_id for one in (await log.read()).jobs.values() if one.state == "succeeded"]
    succeeded = harness.ended_well() | set(known)
    before = harness.begun()

    state, code = await harness.run((), runner="r2")

    assert code == 0
    assert set(states(state).values()) == {"succeeded"}
    assert succeeded
    assert {job: harness.begun()[job] for job in succeeded} == {
        job: before[job] for job in succeeded
    }


async def test_jobs_that_end_at_once_are_not_missed(harness: Harness) -> None:
    """Beginning and end of a job may be told together."""
    if harness.kind == "kubernetes":
        pytest.skip("its containers have no cp")
    source = harness.folder / "result.json"
    source.write_text('{"status": "success"}')
    names = [f"quick-{number}" for number in range(20)]
    async with harness.open_engine("quick", harness.folder / "session") as engine:
        for name in names:
            output = str(harness.folder / f"{name}.json")
            words = ("cp", str(source), engine.result_path(output))
            await engine.submit(Attempt(name, 1, words, output, 60.0))
        endings = engine.watch()
        async with asyncio.timeout(120):
            found = [await anext(endings) for _ in names]

    assert {(one.name, one.exit_code) for one in found} == {(f"{name}-1", 0) for name in names}
