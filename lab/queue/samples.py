"""Looks at queues one after the other: what changed, what the cluster is like, and what was killed.

Pure: a look is what was read, and its time is the API server's.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from inputs.quantities import parse_cores, parse_whole
from lab.queue.reading import QueueReads
from lab.queue.rows import Kill, job_row, kills_of
from schemas.queue import QueueJob, QueueJobs, QueueState
from services.kube_objects import CPU, MEMORY, Node, Pod
from services.pod_requests import effective_request

HOUR_SECONDS = 3_600.0
MOST_JOBS = 200
"""Jobs in one event, so that it stays far below what a message may hold."""


@dataclass(frozen=True, slots=True)
class QueueLedger:
    """Everything that the next look needs of those before it."""

    looks: int = 0
    jobs: Mapping[str, QueueJob] = field(default_factory=dict)
    """By UID."""
    kills: Mapping[Kill, tuple[str, float]] = field(default_factory=dict)
    """Each kill with its Job and the time of the look that first showed it."""


@dataclass(frozen=True, slots=True)
class QueueSample:
    """What a look tells."""

    state: QueueState
    changed: tuple[QueueJob, ...]
    removed: tuple[str, ...]

    def events(self) -> Iterator[QueueJobs | QueueState]:
        """Yield the events of the look, the changed Jobs in pieces."""
        groups = [
            self.changed[at : at + MOST_JOBS] for at in range(0, len(self.changed), MOST_JOBS)
        ]
        if self.removed and not groups:
            groups = [()]
        for part, group in enumerate(groups):
            yield QueueJobs(
                look=self.state.look,
                part=part,
                cluster_time_seconds=self.state.cluster_time_seconds,
                jobs=group,
                removed=self.removed if part == 0 else (),
            )
        yield self.state


def take_sample(ledger: QueueLedger, reads: QueueReads) -> tuple[QueueLedger, QueueSample]:
    """Return the ledger after a look, and what the look tells.

    A Job that cannot be read keeps its row of the look before, and is named in `missing`.
    """
    pods = _pods_of_jobs(reads)
    workloads = {(one.metadata.namespace, one.job): one for one in reads.workloads if one.job}
    kills = _kills(ledger, reads, pods)
    killed = Counter(job for job, _ in kills.values())
    rows: dict[str, QueueJob] = {}
    unreadable = []
    for job in reads.jobs:
        uid, key = job.metadata.uid, (job.metadata.namespace, job.metadata.name)
        before, workload = ledger.jobs.get(uid), workloads.get(key)
        try:
            known = None if "pods" in reads.missing else pods[key]
            rows[uid] = job_row(job, known, workload, before, killed[uid])
        except ValueError:
            unreadable.append(f"jobs/{job.metadata.name}")
            if before is not None:
                rows[uid] = before
    number = ledger.looks + 1
    reads = replace(reads, missing=(*reads.missing, *unreadable))
    of_jobs = [pod for group in pods.values() for pod in group]
    state = _state(number, reads, list(rows.values()), of_jobs, kills)
    changed = tuple(row for uid, row in rows.items() if ledger.jobs.get(uid) != row)
    removed = tuple(uid for uid in ledger.jobs if uid not in rows)
    return QueueLedger(number, rows, kills), QueueSample(state, changed, removed)


def _pods_of_jobs(reads: QueueReads) -> Mapping[tuple[str, str], Sequence[Pod]]:
    """Return the pods of each watched Job, by its namespace and name."""
    found: defaultdict[tuple[str, str], list[Pod]] = defaultdict(list)
    for job in reads.jobs:
        found[job.metadata.namespace, job.metadata.name] = []
    for pod in reads.pods:
        owners = pod.metadata.owner_references
        name = next((one.name for one in owners if one.controller and one.kind == "Job"), "")
        if (pod.metadata.namespace, name) in found:
            found[pod.metadata.namespace, name].append(pod)
    return found


def _kills(
    ledger: QueueLedger, reads: QueueReads, pods: Mapping[tuple[str, str], Sequence[Pod]]
) -> Mapping[Kill, tuple[str, float]]:
    """Return every kill that was ever seen; a pod that is gone takes none away."""
    kills = dict(ledger.kills)
    for job in reads.jobs:
        for pod in pods[job.metadata.namespace, job.metadata.name]:
            for kill in kills_of(pod):
                kills.setdefault(kill, (job.metadata.uid, reads.time_seconds))
    return kills


def _state(
    number: int,
    reads: QueueReads,
    rows: Sequence[QueueJob],
    pods: Sequence[Pod],
    kills: Mapping[Kill, tuple[str, float]],
) -> QueueState:
    nodes = [one for one in reads.nodes if one.ready and not one.spec.unschedulable]
    names = frozenset(one.metadata.name for one in nodes)
    held = [
        effective_request(pod)
        for pod in reads.pods
        if pod.spec.node_name in names and not pod.finished
    ]
    jobs = Counter(row.status for row in rows)
    phases = Counter(pod.status.phase for pod in pods)
    recent = [at for _, at in kills.values() if at > reads.time_seconds - HOUR_SECONDS]
    return QueueState(
        look=number,
        cluster_time_seconds=reads.time_seconds,
        nodes=len(nodes),
        cpu_allocatable_cores=math.fsum(_cores(node) for node in nodes),
        memory_allocatable_bytes=sum(_bytes(node) for node in nodes),
        cpu_requested_cores=math.fsum(one.cpu_cores for one in held),
        memory_requested_bytes=sum(one.memory_bytes for one in held),
        cpu_used_ratio=_used(reads, nodes, CPU),
        memory_used_ratio=_used(reads, nodes, MEMORY),
        jobs_suspended=jobs["Suspended"],
        jobs_pending=jobs["Pending"],
        jobs_running=jobs["Running"],
        jobs_succeeded=jobs["Succeeded"],
        jobs_failed=jobs["Failed"],
        jobs_unknown=jobs["Unknown"],
        pods_pending=phases["Pending"],
        pods_running=phases["Running"],
        pods_succeeded=phases["Succeeded"],
        pods_failed=phases["Failed"],
        oom_kills=len(kills),
        oom_kills_last_hour=len(recent),
        missing=reads.missing,
    )


def _cores(node: Node) -> float:
    return parse_cores(node.status.allocatable.get(CPU, "0"))


def _bytes(node: Node) -> int:
    return parse_whole(node.status.allocatable.get(MEMORY, "0"))


def _used(reads: QueueReads, nodes: Sequence[Node], resource: str) -> float | None:
    """Return used over allocatable of the nodes that were measured; None: none was."""
    measured = [node for node in nodes if node.metadata.name in reads.usage]
    there = math.fsum(_cores(one) if resource == CPU else _bytes(one) for one in measured)
    if not there:
        return None
    texts = [reads.usage[one.metadata.name].usage.get(resource, "0") for one in measured]
    return (
        math.fsum(parse_cores(one) if resource == CPU else parse_whole(one) for one in texts)
        / there
    )
