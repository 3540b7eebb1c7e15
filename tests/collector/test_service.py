"""The collector's loop: one cycle per interval, through every failure of the API and of the bus."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from contextlib import suppress
from types import SimpleNamespace
from typing import Any, cast

from bus.clock import LoopClock
from bus.item_errors import ItemErrors
from bus.memory_adapter import Faults, MemoryBus, MemoryLog
from bus.virtual_loop import run_virtual
from projections.outage import outage_of
from schemas.envelope import Event, rfc3339
from schemas.frames import FullState, apply_frame
from schemas.identity import Origin
from schemas.observation import Observation
from schemas.reaction import Reaction, ReactionKind
from schemas.registry import decode
from schemas.signals import SignalStatus
from schemas.snapshot import SnapshotNodes, SnapshotPlacements, SnapshotWorkloads
from services.collector.following import FollowedSources
from services.collector.service import Collector, run
from services.collector.settings import CollectorSettings
from services.twin_transport import TwinTransport
from tests.builders import START_SECONDS
from tests.collector.scripted_cluster import ScriptedCluster, node, pod

ORIGIN = Origin("test", "1")
SETTINGS = CollectorSettings(interval_seconds=5.0, keyframe_cycles=4)
Script = Callable[[ScriptedCluster, float], None]


class Ticking(ScriptedCluster):
    """A scripted cluster whose time follows the loop's; `script` changes it as time passes."""

    script: Script = staticmethod(lambda _cluster, _seconds: None)
    speed = 1.0

    def request(self, *arguments: Any, **keywords: Any) -> tuple[int, bytes]:
        """Answer at the loop's time."""
        seconds = asyncio.get_running_loop().time()
        self.now = START_SECONDS + seconds * self.speed
        self.script(self, seconds)
        return super().request(*arguments, **keywords)


def _run(
    cluster: ScriptedCluster,
    seconds: float,
    log: MemoryLog | None = None,
    settings: CollectorSettings = SETTINGS,
    faults: Faults | None = None,
    errors: ItemErrors | None = None,
) -> MemoryLog:
    log = log or MemoryLog()

    async def main() -> None:
        bus = MemoryBus(log, ORIGIN.cluster, faults)
        clock = LoopClock(round(START_SECONDS * 1e9))
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await run(settings, bus, clock, ORIGIN, TwinTransport(cluster), errors=errors)

    run_virtual(main)
    return log


def _events(log: MemoryLog, kind: type[Any]) -> list[Event[Any]]:
    decoded = [decode(message.subject, message.headers, message.data) for message in log.messages]
    return [event for event in decoded if event.type == kind.TYPE]


def _small() -> Ticking:
    return Ticking(nodes=[node("n1")], pods=[pod("p1")])


def test_each_interval_gives_one_cycle_of_all_events() -> None:
    """Snapshots, observation and reaction of a cycle come once each, numbered from 1."""
    log = _run(_small(), 21.0)
    for kind in (SnapshotNodes, SnapshotPlacements, SnapshotWorkloads, Observation, Reaction):
        assert [event.cycle for event in _events(log, kind)] == [1, 2, 3, 4, 5]


def test_the_observation_names_its_snapshots_as_causes() -> None:
    """Observation and reaction are caused by the three snapshots of their cycle."""
    log = _run(_small(), 6.0)
    snapshots = [
        [event.id for event in _events(log, kind)]
        for kind in (SnapshotNodes, SnapshotPlacements, SnapshotWorkloads)
    ]
    for kind in (Observation, Reaction):
        for number, event in enumerate(_events(log, kind)):
            assert event.causation_ids == tuple(ids[number] for ids in snapshots)


