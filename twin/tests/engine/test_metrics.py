"""What Metrics Server shows, and what a node draws."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from inputs.quantities import parse_quantity
from twin.behaviour.variation import CPU_WAVES, MEMORY_WAVES, variation
from twin.chance import Chance
from twin.engine import Engine

Build = Callable[..., dict[str, Any]]


def set_notes(engine: Engine, node: str, notes: dict[str, str]) -> None:
    """Replace a node's annotations."""
    obj = engine.store.get("nodes", "", node)
    metadata = {**obj["metadata"], "annotations": notes}
    engine.store.replace("nodes", "", node, {**obj, "metadata": metadata})


def test_a_new_pod_has_no_metric_until_its_second_scrape(engine: Engine, pod: Build) -> None:
    """Running at 6 s, scraped at 15 s for the first time, shown from 30 s on."""
    start = engine.now
    engine.store.create("pods", "default", pod("a"))
    engine.advance(start + 29)
    assert engine.metrics.pod_metrics() == []
    engine.advance(start + 31)
    (shown,) = engine.metrics.pod_metrics("default")

    assert (shown["timestamp"], shown["window"]) == ("2026-01-01T00:00:30Z", "15s")
    assert shown["metadata"]["name"] == "a"
    assert [entry["name"] for entry in shown["containers"]] == ["c"]


def test_node_usage_is_the_sum_of_its_pods(engine: Engine, pod: Build) -> None:
    """A node's usage equals what its pods show, and an idle node shows none."""
    select = {"kubernetes.io/hostname": "n1"}
    for name in "abc":
        engine.store.create("pods", "default", pod(name, nodeSelector=select))
    engine.advance(engine.now + 60)
    nodes = {m["metadata"]["name"]: m["usage"] for m in engine.metrics.node_metrics()}
    pods = [m["containers"][0]["usage"] for m in engine.metrics.pod_metrics()]

    total = sum(parse_quantity(usage["cpu"]) for usage in pods)
    assert float(parse_quantity(nodes["n1"]["cpu"])) == pytest.approx(float(total), abs=1e-6)
    assert nodes["n0"] == {"cpu": "0n", "memory": "0Ki"}


def test_a_dead_machine_has_no_metrics_and_draws_nothing(engine: Engine, pod: Build) -> None:
    """After a failure the next scrape lacks the node and its pods, and its power is 0."""
    select = {"kubernetes.io/hostname": "n1"}
    engine.store.create("pods", "default", pod("a", nodeSelector=select))
    engine.advance(engine.now + 60)
    engine.fail_node("n1", 600.0)
    engine.advance(engine.now + 15)

    assert [m["metadata"]["name"] for m in engine.metrics.node_metrics()] == ["n0", "n2"]
    assert engine.metrics.pod_metrics() == []
    assert engine.power_watts("n1") == 0.0


def test_power_by_hand(engine: Engine, pod: Build) -> None:
    """80 W idle, 12 W asleep; with load the formula on what is used, dynamic CPU by the clock."""
    assert engine.power_watts("n0") == 80.0
    set_notes(engine, "n1", {"foresail.dev/power-state": "sleep"})
    assert engine.power_watts("n1") == 12.0
    select = {"kubernetes.io/hostname": "n2"}
    set_notes(engine, "n2", {"foresail.dev/clock-scale": "0.5"})
    engine.store.create("pods", "default", pod("a", cpu="4", nodeSelector=select))
    engine.advance(engine.now + 60)
    rows = engine.usage.rows()
    cpu = float(engine.usage["cpu_now"][rows].sum()) / 4_000
    memory = float(engine.usage["memory_now"][rows].sum()) / (8 * 2**30)

    assert cpu > 0.0
    assert engine.power_watts("n2") == pytest.approx(80 + 120 * cpu * 0.5 + 60 * memory)


def test_a_cpu_cap_bounds_the_node(engine: Engine, pod: Build) -> None:
    """With a cap of 0.5 a node of four cores never gives more than two."""
    set_notes(engine, "n0", {"foresail.dev/cpu-cap": "0.5"})
    select = {"kubernetes.io/hostname": "n0"}
    notes = {"foresail.dev/cpu-usage-ratio": "3"}
    engine.store.create("pods", "default", pod("a", cpu="2", nodeSelector=select,
                                               annotations=notes))  # fmt: skip
    engine.advance(engine.now + 120)
    (usage,) = [m["usage"] for m in engine.metrics.node_metrics() if m["metadata"]["name"] == "n0"]

    assert float(parse_quantity(usage["cpu"])) == pytest.approx(2.0, abs=1e-6)


def test_usage_varies_around_its_mean() -> None:
    """Over many pods and times the factor averages 1 and stays within its amplitude."""
    seeds = np.arange(1, 2_001, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    draws = Chance(3).draws("usage")
    for waves in (CPU_WAVES, MEMORY_WAVES):
        factors = np.concatenate(
            [variation(draws, seeds, 37.0 * step, waves) for step in range(50)]
        )
        amplitude = sum(wave[1] for wave in waves)
        assert float(factors.mean()) == pytest.approx(1.0, abs=0.01)
        assert abs(factors - 1.0).max() <= amplitude


def test_draws_that_are_kept_are_those_of_the_pods_and_times() -> None:
    """Usage is the same whether draws are kept from step to step or made anew, as pods come and time goes."""
    keys = np.arange(1, 40, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    draws, known = Chance(3).draws("usage"), {}
    for step in (0, 1, 2, 3, 9, 10, 70, 71, 72, 20):
        for pods in (keys, keys[3:], keys[3:][::-1]):
            for waves in (CPU_WAVES, MEMORY_WAVES):
                kept = variation(draws, pods, 97.0 * step, waves, known)
                assert kept.tolist() == variation(draws, pods, 97.0 * step, waves).tolist()
