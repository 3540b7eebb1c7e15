"""Reactions of Kubernetes itself between two cycles, from two snapshots, each thing with its lag.

Times are the API's own time stamps where it has one, else the cluster time at which the change was
first seen. Each kind of object is compared with the last cycle in which it could be read, so an
outage of the API hides nothing that is still visible afterwards.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from schemas.reaction import ReactionItem, ReactionKind
from schemas.snapshot import NodeTable, PlacementTable, PodTable, SourceRead, WorkloadTable
from services.collector.pending import pending_class
from services.collector.snapshot import Scaling, Snapshot

Row = dict[str, Any]

_ORDER = {kind: number for number, kind in enumerate(ReactionKind)}
"""Changes of the same second are listed in the order in which they cause one another."""


@dataclass(frozen=True, slots=True)
class LastTables:
    """The newest tables of each kind that could be read, and when that was (cluster time)."""

    nodes: NodeTable | None = None
    workloads: WorkloadTable | None = None
    placements: PlacementTable | None = None
    pods: PodTable | None = None
    pods_seconds: float = 0.0
    autoscalers: Mapping[str, Scaling] | None = None
    failing: Mapping[str, float] | None = None
    """By source that failed, since when (cluster time); None before the first look."""


def update_last_tables(last: LastTables, snapshot: Snapshot) -> LastTables:
    """Return what to compare the next cycle with."""
    at = snapshot.cluster_time_seconds
    failing = {
        read.source: at if read.failing_since_seconds is None else read.failing_since_seconds
        for read in snapshot.sources
        if not read.ok
    }
    last = replace(last, failing=failing)
    if snapshot.has("nodes"):
        last = replace(last, nodes=snapshot.nodes)
    if snapshot.has("deployments", "jobs"):
        last = replace(last, workloads=snapshot.workloads)
    if snapshot.has("autoscalers"):
        last = replace(last, autoscalers=snapshot.autoscalers)
    if snapshot.has("pods"):
        last = replace(
            last,
            placements=snapshot.placements,
            pods=snapshot.pods,
            pods_seconds=snapshot.cluster_time_seconds,
        )
    return last


def find_reactions(
    last: LastTables, now: Snapshot, limit: int
) -> tuple[tuple[ReactionItem, ...], int]:
    """Return the reactions, oldest first, at most `limit`, and how many more there were."""
    items: list[ReactionItem] = []
    at = now.cluster_time_seconds
    if last.failing is not None:
        items.extend(_source_changes(last.failing, now.sources, at))
    if last.nodes is not None and now.has("nodes"):
        items.extend(_node_changes(last.nodes, now.nodes, at))
    if last.workloads is not None and now.has("deployments", "jobs"):
        items.extend(_workload_changes(last.workloads, now.workloads, at))
    if last.autoscalers is not None and now.has("autoscalers"):
        items.extend(_rescale_items(last.autoscalers, now.autoscalers))
    if last.pods is not None and last.placements is not None and now.has("pods"):
        items.extend(_demand_items(last.placements, last.pods, now))
        items.extend(_pod_changes(last.pods, last.pods_seconds, now))
    items.sort(key=lambda item: (item.time_seconds, _ORDER[item.kind], item.object))
    return tuple(items[:limit]), max(0, len(items) - limit)


def _source_changes(
    failing: Mapping[str, float], sources: Sequence[SourceRead], at: float
) -> Iterator[ReactionItem]:
    """Tell each source that cannot be read any more, and each that can be read again."""
    for read in sources:
        since, name = failing.get(read.source), read.source
        if read.ok and since is not None:
            text = f"{name} can be read again after {at - since:.0f} s"
            yield _reaction_item(
                ReactionKind.SOURCE_RESTORED, name, at, since, "source_lost", text=text
            )
        elif not read.ok and since is None:
            text = f"{name} cannot be read any more: {read.message or read.reason}"
            yield _reaction_item(ReactionKind.SOURCE_LOST, name, at, text=text)


def _node_changes(old: NodeTable, new: NodeTable, at: float) -> Iterator[ReactionItem]:
    if old.ids == new.ids and old.ready == new.ready:  # as nearly always
        return
    before = old.index()
    for number, (name, ready) in enumerate(zip(new.ids, new.ready, strict=True)):
        place = before.get(name)
        if place is None or old.ready[place] != ready:
            earlier = None if place is None else old.row(place)
            yield _node_change(name, new.row(number), earlier, at)
    new_rows = new.index()
    for name in old.ids:
        if name not in new_rows:
            yield _reaction_item(
                ReactionKind.NODE_GONE, name, at, text=f"node {name} is gone", node=name
            )


def _node_change(name: str, row: Row, earlier: Row | None, at: float) -> ReactionItem:
    changed = row["ready_time_seconds"] if row["ready_time_seconds"] is not None else at
    created = row["created_time_seconds"]
    if not row["ready"]:
        if earlier is None:
            text = f"node {name} registered and is not ready yet"
            return _reaction_item(ReactionKind.NODE_REQUESTED, name, created, text=text, node=name)
        text = f"node {name} is not ready any more"
        return _reaction_item(ReactionKind.NODE_NOT_READY, name, changed, text=text, node=name)
    if earlier is None:
        text = f"node {name} is ready"
        return _reaction_item(
            ReactionKind.NODE_READY, name, changed, created, "created", text=text, node=name
        )
    since = earlier["ready_time_seconds"]
    text = f"node {name} is ready again"
    return _reaction_item(
        ReactionKind.NODE_READY, name, changed, since, "not_ready", text=text, node=name
    )


def _workload_changes(old: WorkloadTable, new: WorkloadTable, at: float) -> Iterator[ReactionItem]:
    if old.ids == new.ids and old.wanted == new.wanted:
        return
    before = old.index()
    for number, name in enumerate(new.ids):
        desired = new.wanted[number]
        earlier = old.wanted[before[name]] if name in before else None
        if earlier is None and desired:
            created = new.created_time_seconds[number]
            yield _rescale_item(ReactionKind.SCALE_UP, name, created, 0, desired)
        elif earlier is not None and desired != earlier:
            up = desired > earlier
            kind = ReactionKind.SCALE_UP if up else ReactionKind.SCALE_DOWN
            yield _rescale_item(kind, name, at, earlier, desired)
    new_rows = new.index()
    for name, desired in zip(old.ids, old.wanted, strict=True):
        if desired and name not in new_rows and "/Deployment/" in name:
            yield _rescale_item(ReactionKind.SCALE_DOWN, name, at, desired, 0)


def _rescale_items(
    old: Mapping[str, Scaling], new: Mapping[str, Scaling]
) -> Iterator[ReactionItem]:
    """Tell each autoscaler that has rescaled its target since the last look."""
    for name, scaling in new.items():
        at, earlier = scaling.scaled_time_seconds, old.get(name)
        if at is None or (earlier is not None and earlier.scaled_time_seconds == at):
            continue
        before = scaling.current if earlier is None else earlier.desired or earlier.current
        text = f"{name} wants {scaling.desired} replicas of {scaling.target} instead of {before}"
        workload = f"{name.partition('/')[0]}/{scaling.target}"
        item = _reaction_item(ReactionKind.HPA_CHANGE, name, at, text=text, workload=workload)
        yield item.model_copy(update={"before": float(before), "after": float(scaling.desired)})


def _rescale_item(
    kind: ReactionKind, name: str, at: float, before: int, after: int
) -> ReactionItem:
    text = f"{name} wants {after} pods instead of {before}"
    return _reaction_item(kind, name, at, text=text, workload=name, before=before, after=after)


def _demand_items(
    placements: PlacementTable, pods: PodTable, now: Snapshot
) -> Iterator[ReactionItem]:
    before, after = _requested_cores(placements, pods), _requested_cores(now.placements, now.pods)
    if after > before:
        at = now.cluster_time_seconds
        text = f"pods request {after:g} cores instead of {before:g}"
        yield _reaction_item(
            ReactionKind.DEMAND_RISE, "pods", at, text=text, before=before, after=after
        )


def _requested_cores(placements: PlacementTable, pods: PodTable) -> float:
    """Return cores requested by pods that hold or wait for them."""
    waiting = [
        cores
        for cores, node, phase in zip(pods.cpu_request_cores, pods.node, pods.phase, strict=True)
        if not node and phase == "Pending"
    ]
    return round(math.fsum((*placements.cpu_request_cores, *waiting)), 6)


def _pod_changes(old: PodTable, since: float, now: Snapshot) -> Iterator[ReactionItem]:
    before = old.index()
    whole_second = math.floor(since)
    for number, name in enumerate(now.pods.ids):
        row = now.pods.row(number)
        earlier = old.row(before[name]) if name in before else None
        if earlier is not None and earlier["uid"] != row["uid"]:
            earlier = None
        for item in _pod_items(name, row, earlier, now.cluster_time_seconds):
            # A pod that was not listed before may have changed long ago; whole seconds, as the API.
            if earlier is not None or item.time_seconds >= whole_second:
                yield item


def _pod_items(name: str, row: Row, earlier: Row | None, at: float) -> Iterator[ReactionItem]:
    yield from _pending_items(name, row, earlier, at)
    place = {"workload": row["workload"], "node": row["node"]}
    created, scheduled = row["created_time_seconds"], row["scheduled_time_seconds"]
    if scheduled is not None and (earlier is None or earlier["scheduled_time_seconds"] is None):
        text = f"pod {name} was scheduled to {row['node']}"
        yield _reaction_item(
            ReactionKind.POD_SCHEDULED, name, scheduled, created, "created", text=text, **place
        )
    started = row["started_time_seconds"]
    if started is not None and (earlier is None or not earlier["ready"]):
        since, word = (scheduled, "scheduled") if scheduled is not None else (created, "created")
        text = f"pod {name} became ready on {row['node']}"
        yield _reaction_item(ReactionKind.POD_READY, name, started, since, word, text=text, **place)
    if row["phase"] == "Failed" and (earlier is None or earlier["phase"] != "Failed"):
        ended = row["ended_time_seconds"] if row["ended_time_seconds"] is not None else at
        text = f"pod {name} failed: {row['status_reason'] or 'no reason given'}"
        yield _reaction_item(
            ReactionKind.POD_FAILED, name, ended, scheduled, "scheduled", text=text, **place
        )
    restarts = 0 if earlier is None else earlier["restarts"]
    if row["restarts"] > restarts:
        text = f"containers of pod {name} restarted: {row['status_reason'] or 'no reason given'}"
        item = _reaction_item(ReactionKind.POD_RESTARTED, name, at, text=text, **place)
        yield item.model_copy(update={"before": float(restarts), "after": float(row["restarts"])})


def _pending_items(name: str, row: Row, earlier: Row | None, at: float) -> Iterator[ReactionItem]:
    """Say that a pod waits for a node, once per class of reason."""
    kind = _waiting_class(row)
    if kind is None or (earlier is not None and _waiting_class(earlier) == kind):
        return
    first = earlier is None
    item = _reaction_item(
        ReactionKind.POD_PENDING,
        name,
        row["created_time_seconds"] if first else at,
        None if first else row["created_time_seconds"],
        "" if first else "created",
        workload=row["workload"],
        text=f"pod {name} waits for a node: {row['status_message'] or kind}",
    )
    yield item.model_copy(update={"pending_class": kind})


def _waiting_class(row: Row) -> Any:
    if row["phase"] != "Pending" or row["node"]:
        return None
    return pending_class(bound=False, reason=row["status_reason"], message=row["status_message"])


def _reaction_item(
    kind: ReactionKind,
    name: str,
    at: float,
    since_seconds: float | None = None,
    since: str = "",
    *,
    text: str,
    workload: str = "",
    node: str = "",
    before: float | None = None,
    after: float | None = None,
) -> ReactionItem:
    lag = None if since_seconds is None else max(0.0, at - since_seconds)
    return ReactionItem(
        kind=kind,
        object=name,
        time_seconds=at,
        lag_seconds=lag,
        since="" if lag is None else since,
        workload=workload,
        node=node,
        before=before,
        after=after,
        text=text,
    )
