"""Settings of the simulated kube-scheduler: which plugins run, their weights, and its queue.

Every default is kube-scheduler's own (v1.33): pkg/scheduler/apis/config/v1/default_plugins.go and
defaults.go, where nothing else is said.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from inputs.errors import ConfigError

FILTERS = (
    "NodeUnschedulable",
    "TaintToleration",
    "NodeAffinity",
    "NodePorts",
    "NodeResourcesFit",
    "PodTopologySpread",
    "InterPodAffinity",
)
"""Filter plugins in the order in which they run; the first that refuses a node gives the reason."""
SCORES = (
    ("TaintToleration", 3),
    ("NodeAffinity", 2),
    ("NodeResourcesFit", 1),
    ("PodTopologySpread", 2),
    ("InterPodAffinity", 2),
    ("NodeResourcesBalancedAllocation", 1),
    ("ImageLocality", 1),
)
"""Score plugins and their weights."""
Strategy = Literal["LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"]
_STRATEGIES = ("LeastAllocated", "MostAllocated", "RequestedToCapacityRatio")


@dataclass(frozen=True, slots=True)
class DefaultSpread:
    """A soft spreading constraint of pods that have none of their own."""

    topology_key: str
    max_skew: int


SYSTEM_SPREADING = (
    DefaultSpread("kubernetes.io/hostname", 3),
    DefaultSpread("topology.kubernetes.io/zone", 5),
)
"""The built-in cluster constraints: podtopologyspread/plugin.go, systemDefaultConstraints."""


@dataclass(frozen=True, slots=True)
class SchedulerConfig:
    """Settings of the scheduler; seconds are cluster seconds."""

    enabled: bool = True
    """Whether it schedules at all; off where another scheduler binds the pods."""
    filters: tuple[str, ...] = FILTERS
    """Filter plugins that run; leaving one out disables it."""
    scores: tuple[tuple[str, int], ...] = SCORES
    """Score plugins that run, with weights; leaving one out disables it."""
    strategy: Strategy = "LeastAllocated"
    """NodeResourcesFit's scoring strategy."""
    scored_resources: tuple[tuple[str, int], ...] = (("cpu", 1), ("memory", 1))
    """Resources and weights of NodeResourcesFit's score."""
    balanced_resources: tuple[str, ...] = ("cpu", "memory")
    """Resources of NodeResourcesBalancedAllocation."""
    ratio_shape: tuple[tuple[int, int], ...] = ((0, 0), (100, 10))
    """RequestedToCapacityRatio: (utilisation in percent, score 0 to 10); packs by default."""
    default_spreading: tuple[DefaultSpread, ...] = SYSTEM_SPREADING
    """Soft spreading of pods of a Service, ReplicaSet or StatefulSet that ask for none."""
    hard_pod_affinity_weight: int = 1
    """What a required pod affinity of a pod on a node is worth to the pods that it asks for."""
    ignore_preferred_terms_of_existing_pods: bool = False
    """InterPodAffinity scores only by the terms of the pod itself, if it has no preferred ones."""
    percentage_of_nodes_to_score: int = 0
    """Feasible nodes that are enough, in percent; 0: 50 less one per 125 nodes, at least 5."""
    preemption: bool = True
    """DefaultPreemption: whether pods of higher priority displace others."""
    candidate_nodes_percentage: int = 10
    """Share of the nodes that a preemption examines (minCandidateNodesPercentage)."""
    candidate_nodes_absolute: int = 100
    """Nodes that a preemption examines at least (minCandidateNodesAbsolute)."""
    backoff_seconds: float = 1.0
    """First delay before an unschedulable pod is tried again (podInitialBackoffSeconds)."""
    backoff_max_seconds: float = 10.0
    """Longest such delay (podMaxBackoffSeconds)."""
    flush_seconds: float = 300.0
    """A pod is tried again after this time at the latest, whatever happened
    (backend/queue/scheduling_queue.go, DefaultPodMaxInUnschedulablePodsDuration)."""
    latency_seconds: float = 0.01
    """From a pod's creation to its turn in an idle scheduler: our assumption, not documented."""
    binds_per_second: float = 50.0
    """Pods bound per second in the long run: clientConnection.qps; 0 lifts the limit. Other calls,
    such as those that tell a pod why it waits, are not counted."""
    bind_burst: int = 100
    """Pods bound at once after a quiet time: clientConnection.burst."""

    def __post_init__(self) -> None:
        """Check names and ranges; raises ConfigError."""
        known = {name for name, _ in SCORES}
        for name in self.filters:
            _require_known("scheduler.filters", name, FILTERS)
        for name, weight in self.scores:
            _require_known("scheduler.scores", name, tuple(sorted(known)))
            _at_least(f"scheduler.scores.{name}", weight, 1)
        _require_known("scheduler.strategy", self.strategy, _STRATEGIES)
        if not 0 <= self.percentage_of_nodes_to_score <= 100:
            raise ConfigError(
                "scheduler.percentage_of_nodes_to_score",
                self.percentage_of_nodes_to_score,
                "give 0 (automatic) to 100",
            )
        _at_least("scheduler.candidate_nodes_percentage", self.candidate_nodes_percentage, 0)
        _at_least("scheduler.candidate_nodes_absolute", self.candidate_nodes_absolute, 1)
        _at_least("scheduler.backoff_seconds", self.backoff_seconds, 0)
        _at_least("scheduler.backoff_max_seconds", self.backoff_max_seconds, self.backoff_seconds)
        _at_least("scheduler.flush_seconds", self.flush_seconds, 1)
        _at_least("scheduler.binds_per_second", self.binds_per_second, 0)
        _at_least("scheduler.bind_burst", self.bind_burst, 1)

    def weight(self, plugin: str) -> int:
        """Return the weight of a score plugin, 0 when it does not run."""
        return dict(self.scores).get(plugin, 0)

    def plugins(self) -> str:
        """Return which plugins run, in one line: for benchmarks and reports."""
        scored = ", ".join(f"{name} {weight}" for name, weight in self.scores)
        preempts = "on" if self.preemption else "off"
        return (
            f"filters: {', '.join(self.filters)}; scores: {scored} ({self.strategy}); "
            f"preemption {preempts}"
        )


def _require_known(field: str, value: str, names: tuple[str, ...]) -> None:
    if value not in names:
        raise ConfigError(field, value, f"choose from {', '.join(names)}")


def _at_least(field: str, value: float, least: float) -> None:
    if value < least:
        raise ConfigError(field, value, f"give at least {least:g}")
