"""Pods in a snapshot: summed by node and workload, and single rows for those that need a look."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from services.kept_results import kept
from services.kube_objects import ContainerStatus, Pod, StateDetail, parse_time
from services.pod_requests import EffectiveRequest, effective_request

MESSAGE_CHARACTERS = 240
"""Longer messages of the API are cut; the scheduler's are shorter."""
_SUMMED = (
    "pods",
    "cpu_request_cores",
    "memory_request_bytes",
    "gpus_requested",
    "unhealthy",
    "restarted",
)
PLACEMENT_BYTES = 700_000
"""Above this size of its rows, a placement table is summed by namespace, then by node; messages end
at 1 MiB."""
ROW_BYTES = 48
"""About what a row's numbers take in JSON."""
_RANKS = {"Pending": 0, "Unknown": 1, "Running": 2, "Failed": 3, "Succeeded": 4}


@dataclass(frozen=True, slots=True)
class SnapshotLimits:
    """Limits of a snapshot."""

    since_seconds: float
    """Pods that became ready or ended before this cluster time need no look any more."""
    failed_pod_seconds: float
    """For how long a Failed pod counts as unhealthy and is listed."""
    listed_pods: int
    """Most rows of the pod table."""


@dataclass(frozen=True, slots=True)
class PodRows:
    """Rows of a snapshot about pods."""

    placements: dict[str, dict[str, Any]] = field(default_factory=dict)
    listed: dict[str, dict[str, Any]] = field(default_factory=dict)
    running: int = 0
    total: int = 0
    omitted: int = 0
    waiting_omitted: dict[str, int] = field(default_factory=dict)
    """Pending pods without a node beyond those listed, by namespace."""
    bare_succeeded: int = 0


@dataclass(frozen=True, slots=True)
class PodFacts:
    """Facts about a pod for rows and totals; of one that has not changed it is computed once."""

    place: str
    """Its row of the placement table, `<node>|<workload>`; empty when it is on none or holds nothing."""
    micro_cores: int
    memory_bytes: int
    gpus: int
    holds: bool
    """Whether it has not ended."""
    unhealthy: bool
    restarted: bool
    needs_row: bool
    """It is pending, failing, ending or restarted."""
    changed_seconds: float | None
    """When it became ready or, one that succeeded, ended (cluster time); None: not yet, or it needs a look anyway."""
    failed_seconds: float | None
    """When a Failed one ended."""
    running: bool
    bare_succeeded: bool


@kept
def pod_facts(pod: Pod) -> PodFacts:
    """Return what rows and totals ask of a pod.

    Raises:
        ValueError: a quantity or time stamp cannot be read.
    """
    unhealthy, phase = pod.unhealthy, pod.status.phase
    placed = bool(pod.spec.node_name) and (unhealthy or not pod.finished)
    bare = f"{pod.metadata.namespace}/Pod/{pod.metadata.name}"
    amounts = (
        effective_request(pod)
        if placed and not pod.finished
        else EffectiveRequest(cpu_cores=0.0, memory_bytes=0, gpus=0)
    )
    ending = unhealthy or pod.metadata.deletion_timestamp is not None
    needs_row = ending or (phase != "Succeeded" and pod.restarts > 0)
    changed = None
    if not needs_row:
        changed = ended_time(pod) if phase == "Succeeded" else ready_time(pod)
    return PodFacts(
        place=f"{pod.spec.node_name}|{pod.workload() or bare}" if placed else "",
        micro_cores=round(amounts.cpu_cores * 1_000_000),
        memory_bytes=amounts.memory_bytes,
        gpus=amounts.gpus,
        holds=not pod.finished,
        unhealthy=unhealthy,
        restarted=pod.restarts > 0,
        needs_row=needs_row,
        changed_seconds=changed,
        failed_seconds=ended_time(pod) if phase == "Failed" else None,
        running=phase == "Running",
        bare_succeeded=_succeeded_without_job(pod),
    )


