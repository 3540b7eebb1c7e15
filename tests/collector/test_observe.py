"""Layer 2: ratios, totals and signals, each checked against a case computed by hand."""

from __future__ import annotations

from typing import Any

import pytest

from schemas.reasons import PendingClass, Reason
from schemas.signals import Signal, SignalStatus
from services.collector.observe import Interpretation, interpret_snapshot, is_watched
from services.collector.settings import CollectorSettings
from tests.builders import START_SECONDS
from tests.collector.conftest import Look
from tests.collector.scripted_cluster import ScriptedCluster, node, pod, stamp

NO_NODE = "0/2 nodes are available: 2 Insufficient cpu."


def _signal(observed: Interpretation, name: str) -> Signal:
    return next(signal for signal in observed.signals if signal.name == name)


def _usage(name: str, cpu: str, memory: str, at: float = START_SECONDS) -> dict[str, Any]:
    return {
        "metadata": {"name": name},
        "timestamp": stamp(at),
        "usage": {"cpu": cpu, "memory": memory},
    }


def test_requested_ratios_are_requests_over_allocatable(look: Look) -> None:
    """Three pods of 1 core and 1 GiB on 10 cores and 32 GiB are 0.3 and 0.09375."""
    cluster = ScriptedCluster(nodes=[node("n1")], pods=[pod(f"p{i}") for i in range(3)])
    observed = interpret_snapshot(look(cluster), CollectorSettings())
    assert observed.nodes.cpu_requested_ratio == (0.3,)
    assert observed.nodes.memory_requested_ratio == (0.09375,)
    assert observed.nodes.pods == (3,)
    assert observed.totals.cpu_requested_ratio == 0.3


def test_requests_above_allocatable_are_clipped(look: Look) -> None:
    """A node on which more is requested than it has is full, not more than full."""
    cluster = ScriptedCluster(nodes=[node("n1")], pods=[pod(f"p{i:02}") for i in range(12)])
    assert interpret_snapshot(look(cluster), CollectorSettings()).nodes.cpu_requested_ratio == (
        1.0,
    )


def test_power_follows_usage_where_it_is_fresh(look: Look) -> None:
    """80 + 120 * 0.5 + 60 * 0.25 watts with usage; by requests, and saying so, without."""
    nodes, pods = [node("n1")], [pod("p")]
    measured = ScriptedCluster(nodes=nodes, pods=pods, node_metrics=[_usage("n1", "5", "8Gi")])
    observed = interpret_snapshot(look(measured), CollectorSettings())
    assert observed.nodes.power_watts == (155.0,)
    assert _signal(observed, "power").source == "power_model:node_usage"
    guessed = interpret_snapshot(look(ScriptedCluster(nodes=nodes, pods=pods)), CollectorSettings())
    assert guessed.nodes.power_watts == (round(80 + 120 * 0.1 + 60 / 32, 6),)
    assert _signal(guessed, "power").source == "power_model:node_requests"
    assert guessed.totals.energy_watts == guessed.nodes.power_watts[0]


def test_power_knows_sleep_and_clock(look: Look) -> None:
    """A sleeping node draws 12 W, and a slower clock lowers the CPU's part."""
    asleep = node("n1", annotations={"foresail.dev/power-state": "sleep"})
    slow = node("n2", annotations={"foresail.dev/clock-scale": "0.5"})
    cluster = ScriptedCluster(nodes=[asleep, slow], node_metrics=[_usage("n2", "10", "0")])
    observed = interpret_snapshot(look(cluster), CollectorSettings())
    assert observed.nodes.power_watts == (12.0, 140.0)
    assert _signal(observed, "power").source == "power_model:node_usage+node_requests"


def test_queue_and_sla_count_watched_namespaces_only(look: Look) -> None:
    """kube-system never counts unless a prefix asks for it."""
    cluster = ScriptedCluster(
        nodes=[node("n1"), node("n2")],
        pods=[
            pod("waits", phase="Pending", node="", message=NO_NODE),
            pod("starts", phase="Pending", node="n2"),
            pod("ill", ready=False),
            pod("dns", namespace="kube-system", phase="Pending", node="", message=NO_NODE),
            pod("proxy", namespace="kube-system", ready=False),
        ],
    )
    snapshot = look(cluster)
    everyone = interpret_snapshot(snapshot, CollectorSettings())
    assert (everyone.totals.queue_length, everyone.totals.sla_violations) == (2, 3)
    assert everyone.totals.pending_by_class == {"insufficient_cpu": 1, "starting": 1}
    assert everyone.nodes.unhealthy_pods == (1, 1)
    system = interpret_snapshot(snapshot, CollectorSettings(namespaces=("kube-",)))
    assert (system.totals.queue_length, system.totals.sla_violations) == (1, 2)
    assert system.pods.ids == ("kube-system/dns", "kube-system/proxy")


