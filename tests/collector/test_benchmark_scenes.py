"""The scenes that benchmarks replay come from the collector, so they are made again whenever it changes."""

import asyncio
from pathlib import Path

import pytest

from benchmarks import scene
from benchmarks.decision_latency import settings_of
from benchmarks.held_load import LoopCollector
from bus.clock import SystemClock
from bus.events import read_entry
from bus.memory_adapter import MemoryBus, MemoryLog
from schemas.identity import Origin
from schemas.observation import Observation
from schemas.snapshot import WorkloadsState
from services.collector.settings import CollectorSettings
from services.twin_transport import TwinTransport


def test_a_scene_moves_on_with_each_cycle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every cycle is published at its own cluster time, with Services of which some fail requests."""
    monkeypatch.setattr(scene, "CACHE", tmp_path)
    events = [read_entry(message).event for message in scene.messages_of(2, 4, seed=1)]
    times = [
        event.data.cluster_time_seconds for event in events if isinstance(event.data, Observation)
    ]
    assert times == [scene.START_SECONDS + place * scene.INTERVAL_SECONDS for place in range(4)]
    work = [event.data.work for event in events if isinstance(event.data, WorkloadsState)][-1]
    assert work is not None
    assert work.services
    assert [one.failed > 0.0 for one in work.services] == [
        True,
        *[False] * (len(work.services) - 1),
    ]


def test_held_load_looks_at_its_loop() -> None:
    """The load is pushed without a cluster: each look is the loop's next scene, an interval later."""
    loop = asyncio.run(scene.scenes(TwinTransport(scene.Lists(2, 1)), 1, count=2))
    log = MemoryLog(wall_ns=lambda: 1)
    origin = Origin(scene.CLUSTER, scene.INCARNATION)
    nothing = TwinTransport(scene.Lists(0, 1))
    collector = LoopCollector(
        CollectorSettings(), MemoryBus(log, scene.CLUSTER), SystemClock(), origin, nothing
    )
    collector.loop = loop
    looks = [asyncio.run(collector.collect_once()) for _ in range(3)]
    assert looks == [True] * 3
    events = [read_entry(message).event for message in log.messages]
    nodes = [event.data.totals.nodes for event in events if isinstance(event.data, Observation)]
    assert nodes == [2] * 3


def test_a_profile_reaches_every_deciding_process() -> None:
    """The benchmark gives agents the settings that `foresail up --profile` gives them."""
    settings = settings_of("foresail")
    assert settings["agent-safety"]["profile"] == "foresail"
    assert settings["inference"]["shadow_models"]
