"""Where metrics come from: Metrics Server by default, Prometheus with its adapter by a setting."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from inputs.quantities import parse_quantity
from twin.config.behaviour import MetricsConfig
from twin.engine import Engine
from twin.records import PodRecord

Build = Callable[..., Engine]
Create = Callable[..., PodRecord]


def cores(engine: Engine) -> float:
    """Return the CPU that the only pod's metric shows."""
    (shown,) = engine.metrics.pod_metrics()
    return float(parse_quantity(shown["containers"][0]["usage"]["cpu"]))


def test_prometheus_shows_the_mean_of_its_window(build: Build, create: Create) -> None:
    """Scraped every 60 s; the CPU shown is the mean over 300 s of what the pod really used."""
    engine = build(metrics=MetricsConfig(source="prometheus"))
    pod = create(engine, "a")
    engine.advance(engine.now + 61)
    assert engine.metrics.pod_metrics() == []
    used: list[float] = []
    for _ in range(100):
        row = engine.usage.row_of[pod.uid]
        used.append(float(engine.usage["cpu_now"][row]) / 1000)
        engine.advance(engine.now + 15)
    (shown,) = engine.metrics.pod_metrics()
    assert (shown["window"], shown["timestamp"]) == ("300s", "2026-01-01T00:26:00Z")

    assert cores(engine) == pytest.approx(sum(used[-20:]) / 20, abs=1e-6)


def test_a_change_of_load_shows_later_than_with_metrics_server(
    build: Build, create: Create
) -> None:
    """A minute after a pod was throttled to a quarter, the longer window still shows far more."""
    shown = {}
    for source in ("metrics-server", "prometheus"):
        engine = build(metrics=MetricsConfig(source=source))
        create(engine, "a")
        engine.advance(engine.now + 900)
        engine.impairments.begin(1, "speed", ("n0",), 0.25)
        engine.advance(engine.now + 61)
        shown[source] = cores(engine)

    assert shown["prometheus"] > 2.0 * shown["metrics-server"]


def test_a_clone_shows_the_same_metrics(build: Build, create: Create) -> None:
    """The counters are part of the state."""
    engine = build(metrics=MetricsConfig(source="prometheus"))
    create(engine, "a")
    engine.advance(engine.now + 400)
    other = engine.clone()
    for each in (engine, other):
        each.advance(each.now + 200)

    assert other.metrics.pod_metrics() == engine.metrics.pod_metrics()
    assert other.state_hash() == engine.state_hash()
