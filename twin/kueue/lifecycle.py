"""A Workload's conditions: what its queues, its checks, its pods and its own spec make of it.

Each look does one step and writes it; what was written leads to the next look. Source: concepts/workload.md,
concepts/admission_check, setup_wait_for_pods_ready.md.
"""

from __future__ import annotations

from collections.abc import Callable

from twin.kueue.client import KueueClient
from twin.kueue.conditions import (
    check_rows,
    count_eviction,
    find_blocker,
    is_stopped,
    pods_due,
    reset_check,
    set_admitted,
    stop_policy,
)
from twin.kueue.objects import (
    IN_USE,
    WORKLOADS,
    condition,
    is_active,
    is_true,
    mark,
    without_condition,
)
from twin.kueue.snapshot import Queue
from twin.records import Object, ObjectRecord
from twin.timestamps import rfc3339, unix

Wake = Callable[[float, ObjectRecord], None]
"""Has a Workload looked at again at a time, unix seconds."""
FindQueue = Callable[[str], Queue | None]
"""Returns a ClusterQueue by name."""
_BACK = {
    "Deactivated": ("Reactivated", "The workload was reactivated"),
    "PodsReadyTimeout": ("BackoffFinished", "The workload backoff was finished"),
    "AdmissionCheck": ("BackoffFinished", "The workload backoff was finished"),
}


