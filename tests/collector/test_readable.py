"""One object that cannot be read costs its own row and is named; null stands for what is absent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from schemas.signals import SignalStatus
from schemas.snapshot import SourceRead
from services.collector.observe import interpret_snapshot
from services.collector.settings import CollectorSettings
from services.collector.snapshot import Snapshot
from tests.builders import START_SECONDS
from tests.collector.scripted_cluster import ScriptedCluster, node, pod, stamp

Look = Callable[..., Snapshot]
SETTINGS = CollectorSettings()


def usage(name: str, cpu: str | None = "5", memory: str | None = "8Gi") -> dict[str, Any]:
    """Return what a node uses."""
    cells = {"cpu": cpu, "memory": memory}
    return {"metadata": {"name": name}, "timestamp": stamp(START_SECONDS), "usage": cells}


def source(snapshot: Snapshot, name: str) -> SourceRead:
    """Return one read of a snapshot."""
    return snapshot.source(name)


@pytest.mark.parametrize("cpu", ["NaN", "-1", "inf", "", "1_000", "5 ", "\uff11\uff10"])
def test_a_bad_metric_costs_one_node(look: Look, cpu: str) -> None:
    """The other nodes keep their usage; the bad one is named, and an exception of the signal."""
    names = ("n1", "n2", "n3")
    rows = [usage("n1"), usage("n2", cpu), usage("n3")]
    snapshot = look(ScriptedCluster(nodes=[node(name) for name in names], node_metrics=rows))
    seen = interpret_snapshot(snapshot, SETTINGS)
    signal = next(one for one in seen.signals if one.name == "node_usage")

    read = source(snapshot, "node_metrics")
    assert read.ok
    assert read.message.startswith("left out 1 of 3: n2 (")
    assert repr(cpu) in read.message
    assert seen.nodes.cpu_used_ratio == (0.5, None, 0.5)
    assert (signal.status, signal.exceptions) == (SignalStatus.FRESH, ("n2",))


@pytest.mark.parametrize(
    ("kind", "bad"),
    [
        ("nodes", {**node("bad"), "status": {"allocatable": {"cpu": "many"}}}),
        ("nodes", node("bad", annotations={"foresail.dev/clock-scale": "nan"})),
        ("pods", pod("bad", containers=[{"resources": {"requests": {"cpu": "much"}}}])),
        ("pods", {**pod("bad", phase="Pending", node=""), "metadata": {"name": "bad", "namespace": "shop"}}),
        ("jobs", {"metadata": {"name": "bad", "namespace": "shop", "creationTimestamp": "soon"}}),
        ("deployments", {"metadata": {"name": "bad", "namespace": "shop"}}),
    ],
)  # fmt: skip
def test_a_bad_object_costs_its_own_row(look: Look, kind: str, bad: dict[str, Any]) -> None:
    """The list is as it would be without it, and says what it leaves out."""
    meta = {"name": "good", "namespace": "shop", "creationTimestamp": stamp(START_SECONDS)}
    lists = {"nodes": [node("n1")], "pods": [pod("p1")], "jobs": [{"metadata": meta}]}
    lists["deployments"] = [{"metadata": meta}]
    without = look(ScriptedCluster(**lists))
    snapshot = look(ScriptedCluster(**{**lists, kind: [*lists[kind], bad]}))

    read = source(snapshot, kind)
    assert read.ok
    assert "bad (" in read.message
    for name in ("nodes", "placements", "workloads", "pods", "occupancy"):
        assert getattr(snapshot, name) == getattr(without, name)


def test_a_list_of_bad_objects_alone_has_failed(look: Look) -> None:
    """Nothing of it is known: that is no empty list."""
    metrics = [usage("n1", "NaN")]
    snapshot = look(ScriptedCluster(nodes=[node("n1")], node_metrics=metrics))

    read = source(snapshot, "node_metrics")
    assert not read.ok
    assert "'NaN'" in read.message


def test_null_is_what_is_absent(look: Look) -> None:
    """As client-go reads them: a null list is empty, a null field is not there."""

    class Nulls(ScriptedCluster):
        def _page(self, name: str, query: Any) -> dict[str, Any]:
            page = super()._page(name, query)
            return page if page["items"] else {**page, "items": None}

    one = pod("p1")
    one["spec"] |= {"initContainers": None, "nodeSelector": None, "overhead": None}
    one["metadata"] |= {"labels": None, "ownerReferences": None, "annotations": None}
    one["status"] |= {"containerStatuses": None}
    bare = node("n1")
    bare["spec"] |= {"taints": None}
    snapshot = look(Nulls(nodes=[bare], pods=[one]))

    assert all(read.ok for read in snapshot.sources)
    assert source(snapshot, "jobs").items == 0
    assert (snapshot.nodes.ids, snapshot.placements.pods) == (("n1",), (1,))


@pytest.mark.parametrize(
    "allocatable", [{}, None, {"cpu": "0", "memory": "32Gi", "pods": "0"}, {"memory": "32Gi"}]
)
def test_a_node_that_offers_nothing_known_has_no_shares(
    look: Look, allocatable: dict[str, str] | None
) -> None:
    """Nothing is a share of an unknown capacity: the node is an exception, and counts in no mean."""
    bare = node("n2")
    bare["status"]["allocatable"] = allocatable
    cluster = ScriptedCluster(
        nodes=[node("n1"), bare],
        pods=[pod("p1"), pod("p2", node="n2")],
        node_metrics=[usage("n1"), usage("n2")],
    )
    seen = interpret_snapshot(look(cluster), SETTINGS)

    assert seen.nodes.cpu_requested_ratio == (0.1, None)
    assert seen.nodes.cpu_used_ratio == (0.5, None)
    assert seen.totals.cpu_requested_ratio == 0.1
    exceptions = {one.name: one.exceptions for one in seen.signals}
    assert exceptions["node_requests"] == exceptions["node_usage"] == ("n2",)
