"""How old an observation's signals are: several reads make one, and its age is that of the oldest."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from schemas.signals import Signal, SignalStatus
from services.collector.observe import interpret_snapshot
from services.collector.settings import CollectorSettings
from services.collector.snapshot import Snapshot
from tests.builders import START_SECONDS
from tests.collector.conftest import Look
from tests.collector.scripted_cluster import ScriptedCluster, node, stamp

SETTINGS = CollectorSettings()
FRESH, STALE = SignalStatus.FRESH, SignalStatus.STALE


def signals(snapshot: Snapshot) -> dict[str, Signal]:
    """Return the signals of an observation by name."""
    return {signal.name: signal for signal in interpret_snapshot(snapshot, SETTINGS).signals}


def read_at(snapshot: Snapshot, **ages: float) -> Snapshot:
    """Return the snapshot with some sources read so many seconds before its own time."""
    now = snapshot.cluster_time_seconds
    sources = tuple(
        source.model_copy(update={"read_time_seconds": now - ages.get(source.source, 0.0)})
        for source in snapshot.sources
    )
    return replace(snapshot, sources=sources)


def sampled_cluster(*ages: float) -> ScriptedCluster:
    """Return a cluster of nodes whose usage was sampled so many seconds ago."""
    names = [f"n{number}" for number in range(len(ages))]
    now = START_SECONDS + 1_000
    samples: list[dict[str, Any]] = [
        {
            "metadata": {"name": name},
            "timestamp": stamp(now - age),
            "usage": {"cpu": "5", "memory": "8Gi"},
        }
        for name, age in zip(names, ages, strict=True)
    ]
    cluster = ScriptedCluster(nodes=[node(name) for name in names], node_metrics=samples)
    cluster.now = now
    return cluster


@pytest.mark.parametrize("ages", [{"nodes": 20.0, "pods": 5.0}, {"nodes": 5.0, "pods": 20.0}])
def test_a_signal_of_two_reads_is_as_old_as_the_older(look: Look, ages: dict[str, float]) -> None:
    """Whichever list came first, the ratio of both rests on what was true when the older was read."""
    snapshot = read_at(look(ScriptedCluster(nodes=[node("n1")])), **ages)

    signals_by_name = signals(snapshot)

    assert signals_by_name["node_requests"].age_seconds == 20.0
    assert (
        signals_by_name["node_requests"].observed_time_seconds
        == snapshot.cluster_time_seconds - 20.0
    )
    assert signals_by_name["pods"].age_seconds == ages["pods"]


def test_every_list_counts_for_the_workloads(look: Look) -> None:
    """Deployments and Jobs together are as old as the older of the two."""
    snapshot = look(ScriptedCluster(nodes=[node("n1")]))

    assert signals(read_at(snapshot, jobs=7.0))["workloads"].age_seconds == 7.0
    assert signals(read_at(snapshot, deployments=8.0))["workloads"].age_seconds == 8.0


@pytest.mark.parametrize(("age", "status"), [(30.0, FRESH), (30.001, STALE)])
def test_a_list_is_stale_beyond_its_limit(look: Look, age: float, status: SignalStatus) -> None:
    """Exactly at the limit it is still fresh; one list that is too old is enough to be stale."""
    snapshot = read_at(look(ScriptedCluster(nodes=[node("n1")])), pods=age)

    assert signals(snapshot)["node_requests"].status is status


def test_usage_is_as_old_as_its_oldest_fresh_sample(look: Look) -> None:
    """Samples at their limit are fresh; the age is that of the oldest that still counts."""
    usage = signals(look(sampled_cluster(10.0, 90.0, 91.0)))["node_usage"]

    assert (usage.status, usage.age_seconds) == (FRESH, 90.0)
    assert usage.exceptions == ("n2",)


def test_usage_without_a_fresh_sample_is_as_old_as_its_youngest(look: Look) -> None:
    """It is stale at best by that much; all its values are kept."""
    usage = signals(look(sampled_cluster(300.0, 120.0)))["node_usage"]

    assert (usage.status, usage.age_seconds, usage.exceptions) == (STALE, 120.0, ())


@pytest.mark.parametrize(
    ("windows", "seconds"),
    [(("15.1s", "30s"), 30.0), (("1m0.5s", ""), 60.5), (("", ""), None), (("1h", "500ms"), 3600.0)],
)
def test_usage_says_how_many_seconds_it_covers(
    look: Look, windows: tuple[str, str], seconds: float | None
) -> None:
    """The longest window of all samples; of a source that does not say, none, and none in the message."""
    cluster = sampled_cluster(10.0, 20.0)
    for sample, window in zip(cluster.objects["node_metrics"], windows, strict=True):
        sample["window"] = window

    usage = signals(look(cluster))["node_usage"]

    assert usage.window_seconds == seconds
    assert ("window_seconds" in usage.model_dump()) == (seconds is not None)


def test_a_window_that_is_no_duration_fails_the_source(look: Look) -> None:
    """As any other answer that cannot be understood: no usage of it is kept."""
    cluster = sampled_cluster(10.0)
    for sample in cluster.objects["node_metrics"]:
        sample["window"] = "30 seconds"

    snapshot = look(cluster)

    assert "not a duration: '30 seconds'" in snapshot.source("node_metrics").message
    assert snapshot.nodes.cpu_usage_cores == (None,)


@pytest.mark.parametrize(("requests_age", "age"), [(5.0, 10.0), (20.0, 20.0)])
def test_power_is_as_old_as_what_it_was_computed_from(
    look: Look, requests_age: float, age: float
) -> None:
    """With usage for some nodes and requests for the others, the older of the two counts."""
    snapshot = read_at(look(sampled_cluster(10.0, 200.0)), nodes=requests_age)

    power = signals(snapshot)["power"]

    assert (power.source, power.age_seconds) == ("power_model:node_usage+node_requests", age)


def test_a_signal_that_is_followed_says_so(look: Look) -> None:
    """Its age counts from the server's last word, against a limit of its own; silence is no change."""
    snapshot = read_at(look(ScriptedCluster(nodes=[node("n1")])), nodes=50.0, pods=50.0)
    followed = replace(
        snapshot,
        sources=tuple(
            source.model_copy(update={"watched": True})
            if source.source in {"nodes", "pods"}
            else source
            for source in snapshot.sources
        ),
    )

    requests, listed = (signals(one)["node_requests"] for one in (followed, snapshot))

    assert (requests.watched, requests.status, requests.limit_seconds) == (True, FRESH, 120.0)
    assert (listed.watched, listed.status) == (False, STALE)
