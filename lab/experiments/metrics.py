"""Metrics of every trial, from the twin's truth: names, units, and which direction is better."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Metric:
    """One figure of a trial."""

    unit: str
    better: Literal["higher", "lower"]
    about: str
    headline: bool = False
    """Whether the report's first table shows it."""
    compared: bool = True
    """Whether arms are compared on it; one that is no is of an arm by itself, and many arms have none."""

    def gain(self, difference: float) -> float:
        """Return a difference so that more is better."""
        return difference if self.better == "higher" else -difference


METRICS: Mapping[str, Metric] = {
    "score_dollars_per_hour": Metric(
        "$/h", "higher", "outcome score at the default prices", headline=True
    ),
    "requests_served": Metric("requests", "higher", "answered in time"),
    "requests_failed_ratio": Metric(
        "ratio", "lower", "refused, timed out or lost, of all that came", headline=True
    ),
    "latency_p50_seconds": Metric("s", "lower", "median of what was served"),
    "latency_p95_seconds": Metric(
        "s", "lower", "95th percentile of what was served", headline=True
    ),
    "latency_p99_seconds": Metric("s", "lower", "99th percentile of what was served"),
    "slo_minutes": Metric(
        "min",
        "lower",
        "minutes in which over 1 % of a Service's requests failed or took over 0.5 s, as the score counts them",
        headline=True,
    ),
    "jobs_completed": Metric("jobs", "higher", "Jobs that came to a good end", headline=True),
    "jobs_failed": Metric("jobs", "lower", "Jobs that failed for good"),
    "job_seconds_mean": Metric("s", "lower", "from creation to completion, of completed Jobs"),
    "job_slowdown_mean": Metric(
        "ratio", "lower", "that time over the work's own length, at least 10 s of it"
    ),
    "cpu_seconds_done": Metric("CPU s", "higher", "of Job containers that came to a good end"),
    "cpu_seconds_lost": Metric(
        "CPU s", "lower", "of Job containers that ended before", headline=True
    ),
    "waiting_pod_hours": Metric("pod h", "lower", "pods without a node", headline=True),
    "waiting_pods_most": Metric("pods", "lower", "the most at one moment"),
    "pending_clear_seconds": Metric(
        "s", "lower", "longest time in which some pod was without a node"
    ),
    "recovery_pod_hours": Metric(
        "pod h", "lower", "from the loss of a ready pod until it, or another in its place, is ready"
    ),
    "recovery_seconds_mean": Metric("s", "lower", "the same for one loss", compared=False),
    "held_pod_hours": Metric(
        "pod h", "lower", "pods held back by a scheduling gate, or Jobs suspended"
    ),
    "replicas_removed_hours": Metric(
        "pod h", "lower", "replicas fewer than the user deployed, over time"
    ),
    "jobs_dropped": Metric("jobs", "lower", "Jobs removed before they had ended: rejected demand"),
    "replicas_changed": Metric("pods", "lower", "replicas added or removed, each way"),
    "evictions": Metric("pods", "lower", "pods evicted, preempted or taken by taints"),
    "restarts": Metric("containers", "lower", "containers started again in their pod"),
    "memory_kills": Metric("containers", "lower", "killed for lack of memory"),
    "starved_pod_minutes": Metric(
        "pod min", "lower", "pods that got less of their machine's cores than they wanted"
    ),
    "requested_core_hours": Metric("core h", "lower", "requested by running pods"),
    "requested_gib_hours": Metric("GiB h", "lower", "requested by running pods"),
    "cpu_slack_ratio": Metric("ratio", "lower", "of the cores that running pods request: not used"),
    "memory_slack_ratio": Metric(
        "ratio", "lower", "of the memory that running pods request: not used"
    ),
    "writes": Metric(
        "actions", "lower", "writes to the cluster by Foresail that changed something"
    ),
    "node_hours": Metric("node h", "lower", "machines that were on", headline=True),
    "activations": Metric("machines", "lower", "machines started or woken"),
    "activation_seconds_mean": Metric(
        "s", "lower", "from the order of a machine to its node's readiness", compared=False
    ),
    "energy_kwh": Metric(
        "kWh", "lower", "of all machines that were on, idle power included", headline=True
    ),
    "price_dollars": Metric(
        "$", "lower", "of rented machines, as the cloud bills them", headline=True
    ),
    "forecast_skill": Metric(
        "ratio",
        "higher",
        "of predicted risks: 1 - Brier / Brier of the best constant",
        compared=False,
    ),
}
"""Every metric of a result, in the order of reports. A trial without requests, or without Jobs, leaves theirs
out: nothing is not the same as 0."""
COMPARED: tuple[str, ...] = tuple(name for name, metric in METRICS.items() if metric.compared)
BY_ITSELF: tuple[str, ...] = tuple(name for name, metric in METRICS.items() if not metric.compared)
