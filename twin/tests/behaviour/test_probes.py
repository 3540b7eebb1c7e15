"""Probes: what their settings decide."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

from twin.behaviour.probes import probe_fate
from twin.engine import Engine
from twin.records import PodRecord

READY = "foresail.dev/ready-seconds"


@pytest.mark.parametrize(
    ("probes", "answers", "ready", "killed"),
    [
        ({}, 30, 0, math.inf),
        ({"readinessProbe": {}}, 0, 0, math.inf),
        ({"readinessProbe": {}}, 1, 10, math.inf),
        ({"readinessProbe": {"periodSeconds": 2}}, 5, 6, math.inf),
        ({"readinessProbe": {"initialDelaySeconds": 20}}, 1, 20, math.inf),
        ({"readinessProbe": {"initialDelaySeconds": 4, "periodSeconds": 5}}, 10, 14, math.inf),
        ({"readinessProbe": {"periodSeconds": 5, "successThreshold": 3}}, 0, 10, math.inf),
        ({"livenessProbe": {}}, 20, 0, math.inf),
        ({"livenessProbe": {}}, 21, math.inf, 20),
        ({"livenessProbe": {"initialDelaySeconds": 60}}, 75, 0, math.inf),
        ({"startupProbe": {"failureThreshold": 30}}, 200, 200, math.inf),
        ({"startupProbe": {"failureThreshold": 30}}, 300, math.inf, 290),
        ({"startupProbe": {"failureThreshold": 30}, "livenessProbe": {}}, 200, 200, math.inf),
        ({"startupProbe": {}, "readinessProbe": {"periodSeconds": 3}}, 15, 20, math.inf),
    ],
)
def test_a_table_of_probes(
    probes: dict[str, Any], answers: float, ready: float, killed: float
) -> None:
    """Tries come at initialDelaySeconds and every periodSeconds; thresholds count tries."""
    fate = probe_fate({"containers": [probes]}, {READY: str(answers)}, 1.0)

    assert (fate.ready_seconds, fate.killed_seconds) == (ready, killed)


def test_the_slowest_container_decides() -> None:
    """A pod is ready when all its containers are."""
    spec = {"containers": [{"readinessProbe": {"periodSeconds": 7}}, {"readinessProbe": {}}, {}]}

    assert probe_fate(spec, {}, 1.0).ready_seconds == 10.0


def test_a_silent_container_is_killed_again_and_again(
    build: Callable[..., Engine], create: Callable[..., PodRecord]
) -> None:
    """Liveness failures restart the container with back-off, and events say why."""
    engine = build()
    liveness = {"tcpSocket": {"port": 80}, "periodSeconds": 5, "failureThreshold": 2}
    probe = {"livenessProbe": liveness}
    pod = create(engine, "a", container=probe, notes={READY: "1000"})
    engine.advance(engine.now + 120)
    reasons = [event["reason"] for event in engine.store.list("events")]

    assert pod.restart_count >= 3
    assert not pod.ready
    assert {"Unhealthy", "Killing", "BackOff"} <= set(reasons)


def test_a_bad_note_is_no_note() -> None:
    """What cannot be read as seconds counts as absent."""
    spec = {"containers": [{"readinessProbe": {"periodSeconds": 1}}]}

    assert probe_fate(spec, {READY: "soon"}, 3.0) == probe_fate(spec, {}, 3.0)
