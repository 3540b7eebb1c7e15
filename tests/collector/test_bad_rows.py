"""One bad row costs itself alone, and is named; what is unknown is no number."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from schemas.signals import SignalStatus
from services.collector.observe import interpret_snapshot
from services.collector.settings import CollectorSettings
from services.collector.snapshot import Snapshot
from tests.builders import START_SECONDS
from tests.collector.conftest import Look
from tests.collector.scripted_cluster import ScriptedCluster, node, pod, stamp

SETTINGS = CollectorSettings()


def sample(name: str, cpu: str, memory: str = "8Gi") -> dict[str, Any]:
    """Return the usage of a node as the Metrics Server gives it."""
    return {
        "metadata": {"name": name},
        "timestamp": stamp(START_SECONDS),
        "usage": {"cpu": cpu, "memory": memory},
    }


def message(snapshot: Snapshot, source: str) -> tuple[bool, str]:
    """Return whether a source could be read, and what is said of it."""
    read = snapshot.source(source)
    return read.ok, read.message


@pytest.mark.parametrize("bad", ["NaN", "inf", "1_0", "-3", "", "\uff11\uff10"])
def test_a_bad_measurement_costs_one_node(look: Look, bad: str) -> None:
    """The others' usage is there; the one is missing, and named with the reason."""
    names = ("n1", "n2", "n3")
    cluster = ScriptedCluster(
        nodes=[node(name) for name in names],
        node_metrics=[sample("n1", "5"), sample("n2", bad), sample("n3", "4")],
    )
    snapshot = look(cluster)
    observed = interpret_snapshot(snapshot, SETTINGS)
    usage = next(signal for signal in observed.signals if signal.name == "node_usage")

    assert observed.nodes.cpu_used_ratio == (0.5, None, 0.4)
    assert (usage.status, usage.exceptions) == (SignalStatus.FRESH, ("n2",))
    ok, told = message(snapshot, "node_metrics")
    assert ok
    assert told.startswith("left out 1 of 3: n2 (")
    assert repr(bad) in told


@pytest.mark.parametrize(
    ("source", "good", "bad"),
    [
        ("nodes", node("n1"), node("n2", annotations={"foresail.dev/clock-scale": "nan"})),
        ("pods", pod("a"), pod("b", containers=[{"resources": {"requests": {"cpu": "much"}}}])),
    ],
)
def test_a_bad_object_costs_one_row(look: Look, source: str, good: Any, bad: Any) -> None:
    """The list is read, less what cannot be understood of it."""
    objects = {"nodes": [node("n1")], source: [good, bad]}
    snapshot = look(ScriptedCluster(**objects))

    ok, told = message(snapshot, source)
    assert ok
    assert bad["metadata"]["name"] in told
    assert snapshot.nodes.ids == ("n1",)
    assert snapshot.pods_total == len(objects.get("pods", ())) - (source == "pods")


def test_a_list_of_nothing_but_bad_rows_has_failed(look: Look) -> None:
    """Where nothing is left, the source is as lost as before."""
    cluster = ScriptedCluster(nodes=[node("n1")], node_metrics=[sample("n1", "NaN")])

    ok, told = message(look(cluster), "node_metrics")
    assert not ok
    assert "'NaN'" in told


@pytest.mark.parametrize(
    "offered", [None, {}, {"cpu": "0", "memory": "32Gi", "pods": "0"}, {"memory": "32Gi"}]
)
def test_a_node_of_unknown_size_has_no_shares(look: Look, offered: Any) -> None:
    """Without allocatable CPU or memory no share is told and the signals except the node, so that no risk rests on
    it; the cluster's means are those of the others.
    """
    unknown = node("n2")
    unknown["status"]["allocatable"] = offered
    cluster = ScriptedCluster(
        nodes=[node("n1"), unknown],
        pods=[pod("a"), pod("b", node="n2")],
        node_metrics=[sample("n1", "5"), sample("n2", "5")],
    )
    observed = interpret_snapshot(look(cluster), SETTINGS)
    exceptions = {signal.name: signal.exceptions for signal in observed.signals}

    assert observed.nodes.cpu_used_ratio == (0.5, None)
    assert exceptions["node_requests"] == exceptions["node_usage"] == ("n2",)
    assert observed.totals.cpu_requested_ratio == 0.1


class Nulls(ScriptedCluster):
    """Writes null where a list or a map is empty, as Go does for nil ones."""

    def request(
        self, method: str, path: str, query: Mapping[str, str], *rest: Any
    ) -> tuple[int, bytes]:
        status, body = super().request(method, path, query, *rest)
        return status, json.dumps(_with_nulls(json.loads(body))).encode()


def _with_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _with_nulls(one) or None for key, one in value.items()}
    return [_with_nulls(one) for one in value] if isinstance(value, list) else value


def test_null_is_an_empty_list(look: Look) -> None:
    """As client-go reads it: a list without items, an object without labels."""
    objects = {"nodes": [node("n1")], "pods": [pod("a")]}
    with_nulls, without = look(Nulls(**objects)), look(ScriptedCluster(**objects))

    assert with_nulls.source("deployments").ok
    assert (with_nulls.nodes, with_nulls.placements) == (without.nodes, without.placements)


def test_ages_rest_on_what_is_recorded(look: Look) -> None:
    """A clock finer than what is recorded gives the ages that are computed again from the record."""
    cluster = ScriptedCluster(nodes=[node("n1")], node_metrics=[sample("n1", "5")])
    cluster.now = START_SECONDS + 5.0003245
    snapshot = look(cluster)
    recorded = round(snapshot.cluster_time_seconds, 6)

    assert snapshot.cluster_time_seconds == recorded
    for signal in interpret_snapshot(snapshot, SETTINGS).signals:
        if signal.observed_time_seconds is not None:
            assert signal.age_seconds == round(recorded - signal.observed_time_seconds, 6)
