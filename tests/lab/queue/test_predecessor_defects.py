"""Defects of the predecessors' setup, collector, monitor and exporter, each as a promise of ours."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from lab.learning.jobs import Amounts, Job
from lab.queue.export import CSV_COLUMNS, training_rows, write_sqlite
from lab.queue.history import QueueHistory
from lab.queue.manifests import QueueSetup, manifests
from lab.queue.objects import BatchJob
from lab.queue.reading import QueueReads
from lab.queue.samples import QueueLedger, take_sample
from lab.queue.submitting import job_manifest
from lab.queue.summary import WatchSummary
from services.kube_objects import (
    ContainerState,
    ContainerStatus,
    Meta,
    Owner,
    Pod,
    PodMeta,
    PodStatus,
    StateDetail,
)
from tests.lab.queue.conftest import GIB, NAMESPACE, World

MakeWorld = Callable[..., World]
JOB = Job("one", 0.0, Amounts(3_000, 4 * GIB), 120.0, 90.0, priority=5, kind="ml", pods=2)


async def _played(world: World, seconds: float = 300.0) -> QueueHistory:
    """Play three Jobs of which two fit beside each other, with a look every 10 s."""
    await world.setup()
    for name in ("one", "two", "three"):
        await world.submit(job_manifest(replace(JOB, name=name), NAMESPACE))
    history = QueueHistory()
    for _ in range(int(seconds / 10)):
        for data in (await world.look(10.0)).events():
            history.add(data)
    return history


async def test_times_of_jobs_and_looks_are_one_clock_in_utc(make_world: MakeWorld) -> None:
    """Theirs mixed local time without a zone with UTC, which ended the agent's thread (2.e.1, 2.e.13)."""
    world = make_world()
    history = await _played(world)
    for job in history.jobs.values():
        assert job.completion_time_seconds is not None
        assert job.start_time_seconds is not None
        assert job.submission_time_seconds <= job.start_time_seconds < job.completion_time_seconds
        assert job.completion_time_seconds <= world.engine.now
    assert all(row["submission_timestamp"].endswith("Z") for row in training_rows(history))


async def test_requests_are_those_of_all_pods_and_containers(make_world: MakeWorld) -> None:
    """Theirs were always 0, or those of the first container (2.e.3, 2.e.13)."""
    world = make_world()
    await world.setup()
    manifest = dict(job_manifest(JOB, NAMESPACE))
    pod = manifest["spec"]["template"]["spec"]
    pod["containers"].append({**pod["containers"][0], "name": "beside"})
    await world.submit(manifest)
    (row,) = (await world.look(1.0)).changed
    assert (row.cpu_request_cores, row.memory_request_bytes) == (6.0, 8 * GIB)
    assert (row.pods, row.priority, row.job_type) == (2, 5, "ml")


async def test_utilization_is_measured_or_missing(make_world: MakeWorld, tmp_path: Path) -> None:
    """Theirs was a constant, in the monitor 0.5 for any cluster (2.e.4, 2.e.7)."""
    world = make_world()
    history = await _played(world)
    measured = {state.cpu_used_ratio for state in history.states} - {None}
    assert len(measured) > 3
    write_sqlite(history, tmp_path / "jobs.db")
    with closing(sqlite3.connect(tmp_path / "jobs.db")) as database:
        efficiency = database.execute("SELECT DISTINCT resource_efficiency FROM scheduling_events")
        assert efficiency.fetchall() == [(None,)]  # theirs was 0.8 for each


async def test_jobs_wait_in_kueues_queue_and_only_admitted_ones_run(make_world: MakeWorld) -> None:
    """Theirs un-suspended plain Jobs without a queue, and called plain Kubernetes Kueue (2.e.5)."""
    world = make_world()
    await world.setup()
    for name in ("one", "two", "three"):
        await world.submit(job_manifest(replace(JOB, name=name), NAMESPACE))
    rows = (await world.look(10.0)).changed
    assert {row.scheduler for row in rows} == {"kueue"}
    assert Counter(row.status for row in rows) == {"Running": 2, "Suspended": 1}
    waiting = next(row for row in rows if row.status == "Suspended")
    assert waiting.admission_time_seconds is None
    assert waiting.queue_name == "jobs"


async def test_a_suspended_job_counts_as_waiting(make_world: MakeWorld) -> None:
    """Theirs did not, so the queue of a learned policy was always empty (2.e.6)."""
    world = make_world()
    await world.setup()
    for name in ("one", "two", "three"):
        await world.submit(job_manifest(replace(JOB, name=name), NAMESPACE))
    state = (await world.look(10.0)).state
    assert (state.queue_length, state.jobs_suspended, state.jobs_running) == (1, 1, 2)
    assert state.jobs_total == 3


async def test_every_step_of_a_job_is_an_event(make_world: MakeWorld, tmp_path: Path) -> None:
    """Theirs compared a state with itself, so not one scheduling event was ever written (2.e.8)."""
    history = await _played(make_world())
    rows = write_sqlite(history, tmp_path / "jobs.db")
    assert rows["scheduling_events"] == 9
    assert Counter(event.type for event in history.events) == {
        "admitted": 3,
        "scheduled": 3,
        "completed": 3,
    }