def pod_rows(pods: Sequence[Pod], now: float, cuts: SnapshotLimits) -> PodRows:
    """Return rows of `schemas.snapshot.PlacementTable` and `PodTable`, and the totals.

    Raises:
        ValueError: a quantity or time stamp cannot be read.
    """
    every = [pod_facts(pod) for pod in pods]
    current = [
        (pod, facts)
        for pod, facts in zip(pods, every, strict=True)
        if facts.failed_seconds is None or now - facts.failed_seconds <= cuts.failed_pod_seconds
    ]
    since = math.floor(cuts.since_seconds)
    looked_at = [pod for pod, facts in current if needs_attention(facts, since)]
    return PodRows(
        placements=_placement_rows([facts for _, facts in current]),
        running=sum(facts.running for facts in every),
        total=len(pods),
        bare_succeeded=sum(facts.bare_succeeded for facts in every),
        **listed_rows(looked_at, cuts.listed_pods),
    )


def listed_rows(pods: Sequence[Pod], most: int) -> dict[str, Any]:
    """Return what `PodRows` says of pods that need attention; `most` are listed.

    Raises:
        ValueError: a quantity or time stamp cannot be read.
    """
    ranked = sorted(pods, key=_rank)
    listed, left_out = ranked[:most], ranked[most:]
    return {
        "listed": {pod.key: pod_row(pod) for pod in listed},
        "omitted": len(left_out),
        "waiting_omitted": _waiting_by_namespace(left_out),
    }


def needs_attention(facts: PodFacts, since_seconds: float) -> bool:
    """Say whether a pod is pending, failing, restarted, ending, or changed since a cluster time.

    The API's time stamps are whole seconds, so `since_seconds` is one, and its second counts as after it.
    """
    return facts.needs_row or (
        facts.changed_seconds is not None and facts.changed_seconds >= since_seconds
    )


@kept
def _rank(pod: Pod) -> tuple[int, float, str]:
    """Order pods for the case that not all can be listed: pending first, then the newest."""
    created = parse_time(pod.metadata.creation_timestamp or "")
    return (_RANKS.get(pod.status.phase, 1), -created, pod.key)


@kept
def pod_row(pod: Pod) -> dict[str, Any]:
    """Return the pod's cells of `schemas.snapshot.PodTable`."""
    reason, message = _state_reason(pod)
    amounts = effective_request(pod)
    created = pod.metadata.creation_timestamp
    return {
        "uid": pod.metadata.uid,
        "node": pod.spec.node_name,
        "workload": pod.workload(),
        "phase": pod.status.phase,
        "ready": pod.ready,
        "restarts": pod.restarts,
        "status_reason": reason,
        "status_message": message[:MESSAGE_CHARACTERS],
        "cpu_request_cores": amounts.cpu_cores,
        "memory_request_bytes": amounts.memory_bytes,
        "gpus_requested": amounts.gpus,
        "priority": pod.spec.priority,
        "created_time_seconds": parse_time(created or ""),
        "scheduled_time_seconds": _condition_time(pod, "PodScheduled"),
        "started_time_seconds": ready_time(pod),
        "ended_time_seconds": ended_time(pod),
        "deleting": pod.metadata.deletion_timestamp is not None,
    }


def ready_time(pod: Pod) -> float | None:
    """Return when the pod became ready; None while it is not."""
    return _condition_time(pod, "Ready")


def ended_time(pod: Pod) -> float | None:
    """Return when the last container of a finished pod ended."""
    if not pod.finished:
        return None
    ends = [
        parse_time(detail.finished_at)
        for status in _container_statuses(pod)
        if (detail := status.state.terminated) is not None and detail.finished_at is not None
    ]
    return max(ends, default=None)


def _condition_time(pod: Pod, kind: str) -> float | None:
    condition = pod.condition(kind)
    if condition is None or condition.status != "True" or condition.last_transition_time is None:
        return None
    return parse_time(condition.last_transition_time)


def _container_statuses(pod: Pod) -> tuple[ContainerStatus, ...]:
    return (*pod.status.init_container_statuses, *pod.status.container_statuses)