class Lifecycle:
    """Looks at Workloads one at a time."""

    def __init__(self, client: KueueClient, wake: Wake) -> None:
        """Write by a client."""
        self._client = client
        self._wake = wake

    def look(self, record: ObjectRecord, find_queue: FindQueue) -> None:
        """Bring one Workload a step on."""
        if record.deletion_at is not None:
            if not self._owned(record):
                self._client.release(WORKLOADS, record, IN_USE)
            return
        if is_true(record, "Finished"):
            self._expire(record)
            return
        if self._note_retry(record):
            return
        done = self._step_active(record) if is_active(record) else self._step_inactive(record)
        if done:
            return
        local = self._client.queue_of(record)
        name = "" if local is None else local.body["spec"].get("clusterQueue", "")
        held_by = ((record.body.get("status") or {}).get("admission") or {}).get("clusterQueue")
        queue = find_queue(held_by or name)
        if self._restart(record, local, queue) or self._sync_checks(record, queue):
            return
        if not is_true(record, "Admitted"):
            self._sync_admitted(record, local, name, queue)
        if is_true(record, "QuotaReserved") and not is_true(record, "Evicted"):
            self._watch_reservation(record, local, queue)

    # ---- what time and its spec say

    def _owned(self, record: ObjectRecord) -> bool:
        """Say whether there is a Job that has to stop before the Workload may go."""
        for owner in record.owners:
            job = self._client.find("jobs", record.namespace, owner["name"])
            if owner["kind"] == "Job" and job is not None and job.uid == owner["uid"]:
                return True
        return False

    def _expire(self, record: ObjectRecord) -> None:
        keep = self._client.config.keep_finished_seconds
        ended = condition(record, "Finished")
        if keep is None or ended is None:
            return
        due = unix(ended["lastTransitionTime"]) + keep
        if due > self._client.now:
            self._wake(due, record)
            return
        self._client.release(WORKLOADS, record, IN_USE)
        self._client.delete(WORKLOADS, record)

    def _note_retry(self, record: ObjectRecord) -> bool:
        """Take note of when a check that says Retry wants to be asked again."""
        status = _status(record)
        times = [
            unix(row["lastTransitionTime"]) + row["requeueAfterSeconds"]
            for row in status.get("admissionChecks") or ()
            if row["state"] == "Retry" and row.get("requeueAfterSeconds") is not None
        ]
        known = (status.get("requeueState") or {}).get("requeueAt")
        if not times or (known is not None and unix(known) >= int(max(times))):
            return False
        status["requeueState"] = {
            **(status.get("requeueState") or {}),
            "requeueAt": rfc3339(max(times)),
        }
        return self._client.set_status(WORKLOADS, record, status)

    def _step_active(self, record: ObjectRecord) -> bool:
        if is_true(record, "DeactivationTarget"):
            return self._client.set_spec(WORKLOADS, record, active=False)
        status = _status(record)
        requeue: Object = dict(status.get("requeueState") or {})
        due = requeue.pop("requeueAt", None)
        if (
            due is not None
            and unix(due) > self._client.now
            and not is_true(record, "QuotaReserved")
        ):
            self._wake(unix(due), record)
            return True
        back = condition(record, "Requeued")
        if back is not None and back["status"] == "False" and back["reason"] in _BACK:
            self._mark(record, status, "Requeued", True, *_BACK[back["reason"]])
        elif due is None or is_true(record, "QuotaReserved"):
            return False
        if due is not None:
            status["requeueState"] = requeue
        return self._client.set_status(WORKLOADS, record, status)

    def _step_inactive(self, record: ObjectRecord) -> bool:
        status = _status(record)
        target = condition(record, "DeactivationTarget")
        reason, message = "Deactivated", "The workload is deactivated"
        if target is not None:
            reason += f"DueTo{target['reason']}"
            message += f" due to {target['message']}"
        without_condition(status, "DeactivationTarget")
        status.pop("requeueState", None)
        if not is_true(record, "Evicted"):
            self.evict(record, reason, message, status)
            return True
        return self._client.set_status(WORKLOADS, record, status)

    # ---- what its queues say

    def _restart(
        self, record: ObjectRecord, local: ObjectRecord | None, queue: Queue | None
    ) -> bool:
        """Queue a Workload again whose queue was stopped and is not any more."""
        back = condition(record, "Requeued")
        if back is None or back["status"] != "False":
            return False
        started = None
        if back["reason"] == "LocalQueueStopped" and local is not None and not is_stopped(local):
            started = "LocalQueue"
        if back["reason"] == "ClusterQueueStopped" and queue is not None:
            started = "ClusterQueue" if queue.stop_policy == "None" else None
        if started is None:
            return False
        status = _status(record)
        message = f"The {started} was restarted after being stopped"
        self._mark(record, status, "Requeued", True, f"{started}Restarted", message)
        return self._client.set_status(WORKLOADS, record, status)

    def _sync_checks(self, record: ObjectRecord, queue: Queue | None) -> bool:
        """Give a Workload the checks of its ClusterQueue, new ones pending."""
        if queue is None:
            return False
        status = _status(record)
        status["admissionChecks"] = check_rows(status, queue, self._client.stamp)
        if not status["admissionChecks"]:
            del status["admissionChecks"]
        return self._client.set_status(WORKLOADS, record, status)

    def _sync_admitted(
        self, record: ObjectRecord, local: ObjectRecord | None, name: str, queue: Queue | None
    ) -> None:
        status = _status(record)
        if not is_true(record, "QuotaReserved"):
            blocker = find_blocker(record, local, name, queue)
            if blocker is not None:
                self._mark(record, status, "QuotaReserved", False, *blocker)
        set_admitted(status, self._client.stamp, record.generation)
        if self._client.set_status(WORKLOADS, record, status) and is_true(record, "Admitted"):
            found = condition(record, "QuotaReserved")
            waited = self._client.now - unix(found["lastTransitionTime"]) if found else 0.0
            why = f"Admitted by ClusterQueue {name}, wait time since reservation was {waited:.0f}s"
            self._client.report(record, "Workload", "Admitted", why)

    # ---- what takes its quota away

    def _watch_reservation(
        self, record: ObjectRecord, local: ObjectRecord | None, queue: Queue | None
    ) -> None:
        if self._judge_checks(record):
            return
        if is_true(record, "Admitted"):
            for kind, drained in (
                ("LocalQueue", local is not None and stop_policy(local) == "HoldAndDrain"),
                ("ClusterQueue", queue is not None and queue.stop_policy == "HoldAndDrain"),
            ):
                if drained:
                    self.evict(record, f"{kind}Stopped", f"The {kind} is stopped")
                    return
            if not self._judge_pods(record):
                self._judge_run(record)
            return
        for kind, gone, stopped in (
            ("LocalQueue", local is None, local is not None and is_stopped(local)),
            ("ClusterQueue", queue is None, queue is not None and queue.stop_policy != "None"),
        ):
            if gone or stopped:
                name = record.body["spec"].get("queueName", "") if kind == "LocalQueue" else (
                    "" if queue is None else queue.name)  # fmt: skip
                why = "is stopped" if stopped else "is terminating or missing"
                reason = "Suspended" if stopped else "Misconfigured"
                self.unreserve(record, reason, f"{kind} {name} {why}")
                return

    def _judge_checks(self, record: ObjectRecord) -> bool:
        rows = (record.body.get("status") or {}).get("admissionChecks") or ()
        for state in ("Rejected", "Retry"):
            found = sorted((row for row in rows if row["state"] == state), key=lambda r: r["name"])
            if not found:
                continue
            parts = [
                f'"{row["name"]}" ({row["message"]})' if row.get("message") else f'"{row["name"]}"'
                for row in found
            ]
            noun = "AdmissionChecks" if len(found) > 1 else "AdmissionCheck"
            text = f"{noun} in {state} state: {'; '.join(parts)}"
            if state == "Retry":
                self.evict(record, "AdmissionCheck", f"Evicted due to {text}")
            elif not is_true(record, "DeactivationTarget"):
                self._deactivate(record, "AdmissionCheck", text)
                why = f"Deactivated due to {text}"
                self._client.report(record, "Workload", "AdmissionCheckRejected", why)
            return True
        return False

    def _judge_pods(self, record: ObjectRecord) -> bool:
        """Evict a Workload whose pods were not ready in time."""
        config = self._client.config.pods_ready
        due = None if config is None else pods_due(record, config)
        if config is None or due is None:
            return False
        if due > self._client.now:
            self._wake(due, record)
            return False
        status = _status(record)
        requeue: Object = dict(status.get("requeueState") or {})
        count = requeue.get("count", 0) + 1
        if config.backoff_limit is not None and count > config.backoff_limit:
            why = "exceeding the maximum number of re-queuing retries"
            self._deactivate(record, "RequeuingLimitExceeded", why)
            return True
        delay = config.backoff_base_seconds * 2.0 ** min(count - 1, 40)
        at = self._client.now + min(delay, float(config.backoff_most_seconds))
        status["requeueState"] = {**requeue, "count": count, "requeueAt": rfc3339(at)}
        place = f"{record.namespace}/{record.name}"
        self.evict(record, "PodsReadyTimeout", f"Exceeded the PodsReady timeout {place}", status)
        return True

    def _judge_run(self, record: ObjectRecord) -> None:
        most, admitted = (
            record.body["spec"].get("maximumExecutionTimeSeconds"),
            condition(record, "Admitted"),
        )
        if most is None or admitted is None:
            return
        status = _status(record)
        spent = status.get("accumulatedPastExecutionTimeSeconds", 0)
        due = unix(admitted["lastTransitionTime"]) + most - spent
        if due > self._client.now:
            self._wake(due, record)
        elif not is_true(record, "DeactivationTarget"):
            status.pop("accumulatedPastExecutionTimeSeconds", None)
            why = "exceeding the maximum execution time"
            self._deactivate(record, "MaximumExecutionTimeExceeded", why, status)
            sentence = f"The maximum execution time ({most}s) exceeded"
            self._client.report(record, "Workload", "MaximumExecutionTimeExceeded", sentence)

    def _deactivate(
        self, record: ObjectRecord, reason: str, message: str, status: Object | None = None
    ) -> None:
        status = _status(record) if status is None else status
        self._mark(record, status, "DeactivationTarget", True, reason, message)
        self._client.set_status(WORKLOADS, record, status)

    def evict(
        self, record: ObjectRecord, reason: str, message: str, status: Object | None = None
    ) -> None:
        """Have a Workload give its quota back, once its Job has stopped."""
        status = _status(record) if status is None else status
        self._mark(record, status, "Evicted", True, reason, message)
        checks = [
            reset_check(row, self._client.stamp) for row in status.get("admissionChecks") or ()
        ]
        if checks:
            status["admissionChecks"] = checks
        cause = reason.partition("DueTo")
        count_eviction(status, cause[0], cause[2])
        if self._client.set_status(WORKLOADS, record, status):
            self._client.report(record, "Workload", f"EvictedDueTo{cause[0]}", message)

    def unreserve(self, record: ObjectRecord, reason: str, message: str) -> None:
        """Take a Workload's quota away."""
        status = _status(record)
        self._mark(record, status, "QuotaReserved", False, reason, message)
        status.pop("admission", None)
        set_admitted(status, self._client.stamp, record.generation)
        self._client.set_status(WORKLOADS, record, status)

    def _mark(
        self,
        record: ObjectRecord,
        status: Object,
        kind: str,
        truth: bool,
        reason: str,
        message: str,
    ) -> None:
        mark(status, kind, truth, reason, message, self._client.stamp, record.generation)


def _status(record: ObjectRecord) -> Object:
    """Return a copy of a status to be changed member by member."""
    return dict(record.body.get("status") or {})