def test_urgency_is_the_seeds(look: Look) -> None:
    """1.0 for pods that are pending, restarted or not ready; waiting time stands beside it."""
    restarted = [{"ready": True, "restartCount": 2, "state": {}}]
    cluster = ScriptedCluster(
        nodes=[node("n1")],
        pods=[
            pod("again", statuses=restarted),
            pod("fresh", at=START_SECONDS + 30),
            pod("waits", phase="Pending", node="", message=NO_NODE),
        ],
    )
    cluster.now += 30
    pods = interpret_snapshot(look(cluster), CollectorSettings()).pods
    assert pods.ids == ("shop/again", "shop/fresh", "shop/waits")
    assert pods.urgency_ratio == (1.0, 0.2, 1.0)
    assert pods.restarts == (2, 0, 0)
    assert pods.waiting_seconds == (None, None, 30.0)
    assert pods.pending_class == (None, None, PendingClass.INSUFFICIENT_CPU.value)


def test_old_usage_is_stale_and_keeps_its_age(look: Look) -> None:
    """Usage older than its limit is stale; power then falls back to requests."""
    cluster = ScriptedCluster(nodes=[node("n1")], node_metrics=[_usage("n1", "5", "8Gi")])
    cluster.now += 91
    observed = interpret_snapshot(look(cluster), CollectorSettings())
    signal = _signal(observed, "node_usage")
    assert (signal.status, signal.age_seconds) == (SignalStatus.STALE, 91.0)
    assert observed.nodes.cpu_used_ratio == (0.5,)
    assert _signal(observed, "power").source == "power_model:node_requests"


def test_nodes_without_fresh_usage_are_exceptions(look: Look) -> None:
    """While one node's usage is fresh, the others are exceptions and their cells null."""
    cluster = ScriptedCluster(
        nodes=[node("n1"), node("n2"), node("n3")],
        node_metrics=[_usage("n1", "5", "8Gi"), _usage("n2", "5", "8Gi", START_SECONDS + 100)],
    )
    cluster.now += 100
    observed = interpret_snapshot(look(cluster), CollectorSettings())
    signal = _signal(observed, "node_usage")
    assert (signal.status, signal.age_seconds) == (SignalStatus.FRESH, 0.0)
    assert signal.exceptions == ("n1", "n3")
    assert observed.nodes.cpu_used_ratio == (None, 0.5, None)


@pytest.mark.parametrize("name", ["nodes", "pods"])
def test_without_nodes_or_pods_no_ratio_is_invented(look: Look, name: str) -> None:
    """A ratio needs both lists; when one is missing there are no rows and the signals say why."""
    cluster = ScriptedCluster(nodes=[node("n1")], pods=[pod("p")])
    cluster.failures[name] = 500
    observed = interpret_snapshot(look(cluster), CollectorSettings())
    assert len(observed.nodes) == 0
    for signal in ("node_requests", "power"):
        assert _signal(observed, signal).status is SignalStatus.MISSING
        assert _signal(observed, signal).reason is Reason.SOURCE_ERROR


def test_pods_that_are_not_listed_still_wait_in_the_queue(look: Look) -> None:
    """The queue's length is the true one, however few pods a snapshot lists."""
    waits = {"phase": "Pending", "node": "", "message": NO_NODE}
    system = [pod("dns", namespace="kube-system", **waits)]
    cluster = ScriptedCluster(
        nodes=[node("n1")], pods=[pod(f"p{i:03}", **waits) for i in range(90)] + system
    )
    snapshot = look(cluster, listed_pods=10)
    assert len(snapshot.pods) == 10
    totals = interpret_snapshot(snapshot, CollectorSettings()).totals
    assert (totals.queue_length, totals.sla_violations) == (90, 90)


def test_the_energy_price_is_assumed(look: Look) -> None:
    """A constant of the settings is never passed off as a measurement."""
    observed = interpret_snapshot(look(ScriptedCluster(nodes=[node("n1")])), CollectorSettings())
    assert _signal(observed, "energy_price").status is SignalStatus.ASSUMED


def test_prefixes_watch_whole_families_of_namespaces() -> None:
    """A prefix matches every namespace that begins with it; none means all but Kubernetes' own."""
    assert is_watched("team-a", ("team-",))
    assert not is_watched("shop", ("team-",))
    assert is_watched("shop", ())
    assert not is_watched("kube-system", ())