def _state_reason(pod: Pod) -> tuple[str, str]:
    """Return the API's own reason and message for the state a pod is in.

    Unbound: the PodScheduled condition. Bound: the first waiting container, then a container that
    ended badly, then the last end of a restarted one, then the pod itself (Evicted and the like).
    """
    if not pod.spec.node_name:
        scheduled = pod.condition("PodScheduled")
        if scheduled is not None and scheduled.status != "True":
            return scheduled.reason, scheduled.message
        return pod.status.reason, pod.status.message
    for detail in _state_details(pod):
        if detail is not None and detail.reason not in {"", "Completed"}:
            return detail.reason, detail.message
    return pod.status.reason, pod.status.message


def _state_details(pod: Pod) -> tuple[StateDetail | None, ...]:
    statuses = _container_statuses(pod)
    return (
        *(status.state.waiting for status in statuses),
        *(status.state.terminated for status in statuses),
        *(status.last_state.terminated for status in statuses),
    )


def _placement_rows(pods: Sequence[PodFacts]) -> dict[str, dict[str, Any]]:
    """Sum pods by node and workload; CPU in whole micro-cores, so that the sum is exact."""
    rows: dict[str, dict[str, Any]] = {}
    for pod in pods:
        if not pod.place:
            continue
        row = rows.get(pod.place)
        if row is None:
            row = rows[pod.place] = dict.fromkeys(_SUMMED, 0)
        row["unhealthy"] += pod.unhealthy
        if pod.holds:
            row["pods"] += 1
            row["cpu_request_cores"] += pod.micro_cores
            row["memory_request_bytes"] += pod.memory_bytes
            row["gpus_requested"] += pod.gpus
            row["restarted"] += pod.restarted
    if row_bytes(rows) > PLACEMENT_BYTES:
        rows = _by_namespace(rows)
    if row_bytes(rows) > PLACEMENT_BYTES:
        rows = _by_node(rows)
    for row in rows.values():
        row["cpu_request_cores"] /= 1_000_000
    return rows


def _by_namespace(rows: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Sum the rows of each node and namespace into one, `<node>|<namespace>/*/*`."""
    summed: dict[str, dict[str, Any]] = {}
    for row_id, row in rows.items():
        total = summed.setdefault(f"{row_id.partition('/')[0]}/*/*", dict.fromkeys(_SUMMED, 0))
        for name in _SUMMED:
            total[name] += row[name]
    return summed


def _by_node(rows: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Sum the rows of each node into one, `<node>|*/*/*`.

    Rows with unhealthy or restarted pods stay as they are while they fit: which namespaces are
    watched is judged later.
    """
    summed = {
        f"{row_id.partition('|')[0]}|*/*/*": dict.fromkeys(_SUMMED, 0) for row_id in sorted(rows)
    }
    room = PLACEMENT_BYTES - row_bytes(summed)
    newest_rows: dict[str, dict[str, Any]] = {}
    for row_id, row in rows.items():
        if (row["unhealthy"] or row["restarted"]) and room >= len(row_id) + ROW_BYTES:
            newest_rows[row_id] = row
            room -= len(row_id) + ROW_BYTES
            continue
        total = summed[f"{row_id.partition('|')[0]}|*/*/*"]
        for name in _SUMMED:
            total[name] += row[name]
    return {**summed, **newest_rows}


def row_bytes(rows: dict[str, dict[str, Any]]) -> int:
    """Return about how many bytes placement rows take in JSON."""
    return sum(len(row_id) + ROW_BYTES for row_id in rows)


def _waiting_by_namespace(pods: Sequence[Pod]) -> dict[str, int]:
    waiting = (pod for pod in pods if pod.status.phase == "Pending" and not pod.spec.node_name)
    return dict(sorted(Counter(pod.metadata.namespace for pod in waiting).items()))


def _succeeded_without_job(pod: Pod) -> bool:
    owners = pod.metadata.owner_references
    return pod.status.phase == "Succeeded" and not any(owner.kind == "Job" for owner in owners)
