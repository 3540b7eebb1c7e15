"""A real Prometheus scrapes one process and answers every panel; skipped where none is installed."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bus.clock import SystemClock
from bus.health import HealthState, health_server
from bus.link import LinkCounts
from bus.measured_bus import MeasuredBus
from bus.memory_adapter import MemoryBus, MemoryLog
from bus.metrics import ProcessMetrics
from bus.port import Message
from bus.ports import free_port
from bus.process import ProcessContext, register_process_metrics
from deploy.grafana.make_dashboard import DASHBOARD
from deploy.grafana.make_prometheus import CONTAINERS, OPTIONAL, PORT, scraping
from proofs.observability import prometheus
from proofs.observability.panels import answer_all, queries
from schemas.identity import Origin
from schemas.outcome import ExecutionPhase
from schemas.reasons import Reason
from schemas.registry import encode
from tests.builders import make_decision, make_execution, make_observation, stamp_event

pytestmark = pytest.mark.skipif(prometheus.find_prometheus() is None, reason=prometheus.MISSING)


def as_message(data: Any, cycle: int) -> Message:
    """Return an event of a cycle as a message."""
    encoded = encode(stamp_event(data, cycle=cycle))
    return Message(encoded.subject, encoded.headers, encoded.data)


async def working(bus: MeasuredBus) -> None:
    """Publish a cycle again and again and read it, as a process does."""
    reader = asyncio.create_task(_read(bus))
    try:
        for cycle in range(1, 10_000):
            refused = make_execution(
                cycle=cycle, phase=ExecutionPhase.REFUSED, reason=Reason.KILL_SWITCH
            )
            for data in (make_observation(cycle=cycle), make_decision(cycle=cycle), refused):
                await bus.publish([as_message(data, cycle)])
            await asyncio.sleep(0.1)
    finally:
        reader.cancel()


async def _read(bus: MeasuredBus) -> None:
    async for _ in bus.read(["foresail.>"]):
        pass


@pytest.mark.slow
async def test_every_panel_is_answered_with_data(tmp_path: Path) -> None:
    """Each query of the dashboard has a number and the labels of its legend; one that is wrong has not."""
    clock, metrics = SystemClock(), ProcessMetrics("p", "c", "i1")
    bus = MeasuredBus(MemoryBus(MemoryLog(), "c"), LinkCounts, metrics, clock)
    register_process_metrics(metrics, ProcessContext("p", bus, clock, Origin("c", "i1"), {}), bus)
    metrics.item_errors.labels("events").inc()
    port = free_port()
    config = scraping({"p": f"127.0.0.1:{port}"}, seconds=0.5)
    ready = HealthState(True, {})
    async with (
        health_server({"FORESAIL_HEALTH_PORT": str(port)}, clock, metrics, lambda: ready),
        prometheus.running_prometheus(config, tmp_path) as running,
    ):
        work = asyncio.create_task(working(bus))
        asked = queries(DASHBOARD)
        actual = await answer_all(asked, running)
        wrong = [
            replace(asked[0], expression="foresail_is_ready"),
            replace(asked[0], labels=("process",)),
            replace(asked[0], expression="sum by ("),
        ]
        refused = [one.objection for one in await _once(wrong, running)]
        work.cancel()

    assert [] == [(one.asked.panel, one.objection) for one in actual if one.objection]
    assert len(actual) == len(json.loads(DASHBOARD.read_bytes())["panels"])
    assert refused[:2] == ["no data", "no label process for its legend"]
    assert "400" in refused[2]


async def _once(asked: Any, running: prometheus.Prometheus) -> Any:
    from proofs.observability.panels import answer

    return [await asyncio.to_thread(answer, one, running) for one in asked]


def test_the_configuration_for_containers_is_valid(tmp_path: Path) -> None:
    """`promtool` takes what compose gives to Prometheus, and refuses what is no configuration."""
    targets = {name: f"{name}:{PORT}" for name in CONTAINERS}
    config = scraping(targets, looked_up=OPTIONAL)

    assert not prometheus.config_objection(config, tmp_path)
    assert "interval" in prometheus.config_objection(
        {**config, "global": {"interval": 1}}, tmp_path
    )
