"""Outcomes of work, as counters that never fall: part of a cycle's snapshot and observation.

A level, such as the sum of the Jobs' `status.succeeded`, falls when finished objects are removed; these
count each transition once, by the object's uid, since the collector first looked at the cluster.
"""

from __future__ import annotations

from schemas.model import DataModel
from schemas.numbers import Count, Rounded

LATENCY_BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Seconds: upper bounds of `ServiceCounters.served_within`, the default buckets of Prometheus' client
libraries.
"""
OTHER_CLASS = "other"
"""Pods of priority classes beyond the first `MOST_CLASSES`."""
NO_CLASS = "none"
"""Pods without a priority class."""
MOST_CLASSES = 40
MOST_SERVICES = 200


class ServiceCounters(DataModel):
    """Requests of one Service since its counters began; they begin anew when it is made anew.

    In the twin's aggregate mode they are expected numbers, so they may be fractions.
    """

    service: str
    """`<namespace>/<name>`."""
    served: Rounded
    failed: Rounded
    """Timed out or refused."""
    lost: Rounded
    """Were in a pod when its container or machine ended."""
    served_within: tuple[Rounded, ...] = ()
    """Of the served, those answered within each of `LATENCY_BOUNDS`."""
    refused: Rounded | None = None
    """Of the failed, those for which no pod was ready; None where nobody tells them apart."""
    workload: str = ""
    """`<namespace>/Deployment/<name>` whose pods its selector picks; empty where it picks none, or several."""


class WorkCounters(DataModel):
    """Work of the watched namespaces since the collector first looked; no field ever falls."""

    jobs_completed: Count = 0
    """Jobs that got the condition Complete."""
    jobs_failed: Count = 0
    """Jobs that got the condition Failed."""
    jobs_dropped: Count = 0
    """Jobs that were removed before they had ended."""
    tasks_completed: Count = 0
    """Completions of Jobs, and pods without a Job that Succeeded."""
    evictions: Count = 0
    """Running pods that were marked as disruption targets, or were replaced while their workload did not
    want fewer.
    """
    restarts: Count = 0
    """Restarts of containers."""
    waiting_pod_seconds: dict[str, Rounded] = {}
    """Pod-seconds Pending by PriorityClass; `none` without one."""
    overdue_pod_seconds: Rounded = 0.0
    """Of these, those of pods that had waited longer than `collector.overdue_seconds`."""
    held_pod_seconds: Rounded = 0.0
    """Pod-seconds of demand that is held back: pods of suspended Jobs, and of Deployments that were scaled
    down with the annotation foresail.dev/held.
    """
    job_cpu_seconds_done: Rounded | None = None
    """CPU-seconds of Job pods that came to their end; None where nobody counts them."""
    job_cpu_seconds_lost: Rounded | None = None
    """CPU-seconds of Job pods that ended for nothing: evicted, killed, deleted, or failed."""
    services: tuple[ServiceCounters, ...] | None = None
    """By name, at most 200; None where nobody counts requests."""
