"""Kueue's resources and labels, and the conditions of its objects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from twin.records import Object, ObjectRecord

GROUP = "kueue.x-k8s.io"
API_VERSION = f"{GROUP}/v1beta2"
FLAVORS = f"resourceflavors.{GROUP}"
CLUSTER_QUEUES = f"clusterqueues.{GROUP}"
COHORTS = f"cohorts.{GROUP}"
LOCAL_QUEUES = f"localqueues.{GROUP}"
WORKLOADS = f"workloads.{GROUP}"
CLASSES = f"workloadpriorityclasses.{GROUP}"
CHECKS = f"admissionchecks.{GROUP}"

QUEUE_LABEL = f"{GROUP}/queue-name"
CLASS_LABEL = f"{GROUP}/priority-class"
JOB_UID_LABEL = f"{GROUP}/job-uid"
LONGEST_RUN_LABEL = f"{GROUP}/max-exec-time-seconds"
LEAST_PODS = f"{GROUP}/job-min-parallelism"
"""Annotation of a Job: how few pods at once will do."""
IN_USE = f"{GROUP}/resource-in-use"
"""Finalizer of what others use."""
POD_SET = "main"
"""The only pod set of a Job."""
LONGEST_MESSAGE = 32 * 1024


def condition(record: ObjectRecord, kind: str) -> Object | None:
    """Return a condition of an object."""
    rows = (record.body.get("status") or {}).get("conditions") or ()
    return next((row for row in rows if row["type"] == kind), None)


def is_true(record: ObjectRecord, kind: str) -> bool:
    """Say whether a condition of an object holds."""
    found = condition(record, kind)
    return found is not None and found["status"] == "True"


def is_reserving(record: ObjectRecord) -> bool:
    """Say whether a Workload holds quota, which a finished one does not."""
    return is_true(record, "QuotaReserved") and not is_true(record, "Finished")


def is_active(record: ObjectRecord) -> bool:
    """Say whether a Workload may be admitted (spec.active)."""
    return record.body["spec"].get("active", True) is not False


def mark(
    status: Object,
    kind: str,
    truth: bool,
    reason: str,
    message: str,
    now: str,
    generation: int,
) -> None:
    """Set one condition of a status in place; its transition time moves with its truth alone."""
    fresh: Object = {
        "type": kind,
        "status": "True" if truth else "False",
        "lastTransitionTime": now,
        "reason": reason,
        "message": message[:LONGEST_MESSAGE],
        "observedGeneration": generation,
    }
    rows: list[Object] = list(status.get("conditions") or ())
    for place, row in enumerate(rows):
        if row["type"] == kind:
            if row["status"] == fresh["status"]:
                fresh["lastTransitionTime"] = row["lastTransitionTime"]
            rows[place] = fresh
            break
    else:
        rows.append(fresh)
    status["conditions"] = rows


def without_condition(status: Object, kind: str) -> None:
    """Take one condition out of a status in place."""
    status["conditions"] = [row for row in status.get("conditions") or () if row["type"] != kind]


def find_row(rows: Sequence[Object] | None, name: Any) -> Object | None:
    """Return the row of a list that has a name."""
    return next((row for row in rows or () if row.get("name") == name), None)
