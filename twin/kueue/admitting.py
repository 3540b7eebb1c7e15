"""From objects to decisions and back: builds the snapshot, has the queues passed over, and writes what came of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from twin.kueue.amounts import pod_requests, texts
from twin.kueue.client import KueueClient
from twin.kueue.conditions import check_rows, set_admitted
from twin.kueue.flavors import Assignment
from twin.kueue.lifecycle import Lifecycle
from twin.kueue.objects import (
    CHECKS,
    CLUSTER_QUEUES,
    COHORTS,
    FLAVORS,
    LOCAL_QUEUES,
    WORKLOADS,
    condition,
    is_active,
    is_reserving,
    is_true,
    mark,
)
from twin.kueue.preemption import BECAUSE
from twin.kueue.scheduling import Admission, Outcome, Preemption, Refusal, Scheduler
from twin.kueue.snapshot import Queue, QueueSnapshot
from twin.kueue.workload import Info, PodSet, held_quota, queued_since, shape_of
from twin.part import Part
from twin.records import Object, ObjectRecord
from twin.selectors import matches
from twin.timestamps import unix


@dataclass(slots=True, eq=False)
class ReadWorkload:
    """What matters of one Workload as it was in one version."""

    version: int
    info: Info
    local: tuple[str, str]
    """Namespace and name of its LocalQueue."""
    holds: str
    """The ClusterQueue whose quota it holds; empty without any."""
    waits: bool
    due: float
    """When its back-off is over, unix seconds."""


class Admitting(Part):
    """Reads all objects of Kueue, and admits."""

    LEAVES = ("_read", "_seen")

    def __init__(self, client: KueueClient, lifecycle: Lifecycle) -> None:
        """Write by a client; who is preempted is evicted by a lifecycle."""
        self._client = client
        self._lifecycle = lifecycle
        self._read: dict[str, tuple[int, tuple[PodSet, ...], bytes]] = {}
        self._seen: dict[str, ReadWorkload] = {}

    def forget(self) -> None:
        """Work out anew what everybody requests: a LimitRange has changed."""
        self._read = {}

    # ---- reading

    def queues(self) -> QueueSnapshot:
        """Return queues, cohorts and flavors, nobody holding anything."""
        return QueueSnapshot(
            list(self._client.all(CLUSTER_QUEUES)),
            list(self._client.all(COHORTS)),
            {record.name: record.body.get("spec") or {} for record in self._client.all(FLAVORS)},
            {record.name: record for record in self._client.all(CHECKS)},
        )

    def snapshot(self) -> QueueSnapshot:
        """Return queues, cohorts, flavors, and who holds what."""
        found = self.queues()
        for seen in self._look():
            queue = found.queues.get(seen.holds)
            if queue is not None:
                seen.info.queue = seen.holds
                queue.take(seen.info)
        return found

    def waiting(self, snapshot: QueueSnapshot) -> list[Info]:
        """Return the Workloads that are queued, of all ClusterQueues, in order."""
        queues = {
            (record.namespace, record.name): record.body["spec"].get("clusterQueue", "")
            for record in self._client.all(LOCAL_QUEUES)
            if (record.body["spec"].get("stopPolicy") or "None") == "None"
        }
        now, found = self._client.now, []
        for seen in self._look():
            if seen.waits and seen.due <= now:
                name = queues.get(seen.local, "")
                if name in snapshot.queues:
                    seen.info.queue = name
                    seen.info.sticky = seen.info.preempts and not snapshot.queues[name].strict
                    found.append(seen.info)
        return sorted(found, key=lambda info: info.place)

    def _look(self) -> Iterable[ReadWorkload]:
        """Return what matters of every Workload; those that have not changed are not read again."""
        known, fresh = self._seen, {}
        for record in self._client.all(WORKLOADS):
            seen = known.get(record.uid)
            if seen is None or seen.version != record.resource_version:
                seen = self._see(record)
            fresh[record.uid] = seen
        self._seen = fresh
        if len(self._read) > 2 * len(fresh) + 100:
            self._read = {uid: read for uid, read in self._read.items() if uid in fresh}
        return fresh.values()

    def _see(self, record: ObjectRecord) -> ReadWorkload:
        spec, status = record.body["spec"], record.body.get("status") or {}
        since = queued_since(record, self._client.config.pods_ready)
        info = Info(record, "", spec.get("priority") or 0, since)
        holds = ""
        if is_reserving(record):
            holds = (status.get("admission") or {}).get("clusterQueue", "")
            info.usage = held_quota(record)
        due = (status.get("requeueState") or {}).get("requeueAt")
        return ReadWorkload(
            record.resource_version,
            info,
            (record.namespace, spec.get("queueName", "")),
            holds,
            waits=may_wait(record),
            due=0.0 if due is None else unix(due),
        )

    def _fill(self, info: Info) -> None:
        """Work out what a waiting Workload requests."""
        record = info.record
        known = self._read.get(record.uid)
        if known is None or known[0] != record.generation:
            ranges = [
                row
                for limits in self._client.all("limitranges", record.namespace)
                for row in limits.body["spec"]["limits"]
            ]
            found = []
            for row in record.body["spec"]["podSets"]:
                spec, count = row["template"]["spec"], row["count"]
                each = pod_requests(spec, ranges, self._client.config)
                found.append(PodSet(row["name"], count, row.get("minCount", count), each, spec))
            known = (record.generation, tuple(found), shape_of(found))
            self._read[record.uid] = known
        spare = (record.body.get("status") or {}).get("reclaimablePods")
        info.pod_sets = _less_reclaimable(known[1], spare) if spare else known[1]
        info.shape = b"" if spare else known[2]

    # ---- deciding

    def admit(self, snapshot: QueueSnapshot) -> None:
        """Pass over all queues once and write what came of it."""
        waiting = [i for i in self.waiting(snapshot) if snapshot.queues[i.queue].inactive is None]
        if not waiting:
            return
        for info in waiting:
            self._fill(info)
        config = self._client.config
        one_by_one = config.pods_ready is not None and config.pods_ready.block_admission
        ready = not one_by_one or all(
            is_true(info.record, "PodsReady")
            for info in snapshot.holders()
            if is_true(info.record, "Admitted")
        )
        scheduler = Scheduler(snapshot, waiting, config, self._why_not)
        self._write(scheduler.run(one_by_one=one_by_one, ready=ready), snapshot)

    def _why_not(self, info: Info, queue: Queue) -> tuple[str, str] | None:
        namespace = self._client.find("namespaces", "", info.record.namespace)
        labels = {} if namespace is None else namespace.labels
        if not matches(queue.spec.get("namespaceSelector"), labels):
            return "Misconfigured", "workload namespace doesn't match ClusterQueue selector"
        return None

    # ---- writing

    def _write(self, outcome: Outcome, snapshot: QueueSnapshot) -> None:
        for preemption in outcome.preemptions:
            self._preempt(preemption, snapshot)
        for admission in outcome.admissions:
            self._reserve(admission, snapshot)
        for refusal in outcome.refusals.values():
            self._refuse(refusal)

    def _reserve(self, admission: Admission, snapshot: QueueSnapshot) -> None:
        """Give a Workload its quota, and admit it unless checks are to be asked."""
        record, name = admission.info.record, admission.info.queue
        status, now = dict(record.body.get("status") or {}), self._client.stamp
        status["admission"] = {
            "clusterQueue": name,
            "podSetAssignments": _assignment_rows(admission.assignment),
        }
        status.pop("resourceRequests", None)
        waited = self._client.now - _queued_at(record)
        message = f"Quota reserved in ClusterQueue {name}"
        mark(status, "QuotaReserved", True, "QuotaReserved", message, now, record.generation)
        for kind in ("Evicted", "Preempted"):
            before = condition(record, kind)
            if before is not None and before["status"] == "True":
                why = f"Previously: {before['message']}"
                mark(status, kind, False, "QuotaReserved", why, now, record.generation)
        rows = check_rows(status, snapshot.queues[name], now)
        if rows:
            status["admissionChecks"] = rows
        else:
            status.pop("admissionChecks", None)
        set_admitted(status, now, record.generation)
        self._client.set_status(WORKLOADS, record, status)
        text = f"{message}, wait time since queued was {waited:.0f}s"
        self._client.report(record, "Workload", "QuotaReserved", text)
        if is_true(record, "Admitted"):
            why = f"Admitted by ClusterQueue {name}, wait time since reservation was 0s"
            self._client.report(record, "Workload", "Admitted", why)

    def _refuse(self, refusal: Refusal) -> None:
        record = refusal.info.record
        known = condition(record, "QuotaReserved")
        if known is not None and known["status"] == "False":
            before = known["reason"], known["message"], known.get("observedGeneration")
            if before == (refusal.reason, refusal.message, record.generation):
                return
        status, now = dict(record.body.get("status") or {}), self._client.stamp
        mark(
            status, "QuotaReserved", False, refusal.reason, refusal.message, now, record.generation
        )
        set_admitted(status, now, record.generation)
        status["resourceRequests"] = [
            {"name": one.name, "resources": texts({k: n * one.count for k, n in one.each.items()})}
            for one in refusal.info.pod_sets
        ]
        if self._client.set_status(WORKLOADS, record, status):
            self._client.report(record, "Workload", refusal.reason, refusal.message)

    def _preempt(self, preemption: Preemption, snapshot: QueueSnapshot) -> None:
        victim, other = preemption.victim.record, preemption.preemptor.record
        paths = [snapshot.queues[i.queue].path() for i in (preemption.preemptor, preemption.victim)]
        uid = next((owner["uid"] for owner in other.owners), "UNKNOWN")
        message = (
            f"Preempted to accommodate a workload (UID: {other.uid}, JobUID: {uid}) due to "
            f"{BECAUSE[preemption.reason]}; preemptor path: {paths[0]}; preemptee path: {paths[1]}"
        )
        status, now = dict(victim.body.get("status") or {}), self._client.stamp
        mark(status, "Preempted", True, preemption.reason, message, now, victim.generation)
        self._lifecycle.evict(victim, "Preempted", message, status)
        self._client.report(victim, "Workload", "Preempted", message)


def is_queued(record: ObjectRecord, now: float) -> bool:
    """Say whether a Workload waits for quota, rather than for something else."""
    due = ((record.body.get("status") or {}).get("requeueState") or {}).get("requeueAt")
    return may_wait(record) and (due is None or unix(due) <= now)


def may_wait(record: ObjectRecord) -> bool:
    """Say whether a Workload waits for quota, as soon as its back-off is over."""
    if record.deletion_at is not None or not is_active(record) or is_true(record, "Finished"):
        return False
    if is_true(record, "QuotaReserved") or is_true(record, "DeactivationTarget"):
        return False
    back = condition(record, "Requeued")
    if back is not None and back["status"] == "False":
        return False
    checks = (record.body.get("status") or {}).get("admissionChecks") or ()
    return not any(row["state"] in ("Retry", "Rejected") for row in checks)


def _queued_at(record: ObjectRecord) -> float:
    back = condition(record, "Requeued")
    return record.created_at if back is None else unix(back["lastTransitionTime"])


def _less_reclaimable(pod_sets: Iterable[PodSet], rows: Iterable[Object]) -> tuple[PodSet, ...]:
    """Return pod sets without pods that will never be needed again."""
    spare = {row["name"]: row["count"] for row in rows}
    return tuple(
        replace(one, count=max(0, one.count - spare.get(one.name, 0)),
                least=max(0, one.least - spare.get(one.name, 0)))
        for one in pod_sets
    )  # fmt: skip


def _assignment_rows(assignment: Assignment) -> list[Object]:
    rows = []
    for one in assignment.pod_sets:
        used = {name: n for name, n in one.requests.items() if name in one.flavors}
        flavors = {name: one.flavors[name].flavor for name in sorted(one.flavors)}
        rows.append({
            "name": one.pod_set.name,
            "flavors": flavors,
            "resourceUsage": texts(used),
            "count": one.count,
        })  # fmt: skip
    return rows
