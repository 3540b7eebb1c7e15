"""The status ConfigMap of Cluster Autoscaler (clusterstate/api/types.go, clusterstate/utils/status.go)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from twin.config.provisioning import NodeGroup
from twin.provisioners.cluster_autoscaler.groups import Readiness
from twin.timestamps import rfc3339

NAMESPACE, NAME = "kube-system", "cluster-autoscaler-status"
UPDATED = "cluster-autoscaler.kubernetes.io/last-updated"


@dataclass(frozen=True, slots=True)
class GroupState:
    """What is said about one group."""

    group: NodeGroup
    readiness: Readiness
    target: int
    growing: bool
    backed_off: bool
    candidates: int


@dataclass(frozen=True, slots=True)
class ClusterState:
    """What is said about the cluster."""

    healthy: bool
    scaling_up: str
    """InProgress, NoActivity or Needed."""
    groups: Sequence[GroupState]
    since: Mapping[str, float]
    """When each condition (such as `cluster.health`, `scaleUp/small`) became what it is."""


def status_text(state: ClusterState, now: float) -> str:
    """Return the status as YAML."""
    probe = rfc3339(now)
    total = _sum([entry.readiness for entry in state.groups])
    candidates = sum(entry.candidates for entry in state.groups)
    lines = [
        f'time: "{_stamp(now)}"',
        "autoscalerStatus: Running",
        "clusterWide:",
        "  health:",
        f"    status: {'Healthy' if state.healthy else 'Unhealthy'}",
        *_counts(total, "    "),
        f'    lastProbeTime: "{probe}"',
        "  scaleUp:",
        f"    status: {state.scaling_up}",
        f'    lastProbeTime: "{probe}"',
        "  scaleDown:",
        f"    status: {'CandidatesPresent' if candidates else 'NoCandidates'}",
        *([f"    candidates: {candidates}"] if candidates else []),
        f'    lastProbeTime: "{probe}"',
        "nodeGroups:",
    ]
    for entry in state.groups:
        lines += _group_lines(entry, probe)
    return "\n".join(lines) + "\n"


def _group_lines(entry: GroupState, probe: str) -> list[str]:
    up = "Backoff" if entry.backed_off else "InProgress" if entry.growing else "NoActivity"
    return [
        f"- name: {entry.group.name}",
        "  health:",
        "    status: Healthy",
        *_counts(entry.readiness, "    "),
        f"    cloudProviderTarget: {entry.target}",
        f"    minSize: {entry.group.least}",
        f"    maxSize: {entry.group.most}",
        f'    lastProbeTime: "{probe}"',
        "  scaleUp:",
        f"    status: {up}",
        f'    lastProbeTime: "{probe}"',
        "  scaleDown:",
        f"    status: {'CandidatesPresent' if entry.candidates else 'NoCandidates'}",
        *([f"    candidates: {entry.candidates}"] if entry.candidates else []),
        f'    lastProbeTime: "{probe}"',
    ]


def _counts(readiness: Readiness, indent: str) -> list[str]:
    lines = [
        "nodeCounts:",
        "  registered:",
        f"    total: {readiness.registered}",
        f"    ready: {readiness.ready}",
        f"    notStarted: {len(readiness.starting)}",
        "    suspended: 0",
        "    unready:",
        f"      total: {readiness.unready}",
        "      resourceUnready: 0",
        "  longUnregistered: 0",
        "  unregistered: 0",
    ]
    return [indent + line for line in lines]


def _sum(parts: Sequence[Readiness]) -> Readiness:
    return Readiness(
        sum(part.ready for part in parts),
        tuple(name for part in parts for name in part.starting),
        sum(part.unready for part in parts),
    )


def _stamp(now: float) -> str:
    """Return the time as the real status writes it (Go's default format of a time, in UTC)."""
    return datetime.fromtimestamp(int(now), UTC).strftime("%Y-%m-%d %H:%M:%S +0000 UTC")
