"""Collecting and monitoring: what is seen goes to the log, alerts to somebody, and a look in vain ends nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from bus.recording import open_recording
from inputs.clock import ManualClock
from lab.learning.jobs import Amounts, Job
from lab.queue.collecting import Told, Watching, watch_queues
from lab.queue.export import CSV_COLUMNS, write_csv, write_sqlite
from lab.queue.history import read_history
from lab.queue.objects import JOBS_PATH
from lab.queue.samples import QueueSample
from lab.queue.sinks import queue_recording
from lab.queue.submitting import Submitter
from schemas.queue import QueueAlert
from services.cluster import JSON, ApiResponse, ClusterUnavailable, Json, Method
from tests.lab.queue.conftest import GIB, NAMESPACE, World

MakeWorld = Callable[..., World]
CROWD = tuple(
    Job(f"job-{number:02d}", float(number), Amounts(1_000, GIB), 600.0, 600.0)
    for number in range(60)
)


class _Clock(ManualClock):
    """A clock whose sleep lets the cluster's time pass."""

    def __init__(self, world: World) -> None:
        super().__init__()
        self._world = world

    async def sleep(self, seconds: float) -> None:
        """Let time pass in both."""
        self._world.engine.advance(self._world.engine.now + seconds)
        await super().sleep(seconds)


class _Flaky:
    """A cluster that does not answer the third list of Jobs."""

    def __init__(self, world: World) -> None:
        self._world, self.lists = world, 0

    async def request(
        self,
        method: Method,
        path: str,
        query: Mapping[str, str] | None = None,
        body: Json | None = None,
        content_type: str = JSON,
    ) -> ApiResponse:
        """Answer as the cluster does, but once."""
        if path == JOBS_PATH:
            self.lists += 1
            if self.lists == 3:
                raise ClusterUnavailable("nobody there")
        return await self._world.transport.request(method, path, query, body, content_type)

    async def close(self) -> None:
        """Nothing is held."""


async def _collected(world: World, path: Path, transport: Any) -> tuple[list[Any], Submitter]:
    """Watch a crowd of 60 Jobs of which eight fit for four minutes, and return what was told."""
    await world.setup()
    told: list[Any] = []
    submitter = Submitter(CROWD, NAMESPACE, queue="jobs")
    with queue_recording(path, "queue", _Clock(world)) as sink:
        samples = await watch_queues(
            transport, Watching(30.0, 240.0, (NAMESPACE,)), sink,
            Told(told.append, told.append, told.append), _Clock(world), submitter,
        )  # fmt: skip
    assert samples == sum(isinstance(one, QueueSample) for one in told)
    return told, submitter


async def test_a_crowd_is_recorded_and_raises_one_alert(
    make_world: MakeWorld, tmp_path: Path
) -> None:
    """More than 50 wait: the alert is in the log and was told, once; the record exports in both forms."""
    world = make_world()
    told, submitter = await _collected(world, tmp_path / "a.fslog", world.transport)
    alerts = [one for one in told if isinstance(one, QueueAlert)]
    assert [(one.alert, one.state, one.value) for one in alerts] == [
        ("queue_congestion", "firing", 52.0)
    ]
    recording = open_recording(tmp_path / "a.fslog")
    history = read_history(recording)
    assert not recording.damage
    assert history.alerts == alerts
    assert [state.queue_length for state in history.states][-1] == 52
    assert len(submitter.accepted) == len(history.jobs) == 60
    assert write_sqlite(history, tmp_path / "a.db")["jobs"] == 60
    assert write_csv(history, tmp_path / "a.csv") == 60
    head = (tmp_path / "a.csv").read_text().splitlines()[0]
    assert tuple(head.split(",")) == CSV_COLUMNS


async def test_a_look_without_answer_is_said_and_the_next_one_works(
    make_world: MakeWorld, tmp_path: Path
) -> None:
    """Theirs ended its thread in silence (2.e.1)."""
    world = make_world()
    told, _ = await _collected(world, tmp_path / "a.fslog", _Flaky(world))
    assert [one for one in told if isinstance(one, str)] == ["nobody there"]
    assert sum(isinstance(one, QueueSample) for one in told) >= 8


async def test_what_was_submitted_can_be_taken_away(make_world: MakeWorld, tmp_path: Path) -> None:
    """All of its Jobs, and no other."""
    world = make_world()
    _, submitter = await _collected(world, tmp_path / "a.fslog", world.transport)
    other = Submitter((Job("other", 0.0, Amounts(10, GIB), 60.0, 60.0),), NAMESPACE, queue=None)
    await other.submit(world.transport, 0.0, 0.0)
    await submitter.remove(world.transport)
    world.engine.advance(world.engine.now + 30.0)
    assert [one["metadata"]["name"] for one in world.engine.store.list("jobs")] == ["other"]
