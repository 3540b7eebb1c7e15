"""What the conditions of a Workload follow from. Pure.

Source: concepts/workload.md, concepts/admission_check, tasks/troubleshooting of Kueue's documentation.
"""

from __future__ import annotations

from twin.config.kueue import PodsReadyConfig
from twin.kueue.objects import condition, find_row, is_active, mark
from twin.kueue.snapshot import Queue
from twin.records import Object, ObjectRecord
from twin.timestamps import unix


def check_rows(status: Object, queue: Queue, now: str) -> list[Object]:
    """Return the states of the checks that a Workload needs now; new ones are pending."""
    admission = status.get("admission")
    flavors = None
    if admission is not None:
        flavors = [
            flavor
            for row in admission.get("podSetAssignments") or ()
            for flavor in (row.get("flavors") or {}).values()
        ]
    fresh: Object = {"state": "Pending", "lastTransitionTime": now, "message": ""}
    known = status.get("admissionChecks")
    return [find_row(known, name) or {"name": name, **fresh} for name in queue.checks_for(flavors)]


def set_admitted(status: Object, now: str, generation: int) -> None:
    """Set the condition Admitted, which follows from quota and checks, in place."""
    rows = {row["type"]: row for row in status.get("conditions") or ()}
    reserved, before = rows.get("QuotaReserved"), rows.get("Admitted")
    if reserved is None and before is None:
        return
    holds = reserved is not None and reserved["status"] == "True"
    ready = all(row["state"] == "Ready" for row in status.get("admissionChecks") or ())
    if holds and ready:
        found = (True, "Admitted", "The workload is admitted")
    elif holds:
        found = (False, "UnsatisfiedAdmissionChecks", "The workload has not all checks ready")
    else:
        found = (False, "NoReservation", "The workload has no reservation")
    if before is not None and before["status"] == "True" and not found[0]:
        spent = unix(now) - unix(before["lastTransitionTime"])
        total = status.get("accumulatedPastExecutionTimeSeconds", 0) + int(spent)
        status["accumulatedPastExecutionTimeSeconds"] = total
    mark(status, "Admitted", *found, now, generation)


def stop_policy(local: ObjectRecord) -> str:
    """Return None, Hold or HoldAndDrain of a LocalQueue."""
    return str(local.body["spec"].get("stopPolicy") or "None")


def is_stopped(local: ObjectRecord) -> bool:
    """Say whether a LocalQueue admits nothing new."""
    return stop_policy(local) != "None"


def find_blocker(
    record: ObjectRecord, local: ObjectRecord | None, name: str, queue: Queue | None
) -> tuple[str, str] | None:
    """Return reason and message of why a Workload is in no queue at all."""
    wanted = record.body["spec"].get("queueName", "")
    if not is_active(record):
        return "Deactivated", "The workload is deactivated"
    if local is None:
        return "Misconfigured", f"LocalQueue {wanted} doesn't exist"
    if is_stopped(local):
        return "Suspended", f"LocalQueue {wanted} is inactive"
    if queue is None:
        return "Misconfigured", f"ClusterQueue {name} doesn't exist"
    if queue.inactive is not None:
        return "Suspended", f"ClusterQueue {name} is inactive"
    return None


def pods_due(record: ObjectRecord, config: PodsReadyConfig) -> float | None:
    """Return when pods have to be ready, unix seconds; None when that does not matter now."""
    ready, admitted = condition(record, "PodsReady"), condition(record, "Admitted")
    if admitted is None or (ready is not None and ready["status"] == "True"):
        return None
    if ready is None or ready["reason"] == "WaitForStart":
        return unix(admitted["lastTransitionTime"]) + config.timeout_seconds
    if config.recovery_seconds is None:
        return None
    return unix(ready["lastTransitionTime"]) + config.recovery_seconds


def reset_check(row: Object, now: str) -> Object:
    """Return a check that is asked again after an eviction."""
    if row["state"] == "Pending":
        return row
    reset: Object = {
        "name": row["name"],
        "state": "Pending",
        "lastTransitionTime": now,
        "message": f"Reset to Pending after eviction. Previously: {row['state']}",
    }
    if row.get("requeueAfterSeconds") is not None:
        reset["requeueAfterSeconds"] = row["requeueAfterSeconds"]
    if row["state"] == "Retry":
        reset["retryCount"] = row.get("retryCount", 0) + 1
    return reset


def count_eviction(status: Object, reason: str, cause: str) -> None:
    """Count an eviction by its reason and what was behind it, in place."""
    stats = dict(status.get("schedulingStats") or {})
    rows = list(stats.get("evictions") or ())
    for place, row in enumerate(rows):
        if (row["reason"], row["underlyingCause"]) == (reason, cause):
            rows[place] = {**row, "count": row["count"] + 1}
            break
    else:
        rows.append({"reason": reason, "underlyingCause": cause, "count": 1})
    status["schedulingStats"] = {**stats, "evictions": rows}
