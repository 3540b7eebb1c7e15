"""What the weather does to pods that serve: they are cold at first, and fall silent when they are overloaded."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np
import pytest

from twin.config.health import HealthConfig
from twin.serving.warmth import cold_share
from twin.tests.serving.web import Web

MODES = ["aggregate", "exact"]
CALM: dict[str, Any] = {
    "weather": "mild",
    "node_mttf_days": math.inf,
    "slow_per_node_year": 0.0,
    "pod_crashes_per_day": 0.0,
    "image_outbreaks_per_year": 0.0,
    "leaking_ratio": 0.0,
    "answer_median_seconds": 1.0,
}
PROBE = {"httpGet": {"path": "/", "port": 80}}
HEAVY = "constant requests_per_second=170"
"""On two pods of a core that need 20 ms a request: 1.7 of it."""


def _web(traffic: str, probes: dict[str, Any] | None = None, **settings: Any) -> Web:
    notes = settings.pop("notes", {})
    health = HealthConfig(**{**CALM, "warm_cpu_ratio": 1.0, **settings.pop("health", {})})
    return Web(traffic, health=health, container=probes, **settings, **notes)


def _reasons(web: Web) -> Counter[str]:
    """Count what was reported, repetitions included, by reason."""
    counts: Counter[str] = Counter()
    for event in web.engine.store.list("events"):
        counts[str(event["reason"])] += int(event.get("count") or 1)
    return counts


@pytest.mark.parametrize("mode", MODES)
def test_cold_pods_cost_more_cpu_and_answer_later(mode: str) -> None:
    """Twice the CPU a request at the start: the pods use nearly twice as much then, and are slow; once
    they are warm they are as those that never were cold.
    """
    found = []
    for ratio in (1.0, 2.0):
        health = {"warm_cpu_ratio": ratio, "warm_mean_seconds": 3_000.0}
        web = _web("constant requests_per_second=40", mode=mode, replicas=2, health=health)
        web.run(150)
        rows = [web.engine.usage.row_of[uid] for uid in web.backends.uids]
        early = (float(web.engine.usage["cpu_now"][rows].sum()), web.latency(0.5))
        seconds = float(web.engine.usage["warm_seconds"][rows].max())
        web.run(seconds)
        web.forget()
        web.run(900)
        found.append((*early, web.latency(0.5)))
    warm, cold = found
    assert seconds > 1_000.0
    assert 1.5 * warm[0] < cold[0] < 2.1 * warm[0]
    assert cold[1] > 1.8 * warm[1]
    assert cold[2] == pytest.approx(warm[2], rel=0.05)


@pytest.mark.parametrize("mode", MODES)
def test_the_services_own_warm_up_comes_before_the_weathers(mode: str) -> None:
    """`warm-up-seconds: 0` says that its pods are warm from the start, whatever the weather has."""
    health = {"warm_cpu_ratio": 3.0, "warm_mean_seconds": 3_000.0}
    one, two = (
        _web("constant requests_per_second=40", mode=mode, health=health, notes=notes)
        for notes in ({}, {"warm_up_seconds": "0"})
    )
    for web in (one, two):
        web.run(300)
    assert one.latency(0.5) > 1.5 * two.latency(0.5)


def test_both_modes_agree_while_pods_get_warm() -> None:
    """p50, p95 and p99 of the first minutes, with pods that warm up and one that starts later."""
    found = []
    for mode in MODES:
        health = {"warm_cpu_ratio": 1.5, "warm_mean_seconds": 300.0}
        traffic = "constant requests_per_second=400"
        web = _web(traffic, mode=mode, replicas=8, limit="2", health=health, cores=16)
        web.run(60)
        web.forget()
        web.run(240)
        web.scale(9)
        web.run(240)
        found.append([web.latency(share) for share in (0.5, 0.95, 0.99)])
    for aggregate, exact in zip(*found, strict=True):
        assert aggregate == pytest.approx(exact, rel=0.05)


@pytest.mark.parametrize("mode", MODES)
def test_a_full_queue_fails_readiness_and_takes_the_others_along(mode: str) -> None:
    """Overloaded pods stop being ready; what would have gone to them goes to the others or is refused,
    so fewer requests are served than without a probe. They are ready again once nothing waits.
    """
    served = {}
    for name, probes in (("without", {}), ("with", {"readinessProbe": PROBE})):
        web = _web(HEAVY, probes, mode=mode)
        web.run(60)
        web.forget()
        web.run(900)
        served[name] = web.account.served
        refused = web.account.refused
        assert web.unaccounted() == pytest.approx(0.0, abs=1e-6 * web.account.arrived)
        if not probes:
            assert (refused, _reasons(web)["Unhealthy"]) == (0.0, 0)
    assert refused > 0.0
    assert _reasons(web)["Unhealthy"] >= 4
    assert served["with"] < 0.95 * served["without"]
    obj = web.engine.store.get("services", "default", "web")
    calm = {
        **obj["metadata"]["annotations"],
        "foresail.dev/traffic": "constant requests_per_second=20",
    }
    obj["metadata"]["annotations"] = calm
    web.engine.store.replace("services", "default", "web", obj)
    web.run(300)
    assert all(pod.ready for pod in web.pods())


@pytest.mark.parametrize("mode", MODES)
def test_a_full_queue_fails_liveness_and_loses_what_is_in_it(mode: str) -> None:
    """The kubelet restarts containers whose queues are full; every request in them is lost, once."""
    web = _web(HEAVY, {"livenessProbe": PROBE}, mode=mode)
    web.run(600)
    assert sum(pod.restart_count for pod in web.pods()) >= 2
    assert web.account.lost > 0.0
    assert web.unaccounted() == pytest.approx(0.0, abs=1e-6 * web.account.arrived)


@pytest.mark.parametrize("mode", MODES)
def test_a_probe_that_waits_long_enough_never_fails(mode: str) -> None:
    """A timeout longer than any client waits is never reached: `timeoutSeconds` decides."""
    patient = {"livenessProbe": {**PROBE, "timeoutSeconds": 30}}
    web = _web(HEAVY, patient, mode=mode)
    web.run(600)
    assert sum(pod.restart_count for pod in web.pods()) == 0
    assert web.account.timed_out > 0.0


def test_without_weather_overload_silences_nobody() -> None:
    """Off is off: queues are full, probes are answered."""
    web = _web(HEAVY, {"livenessProbe": PROBE}, health={"weather": "off"})
    web.run(600)
    assert sum(pod.restart_count for pod in web.pods()) == 0
    assert web.account.timed_out > 0.0


def test_coldness_is_the_mean_of_its_interval() -> None:
    """Over any interval it is the integral of what falls from 1 to 0 evenly, over the interval's length."""
    for begin, seconds in ((0.0, 15.0), (3.0, 4.0), (8.0, 15.0), (12.0, 1.0), (-2.0, 5.0)):
        steps = np.linspace(begin, begin + seconds, 20_001)
        mean = np.clip(1.0 - np.maximum(steps, 0.0) / 10.0, 0.0, 1.0)[steps >= 0.0].sum() / 20_001
        assert cold_share(10.0, np.array([begin]), seconds)[0] == pytest.approx(mean, abs=1e-3)
    assert cold_share(10.0, np.array([0.0, 4.0, 11.0]), 0.0).tolist() == [1.0, 0.6, 0.0]


@pytest.mark.parametrize("mode", MODES)
def test_busy_workers_are_no_queue(mode: str) -> None:
    """Requests of seconds keep workers busy at half the load; a probe of one second still gets through."""
    slow = {"request_cpu_seconds": "4", "request_cv": "0.1", "request_workers": "16"}
    web = _web(
        "constant requests_per_second=0.8", {"livenessProbe": PROBE}, mode=mode, limit="4",
        cores=8, notes=slow,
    )  # fmt: skip
    web.run(1_800)
    assert sum(pod.restart_count for pod in web.pods()) == 0
    assert web.account.served > 1_000.0