async def test_the_monitors_summary_has_a_length_of_time(make_world: MakeWorld) -> None:
    """Theirs subtracted a `threading.Event` from the time and ended there (2.e.8)."""
    history = await _played(make_world(), 120.0)
    summary = WatchSummary()
    assert summary.line() == "no look had an answer"
    for state in history.states:
        summary = summary.with_look(state)
    assert (summary.looks, summary.seconds, summary.most_waiting) == (12, 110.0, 1)
    assert summary.line().startswith(
        "12 looks in 110 s: at most 1 waiting, at the end 0 waiting, 1 running, 2 succeeded"
    )


async def test_steps_between_two_looks_are_not_lost(make_world: MakeWorld) -> None:
    """A Job that comes, runs and ends between two looks still has its times."""
    world = make_world()
    await world.setup()
    await world.look()
    await world.submit(job_manifest(JOB, NAMESPACE))
    history = QueueHistory()
    for data in (await world.look(200.0)).events():
        history.add(data)
    assert [event.type for event in history.events] == ["admitted", "scheduled", "completed"]
    assert training_rows(history)[0]["execution_time_minutes"] == pytest.approx(1.5, abs=0.1)


def test_one_binding_holds_for_every_namespace() -> None:
    """Theirs overwrote one ClusterRoleBinding for each namespace (2.e.13)."""
    made = list(manifests(QueueSetup(("a", "b", "c"), 1_000, GIB)))
    keys = [
        (one["kind"], one["metadata"].get("namespace"), one["metadata"]["name"]) for one in made
    ]
    assert len(keys) == len(set(keys))
    (binding,) = [one for one in made if one["kind"] == "ClusterRoleBinding"]
    assert binding["subjects"][0]["namespace"] == "a"


async def test_namespaces_are_made(make_world: MakeWorld) -> None:
    """Theirs called a module that was not imported, and went on without (2.e.8)."""
    world = make_world()
    await world.setup(namespaces=("fresh",))
    answer = await world.transport.request("GET", "/api/v1/namespaces/fresh")
    assert answer.status == 200


async def test_training_rows_know_nothing_of_the_time_after_submission(
    make_world: MakeWorld,
) -> None:
    """Theirs took the nearest look, which may show the Job itself running."""
    world = make_world()
    await world.setup()
    history = QueueHistory()
    for data in (await world.look()).events():
        history.add(data)
    world.engine.advance(world.engine.now + 9.0)
    await world.submit(job_manifest(JOB, NAMESPACE))
    for data in (await world.look(1.0)).events():
        history.add(data)
    (row,) = training_rows(history)
    assert tuple(row) == CSV_COLUMNS
    assert (row["cluster_cpu_available"], row["cluster_running_jobs"]) == (8.0, 0)


def _killed_pod(name: str) -> Pod:
    """Return a pod of the Job `one` whose container was killed for want of memory."""
    terminated = StateDetail(reason="OOMKilled", finished_at="2026-01-01T00:00:10Z")
    status = ContainerStatus(name="worker", last_state=ContainerState(terminated=terminated))
    owner = Owner(kind="Job", name="one", controller=True)
    return Pod(
        metadata=PodMeta(name=name, namespace=NAMESPACE, uid=name, owner_references=(owner,)),
        status=PodStatus(phase="Running", container_statuses=(status,)),
    )


def test_kills_stay_counted_when_their_pods_are_gone() -> None:
    """Theirs counted what pods show now, so a kill was forgotten with its pod (2.e.11)."""
    meta = Meta(name="one", namespace=NAMESPACE, uid="u", creation_timestamp="2026-01-01T00:00:00Z")
    reads = QueueReads(1_767_225_615.0, [BatchJob(metadata=meta)])
    seen = replace(reads, pods=[_killed_pod("a"), _killed_pod("b")])
    ledger, look = take_sample(QueueLedger(), seen)
    assert (look.state.oom_kills, look.changed[0].oom_kills) == (2, 2)
    ledger, look = take_sample(ledger, seen)
    assert look.state.oom_kills == 2  # the same two
    later = replace(reads, time_seconds=reads.time_seconds + 3_601.0)
    _, look = take_sample(ledger, later)
    assert (look.state.oom_kills, look.state.oom_kills_last_hour) == (2, 0)


def test_without_pods_a_job_is_unknown_and_not_pending() -> None:
    """A source that gave no answer is named, and nothing is made up in its place."""
    meta = Meta(name="one", namespace=NAMESPACE, uid="u", creation_timestamp="2026-01-01T00:00:00Z")
    reads = QueueReads(1_767_225_615.0, [BatchJob(metadata=meta)], missing=("pods",))
    _, look = take_sample(QueueLedger(), reads)
    assert look.changed[0].status == "Unknown"
    assert look.state.missing == ("pods",)