def test_frames_give_the_full_state() -> None:
    """Keyframes every four cycles, deltas between, and each gives the state it names."""

    def script(cluster: ScriptedCluster, seconds: float) -> None:
        cluster.objects["pods"] = [pod(f"p{i}") for i in range(1 + int(seconds) // 5)]

    cluster = Ticking(nodes=[node(f"n{i}") for i in range(9)])
    cluster.script = script
    log = _run(cluster, 41.0)
    observations = [event.data for event in _events(log, Observation)]
    kinds = [data.frame.frame for data in observations]
    assert kinds[:5] == ["keyframe", "delta", "delta", "delta", "keyframe"]
    state: FullState | None = None
    for data in observations:
        state = apply_frame(state, data)
    assert state is not None
    assert state.tables["nodes"].row(1)["pods"] == len(observations)


def test_a_failing_source_never_ends_the_loop() -> None:
    """A source that is down for two cycles is missing in exactly those, and back afterwards."""

    def script(cluster: ScriptedCluster, seconds: float) -> None:
        cluster.failures = {"node_metrics": 500} if 4 < seconds < 14 else {}

    at = "2026-01-01T00:00:00Z"
    usage = {"metadata": {"name": "n1"}, "timestamp": at, "usage": {"cpu": "1", "memory": "1Gi"}}
    cluster = Ticking(nodes=[node("n1")], node_metrics=[usage])
    cluster.script = script
    statuses = [
        next(signal.status for signal in event.data.signals if signal.name == "node_usage")
        for event in _events(_run(cluster, 21.0), Observation)
    ]
    fresh, missing = SignalStatus.FRESH, SignalStatus.MISSING
    assert statuses == [fresh, missing, missing, fresh, fresh]


def test_an_outage_of_the_api_is_a_cycle_without_rows() -> None:
    """When nothing answers, the cycle says so at the cluster time that must have passed."""

    def script(cluster: ScriptedCluster, seconds: float) -> None:
        cluster.failures = {"everything": 503} if 4 < seconds < 9 else {}

    cluster = _small()
    cluster.script = script
    cluster.speed = 3.0
    settings = SETTINGS.model_copy(update={"speed": 3.0})
    observations = _events(_run(cluster, 11.0, settings=settings), Observation)
    times = [event.data.cluster_time_seconds - START_SECONDS for event in observations]
    assert times == [0.0, 15.0, 30.0]
    assert [event.data.totals.nodes for event in observations] == [1, 0, 1]
    assert observations[0].data.interval_seconds == 15.0


def test_a_dead_cluster_is_dated_from_the_first_cycle_without_it() -> None:
    """Every cycle of an outage names the same beginning, also after a restart; then it is over."""

    def script(cluster: ScriptedCluster, seconds: float) -> None:
        cluster.failures = {"everything": 503} if 4 < seconds < 14 else {}

    cluster = _small()
    cluster.script = script
    log = _run(cluster, 16.0)
    outages = [outage_of(event.data) for event in _events(log, SnapshotNodes)]
    began = START_SECONDS + 5.0
    assert [None if outage is None else outage.since_seconds for outage in outages] == [
        None,
        began,
        began,
        None,
    ]
    during = outages[2]
    assert during is not None
    assert {"nodes", "pods"} <= set(during.sources)
    assert "since 2026-01-01 00:00:05 cluster time" in during.text()


def test_a_missing_metrics_server_is_no_outage() -> None:
    """What may be missing for good does not make a cluster unreadable."""
    cluster = _small()
    cluster.failures = {"node_metrics": 404}
    (snapshot,) = (event.data for event in _events(_run(cluster, 1.0), SnapshotNodes))
    assert outage_of(snapshot) is None


def test_a_restart_in_an_outage_keeps_its_beginning() -> None:
    """What the log says of the outage is taken up again."""
    down = _small()
    down.script = lambda cluster, seconds: cluster.failures.update(
        {"everything": 503} if seconds > 4 else {}
    )
    log = _run(down, 11.0)
    again = _small()
    again.script = lambda cluster, _seconds: cluster.failures.update({"pods": 503})
    newest = _events(_run(again, 1.0, log), SnapshotNodes)[-1]
    outage = outage_of(newest.data)
    assert outage is not None
    assert outage.since_seconds == START_SECONDS + 5.0


def _told(log: MemoryLog) -> list[tuple[str, float, float | None]]:
    return [
        (f"{item.kind} {item.object}", item.time_seconds - START_SECONDS, item.lag_seconds)
        for event in _events(log, Reaction)
        for item in event.data.reactions
        if item.kind in (ReactionKind.SOURCE_LOST, ReactionKind.SOURCE_RESTORED)
    ]


def test_a_source_is_told_when_it_is_lost_and_when_it_is_back() -> None:
    """Once each, with how long it was away; one that failed from the start is no loss."""

    def script(cluster: ScriptedCluster, seconds: float) -> None:
        cluster.failures = {"jobs": 403, **({"pods": 503} if 4 < seconds < 14 else {})}

    cluster = _small()
    cluster.script = script
    log = _run(cluster, 21.0)

    assert _told(log) == [("source_lost pods", 5.0, None), ("source_restored pods", 15.0, 10.0)]
    missing = [
        signal.missing_since_seconds
        for event in _events(log, Observation)
        for signal in event.data.signals
        if signal.name in {"node_requests", "power"}
    ]
    since = START_SECONDS + 5.0
    assert missing == [None, None, since, since, since, since, None, None, None, None]


def test_a_restart_in_an_outage_tells_its_end() -> None:
    """What was lost before the restart is not told again, what comes back after it is."""
    down = _small()
    down.script = lambda cluster, seconds: cluster.failures.update(
        {"pods": 503} if seconds > 4 else {}
    )
    log = _run(down, 6.0)
    _run(down, 6.0, log)
    _run(_small(), 6.0, log)

    assert [told for told, _, _ in _told(log)] == ["source_lost pods", "source_restored pods"]


def test_before_the_first_answer_there_is_nothing_to_say() -> None:
    """No cycle is published until the API has answered once; then numbering starts at 1."""

    def script(cluster: ScriptedCluster, seconds: float) -> None:
        cluster.failures = {"everything": 503} if seconds < 9 else {}

    cluster = _small()
    cluster.script = script
    observations = _events(_run(cluster, 11.0), Observation)
    assert [event.cycle for event in observations] == [1]


def test_a_restart_continues_the_numbering_with_a_keyframe() -> None:
    """Cycle numbers go on from the log, and the first state after a restart is a full one."""
    log = _run(_small(), 11.0)
    _run(_small(), 6.0, log)
    observations = _events(log, Observation)
    assert [event.cycle for event in observations] == [1, 2, 3, 4, 5]
    assert observations[3].data.frame.frame == "keyframe"


def test_a_half_published_cycle_is_not_numbered_again() -> None:
    """A crash between snapshot and observation leaves a gap, never two contents for one number."""
    log = _run(_small(), 11.0)
    last = [event.seq for event in _events(log, SnapshotWorkloads)]
    assert len(last) == 3
    while _newest_type(log) != SnapshotWorkloads.TYPE:
        lost = log.messages.pop()
        del log.newest[lost.subject]
    _run(_small(), 1.0, log)
    assert _events(log, Observation)[-1].cycle == 4


def _newest_type(log: MemoryLog) -> str:
    """Return the type of the newest message."""
    newest = log.messages[-1]
    return decode(newest.subject, newest.headers, newest.data).type


def test_a_bus_that_loses_answers_costs_cycles_but_no_truth() -> None:
    """With publishes that time out, every observation in the log still resolves or is a keyframe."""
    faults = Faults(seed=3, drop_before_store=0.2, drop_before_ack=0.2)
    log = _run(_small(), 200.0, faults=faults)
    state: FullState | None = None
    observations = _events(log, Observation)
    for event in observations:
        state = apply_frame(state, event.data)
    assert len(observations) >= 20
    cycles = [event.cycle for event in observations]
    assert cycles == sorted(set(cycles))


def test_slow_answers_skip_ticks_instead_of_piling_up() -> None:
    """An API that takes 12 s per cycle gives a cycle every 15 s, not a backlog."""

    class Slow(TwinTransport):
        async def request(self, *arguments: Any, **keywords: Any) -> Any:
            if arguments[1] == "/api/v1/nodes":
                await asyncio.sleep(12)
            return await super().request(*arguments, **keywords)

    log = MemoryLog()

    async def main() -> None:
        clock = LoopClock(round(START_SECONDS * 1e9))
        with suppress(TimeoutError):
            async with asyncio.timeout(50):
                await run(SETTINGS, MemoryBus(log, "test"), clock, ORIGIN, Slow(_small()))

    run_virtual(main)
    observations = _events(log, Observation)
    times = [event.data.cluster_time_seconds for event in observations]
    assert [time - START_SECONDS for time in times] == [12.0, 27.0, 42.0]
    # Pods were read 12 s before the nodes, and a node's requests rest on both.
    ages = {
        signal.name: signal.age_seconds
        for event in observations
        for signal in event.data.signals
        if signal.name in {"node_requests", "pods"}
    }
    assert ages == {"node_requests": 12.0, "pods": 12.0}


def test_cluster_time_never_goes_back() -> None:
    """Neither when the API server's clock is put back nor over a restart: later cycles are no earlier."""

    def script(cluster: ScriptedCluster, seconds: float) -> None:
        cluster.now -= 100.0 if seconds > 9 else 0.0

    cluster = _small()
    cluster.script = script
    log = _run(cluster, 16.0)
    _run(_small(), 1.0, log)

    times = [event.data.cluster_time_seconds for event in _events(log, Observation)]
    assert [time - START_SECONDS for time in times] == [0.0, 5.0, 5.0, 5.0, 5.0]


def test_pods_leave_a_trace_of_reactions_with_lags() -> None:
    """Created, scheduled and ready are told once each, with the API's times and lags."""

    def script(cluster: ScriptedCluster, seconds: float) -> None:
        at, waits = START_SECONDS + 4, "0/1 nodes are available: 1 Insufficient cpu."
        if 4 < seconds < 9:
            cluster.objects["pods"] = [
                pod("p", created=at, phase="Pending", node="", message=waits)
            ]
        elif seconds > 9:
            cluster.objects["pods"] = [pod("p", created=at, at=START_SECONDS + 8)]

    cluster = Ticking(nodes=[node("n1")])
    cluster.script = script
    items = [
        item for event in _events(_run(cluster, 21.0), Reaction) for item in event.data.reactions
    ]
    told = [(item.kind, item.lag_seconds) for item in items]
    assert told == [
        (ReactionKind.POD_PENDING, None),
        (ReactionKind.DEMAND_RISE, None),
        (ReactionKind.POD_SCHEDULED, 4.0),
        (ReactionKind.POD_READY, 0.0),
    ]


def test_ages_are_taken_from_the_cluster_time_as_it_travels() -> None:
    """A server's clock is finer than a microsecond: an age is that between two published times."""
    sampled = START_SECONDS + 0.000001
    at = math.nextafter(START_SECONDS + 5.0, math.inf)
    at = math.nextafter(
        at, math.inf
    )  # 4.8e-7 later, which is rounded away before anything is computed

    usage = {
        "metadata": {"name": "n1"},
        "timestamp": rfc3339(sampled),
        "usage": {"cpu": "1", "memory": "1Gi"},
    }
    cluster = ScriptedCluster(nodes=[node("n1")], node_metrics=[usage])
    log = MemoryLog()

    async def main() -> None:
        clock, bus = LoopClock(0), MemoryBus(log, ORIGIN.cluster)
        collector = Collector(SETTINGS, bus, clock, ORIGIN, TwinTransport(cluster))
        collector.followed = cast("FollowedSources", SimpleNamespace(cluster_time_seconds=at))
        await collector.collect_once()

    run_virtual(main)

    seen = _events(log, Observation)[0].data
    age = next(one.age_seconds for one in seen.signals if one.name == "node_usage")
    assert (seen.cluster_time_seconds, age) == (START_SECONDS + 5.0, 4.999999)
