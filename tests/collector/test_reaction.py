"""Reactions: what changed between two snapshots, when, and how long after what."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from schemas.reaction import ReactionItem, ReactionKind
from schemas.reasons import PendingClass
from services.collector.reaction import LastTables, find_reactions, update_last_tables
from tests.builders import START_SECONDS
from tests.collector.conftest import Look
from tests.collector.scripted_cluster import ScriptedCluster, node, pod, stamp

LIMIT = 200
SELECTOR = "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector."
CPU = "0/1 nodes are available: 1 Insufficient cpu."


def _between(
    look: Look, before: ScriptedCluster, after: ScriptedCluster, limit: int = LIMIT
) -> tuple[list[ReactionItem], int]:
    after.now = before.now + 10
    first = look(before)
    items, omitted = find_reactions(
        update_last_tables(LastTables(), first), look(after, since_seconds=before.now), limit
    )
    return list(items), omitted


def _deployment(replicas: int, created: float = START_SECONDS) -> dict[str, Any]:
    meta = {"name": "web", "namespace": "shop", "creationTimestamp": stamp(created)}
    return {"metadata": meta, "spec": {"replicas": replicas}}


def test_the_first_look_tells_nothing(look: Look) -> None:
    """Without a snapshot before there is nothing to compare with."""
    cluster = ScriptedCluster(nodes=[node("n1")], pods=[pod("p", phase="Pending", node="")])
    assert find_reactions(LastTables(), look(cluster), LIMIT) == ((), 0)


def test_nodes_come_go_and_fail(look: Look) -> None:
    """A new node with its lag since creation; one not ready, one back with its lag, one gone."""
    before = ScriptedCluster(nodes=[node("back", ready=False), node("fails"), node("goes")])
    at = START_SECONDS
    after = ScriptedCluster(
        nodes=[
            node("back", changed=at + 7),
            node("fails", ready=False, changed=at + 6),
            node("fresh", created=at + 1, changed=at + 5),
            node("late", ready=False, created=at + 2),
        ]
    )
    items, _ = _between(look, before, after)
    told = [(item.kind, item.object, item.time_seconds - at, item.lag_seconds) for item in items]
    assert told == [
        (ReactionKind.NODE_REQUESTED, "late", 2.0, None),
        (ReactionKind.NODE_READY, "fresh", 5.0, 4.0),
        (ReactionKind.NODE_NOT_READY, "fails", 6.0, None),
        (ReactionKind.NODE_READY, "back", 7.0, 7.0),
        (ReactionKind.NODE_GONE, "goes", 10.0, None),
    ]


def test_every_item_names_its_node_and_workload(look: Look) -> None:
    """A timeline joins items by these two names and never by reading sentences."""
    owner = {"kind": "Job", "name": "sum", "controller": True, "apiVersion": "batch/v1"}
    before = ScriptedCluster(nodes=[node("n1")], pods=[pod("p", phase="Pending", node="")])
    after = ScriptedCluster(
        nodes=[node("n1", ready=False)],
        pods=[pod("p", owner=owner, at=START_SECONDS + 5)],
        deployments=[_deployment(2)],
    )
    items, _ = _between(look, before, after)

    assert {(item.kind.value, item.workload, item.node) for item in items} == {
        ("node_not_ready", "", "n1"),
        ("pod_scheduled", "shop/Job/sum", "n1"),
        ("pod_ready", "shop/Job/sum", "n1"),
        ("scale_up", "shop/Deployment/web", ""),
    } | {(item.kind.value, "", "") for item in items if item.kind is ReactionKind.DEMAND_RISE}


def test_workloads_scale_up_down_and_appear(look: Look) -> None:
    """Wanted replicas before and after are in the item."""
    before = ScriptedCluster(deployments=[_deployment(2)])
    told = []
    for replicas in (5, 1):
        items, _ = _between(look, before, ScriptedCluster(deployments=[_deployment(replicas)]))
        told += [(item.kind, item.before, item.after) for item in items]
    items, _ = _between(
        look, ScriptedCluster(), ScriptedCluster(deployments=[_deployment(3, START_SECONDS + 4)])
    )
    told += [(item.kind, item.before, item.after) for item in items]
    assert told == [
        (ReactionKind.SCALE_UP, 2.0, 5.0),
        (ReactionKind.SCALE_DOWN, 2.0, 1.0),
        (ReactionKind.SCALE_UP, 0.0, 3.0),
    ]


def test_a_waiting_pod_is_told_once_per_class_with_its_text(look: Look) -> None:
    """The class and the scheduler's sentence are told; an unchanged class is not told again."""

    def waiting(message: str) -> ScriptedCluster:
        return ScriptedCluster(
            nodes=[node("n1")], pods=[pod("p", phase="Pending", node="", message=message)]
        )

    items, _ = _between(look, waiting(CPU), waiting(CPU))
    assert items == []
    items, _ = _between(look, waiting(CPU), waiting(SELECTOR))
    assert [(item.pending_class, item.lag_seconds) for item in items] == [
        (PendingClass.SELECTOR, 10.0)
    ]
    assert "affinity/selector" in items[0].text


