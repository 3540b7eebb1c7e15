"""A policy beside the twin's Kueue: watched, recorded and made again, and acting by Kueue's own means."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bus.errors import InputError
from bus.recording import open_recording
from foresail.__main__ import main
from inputs.clock import ManualClock
from lab.learning.comparison.learned_rule import ExportedRule
from lab.learning.jobs import Amounts, Job
from lab.queue.capacity import cluster_queue_of, quota_left
from lab.queue.decider import QueueDecider, QueuePlace
from lab.queue.export import write_sqlite
from lab.queue.history import QueueHistory, read_history
from lab.queue.manifests import HELD_QUEUE, LOCAL_QUEUE
from lab.queue.sinks import Sink, queue_recording
from lab.queue.submitting import job_manifest
from lab.rerun.verify import verify
from schemas.queue import QueueChoice, QueueMeans, QueuePolicy, QueueScore
from tests.lab.queue.conftest import GIB, NAMESPACE, World
from tests.lab.queue.policies import liking_policy
from twin.port.objects import WORKLOADS

MakeWorld = Callable[..., World]
JOB = Job("one", 0.0, Amounts(5_000, 4 * GIB), 120.0, 90.0, priority=5, kind="ml", pods=5)
"""Of the eight cores there is room for one of it at a time."""


class _Kept:
    """A sink that keeps what it is given."""

    def __init__(self) -> None:
        self.events: list[Any] = []

    async def take(self, events: Any, time_seconds: float) -> None:
        """Keep events."""
        self.events += events

    def of(self, kind: type[Any]) -> list[Any]:
        """Return the events of a kind."""
        return [one for one in self.events if isinstance(one, kind)]


def _decider(
    world: World, sink: Sink, means: QueueMeans | None = None, best: int = 1
) -> QueueDecider:
    """Return a policy that likes the job in the second slot best, then the first."""
    place = QueuePlace(world.transport, "v1beta2", NAMESPACE, LOCAL_QUEUE)
    policy = liking_policy(best=best, masked=True, passes=True)
    return QueueDecider(ExportedRule(policy), place, sink, means)


async def _submit(world: World, *names: str, queue: str = LOCAL_QUEUE) -> None:
    for name in names:
        await world.submit(job_manifest(replace(JOB, name=name), NAMESPACE, queue=queue))
        world.engine.advance(world.engine.now + 1.1)  # ages differ by whole seconds


async def _admitted(world: World) -> list[str]:
    await world.look(2.0)
    rows = sorted(
        (row for row in world.ledger.jobs.values() if row.admission_time_seconds is not None),
        key=lambda row: row.admission_time_seconds or 0.0,
    )
    return [row.name for row in rows]


async def test_in_shadow_it_changes_nothing_and_is_recorded(
    make_world: MakeWorld, tmp_path: Path
) -> None:
    """Kueue goes by age, the policy would have taken another; the recording holds both, and its choices are made again
    to the byte from it alone.
    """
    world, path = make_world(), tmp_path / "choices.fslog"
    await world.setup()
    await _submit(world, "running", "one", "two")
    with queue_recording(path, "queue", ManualClock()) as sink:
        decider = _decider(world, sink)
        for _ in range(4):
            await decider.decide()
            world.engine.advance(world.engine.now + 60.0)
    assert await _admitted(world) == ["running", "one", "two"]
    history = read_history(open_recording(path))
    assert not history.unreadable
    told = [one for one in history.choices if one.slots[:2] == ("one", "two")]
    assert told
    assert all(one.allowed[10] and not one.allowed[0] for one in told)
    report = verify(path)
    assert report.holds
    assert list(report.layers) == ["queue"]
    assert report.layers["queue"].equal == len(history.choices) >= 3


async def test_explain_shows_slots_mask_scores_and_runner_up(
    make_world: MakeWorld, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of two that fit the better liked one is chosen, the other the runner-up; theirs had no rationale (2.e.15)."""
    world, path = make_world(), tmp_path / "choices.fslog"
    await world.setup()
    await _submit(world, "one", "two", queue=HELD_QUEUE)
    with queue_recording(path, "queue", ManualClock()) as sink:
        await _decider(world, sink).decide()
    assert main(["queue", "explain", str(path), "one"]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["one", "yes", "0", "runner-up", "suspended"] in rows
    assert ["two", "yes", "1", "chosen", "suspended"] in rows
    assert ["waiting", "no", "-10"] in rows
    assert main(["queue", "explain", str(path), "tow"]) == 2
    assert "two" in capsys.readouterr().err


async def test_another_choice_in_the_log_is_found(make_world: MakeWorld, tmp_path: Path) -> None:
    """What today's code would not choose is a difference."""
    world, path = make_world(), tmp_path / "choices.fslog"
    await world.setup()
    await _submit(world, "one", "two", queue=HELD_QUEUE)
    kept = _Kept()
    await _decider(world, kept).decide()
    with queue_recording(path, "queue", ManualClock()) as sink:
        choice = kept.of(QueueChoice)[0]
        changed = choice.model_copy(update={"admits": "one"})
        events = [changed if one is choice else one for one in kept.events]
        await sink.take(events, world.engine.now)
    assert choice.admits == "two"
    assert verify(path).layers["queue"].different == 1


@pytest.mark.parametrize("means", ["queue", "active", "priority"])
async def test_it_acts_by_means_of_kueue(
    make_world: MakeWorld, means: QueueMeans, tmp_path: Path
) -> None:
    """The job that it likes better goes first although it came last, and nobody else runs beside it.

    The exported event of an admission that it chose names it; who goes by priority is admitted before it is asked.
    """
    world, kept = make_world(), _Kept()
    await world.setup()
    queue = HELD_QUEUE if means == "queue" else LOCAL_QUEUE
    await _submit(world, "running", queue=LOCAL_QUEUE)
    await _submit(world, "one", "two", queue=queue)
    decider = _decider(world, kept, means)
    admitted: list[str] = []
    for _ in range(30):
        await decider.decide()
        admitted = await _admitted(world)
        if len(admitted) > 1:
            break
        world.engine.advance(world.engine.now + 10.0)
    assert admitted == ["running", "two"]
    assert kept.of(QueuePolicy)[0].means == means
    await decider.decide()
    history = QueueHistory()
    for data in kept.events:
        history.add(data)
    write_sqlite(history, tmp_path / "jobs.db")
    with closing(sqlite3.connect(tmp_path / "jobs.db")) as database:
        query = "SELECT decision_metadata FROM scheduling_events WHERE event_type = 'admitted'"
        policies = [json.loads(text).get("policy") for (text,) in database.execute(query)]
    assert policies.count("likes") == (means != "priority")


async def test_what_was_held_is_given_back(make_world: MakeWorld) -> None:
    """At its end nobody stays deactivated by it, and who was deactivated by somebody else still is."""
    world, kept = make_world(), _Kept()
    await world.setup()
    await _submit(world, "running", "one", "foreign")
    base = f"/apis/kueue.x-k8s.io/v1beta2/namespaces/{NAMESPACE}/workloads"
    workloads = {
        one["metadata"]["ownerReferences"][0]["name"]: one["metadata"]["name"]
        for one in world.engine.store.list(WORKLOADS)
    }
    await world.transport.request(
        "PATCH", f"{base}/{workloads['foreign']}", None, {"spec": {"active": False}},
        "application/merge-patch+json",
    )  # fmt: skip
    decider = _decider(world, kept, "active")
    await decider.decide()
    active = lambda: {  # noqa: E731
        name: world.engine.store.get(WORKLOADS, NAMESPACE, workload)["spec"].get("active", True)
        for name, workload in workloads.items()
    }
    assert active() == {"running": True, "one": False, "foreign": False}
    assert kept.of(QueueChoice)[0].left_out == ("foreign",)
    await decider.end()
    assert active() == {"running": True, "one": True, "foreign": False}


async def test_quota_is_the_cluster_queues(make_world: MakeWorld) -> None:
    """Half of the cluster's cores are quota; what another namespace holds of them is not handed out again."""
    world = make_world()
    await world.setup(quota_ratio=0.5, namespaces=(NAMESPACE, "other"))
    body = job_manifest(
        replace(JOB, requests=Amounts(1_000, GIB), pods=1), "other", queue=LOCAL_QUEUE
    )
    await world.transport.request("POST", "/apis/batch/v1/namespaces/other/jobs", None, body)
    await world.look(2.0)
    where = world.transport, "v1beta2", NAMESPACE
    found = await cluster_queue_of(*where, LOCAL_QUEUE)
    left = quota_left(found, world.ledger.jobs.values(), Amounts(0, 0))
    assert left == Amounts(3_000, 15 * GIB)
    with pytest.raises(InputError, match="there is no such queue"):
        await cluster_queue_of(*where, "nobodys")


async def test_its_score_stands_beside_what_acted(make_world: MakeWorld) -> None:
    """Both figures are of the same Jobs; where the policy does as Kueue did, the waits differ by Kueue's latency."""
    world, kept = make_world(), _Kept()
    await world.setup()
    await _submit(world, "one", "two")
    decider = _decider(world, kept, best=0)
    await decider.decide()
    world.engine.advance(world.engine.now + 400.0)
    await decider.decide()
    score = kept.of(QueueScore)[-1]
    assert (score.jobs, score.acted_admitted, score.policy_admitted, score.acts) == (2, 2, 2, False)
    assert score.acted_wait_seconds == pytest.approx(score.policy_wait_seconds, abs=3.0)
    assert score.acted_wait_seconds > 40.0