def test_failures_and_restarts_are_told_with_their_reason(look: Look) -> None:
    """The API's own reason is in the text, and counts before and after a restart."""
    killed = {"reason": "OOMKilled", "finishedAt": stamp(START_SECONDS + 5)}
    again = [{"ready": True, "restartCount": 2, "lastState": {"terminated": killed}}]
    dead = [{"ready": False, "state": {"terminated": killed}}]
    before = ScriptedCluster(pods=[pod("a"), pod("b")])
    after = ScriptedCluster(
        pods=[pod("a", statuses=again), pod("b", phase="Failed", statuses=dead)]
    )
    items, _ = _between(look, before, after)
    kinds = {item.kind: item for item in items}
    assert (kinds[ReactionKind.POD_FAILED].time_seconds - START_SECONDS) == 5.0
    assert "OOMKilled" in kinds[ReactionKind.POD_FAILED].text
    restart = kinds[ReactionKind.POD_RESTARTED]
    assert (restart.before, restart.after) == (0.0, 2.0)
    assert "OOMKilled" in restart.text


def test_a_pod_of_the_same_name_is_another_pod(look: Look) -> None:
    """Identity is the UID: a re-created pod is told from its beginning."""
    before = ScriptedCluster(pods=[pod("p", uid="1", phase="Pending", node="", message=CPU)])
    after = ScriptedCluster(
        pods=[pod("p", uid="2", created=START_SECONDS + 5, phase="Pending", node="", message=CPU)]
    )
    items, _ = _between(look, before, after)
    assert [(item.kind, item.time_seconds - START_SECONDS) for item in items] == [
        (ReactionKind.POD_PENDING, 5.0)
    ]


def test_what_is_over_the_limit_is_counted(look: Look) -> None:
    """The oldest are kept, the rest is a number."""
    after = ScriptedCluster(
        nodes=[
            node(f"n{i}", created=START_SECONDS + i, changed=START_SECONDS + i) for i in range(9)
        ]
    )
    items, omitted = _between(look, ScriptedCluster(), after, limit=4)
    assert [item.object for item in items] == ["n0", "n1", "n2", "n3"]
    assert omitted == 5


def test_an_outage_of_one_source_hides_nothing_for_good(look: Look) -> None:
    """The comparison goes back to the last cycle in which the source could be read."""
    last_tables = LastTables()
    names: list[Callable[[], ScriptedCluster]] = [
        lambda: ScriptedCluster(nodes=[node("a")]),
        _nodes_down,
        lambda: ScriptedCluster(nodes=[]),
    ]
    told = []
    for make in names:
        snapshot = look(make())
        told.append([item.kind for item in find_reactions(last_tables, snapshot, LIMIT)[0]])
        last_tables = update_last_tables(last_tables, snapshot)
    lost, restored = ReactionKind.SOURCE_LOST, ReactionKind.SOURCE_RESTORED
    assert told == [[], [lost], [ReactionKind.NODE_GONE, restored]]


def _nodes_down() -> ScriptedCluster:
    cluster = ScriptedCluster(nodes=[])
    cluster.failures["nodes"] = 500
    return cluster
