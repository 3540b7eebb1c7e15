"""Which pods a drain evicts, waits for, or must leave alone (pkg/utils/pod/scheduling.go)."""

from __future__ import annotations

from twin.provisioners.karpenter.names import DISRUPTED, DO_NOT_DISRUPT
from twin.provisioners.karpenter.pools import read_duration
from twin.records import PodRecord
from twin.scheduling.placement_rules import is_tolerated

_STUCK_SECONDS = 60.0  # IsStuckTerminating


def is_protected(pod: PodRecord, now: float) -> bool:
    """True while do-not-disrupt holds for a running pod: for good, or for a time after its start."""
    value = pod.annotations.get(DO_NOT_DISRUPT)
    if value is None or pod.terminal or pod.deletion_at is not None:
        return False
    if value == "true":
        return True
    seconds = read_duration(value)
    if not seconds:
        return False
    return pod.started_at is None or now < pod.started_at + seconds


def is_evictable(pod: PodRecord, now: float) -> bool:
    """True for a pod that a drain evicts (utils/pod/scheduling.go IsEvictable)."""
    return (
        not pod.terminal
        and pod.deletion_at is None
        and not is_tolerated(DISRUPTED, pod.shape.tolerations)
        and not is_protected(pod, now)
    )


def is_awaited(pod: PodRecord, now: float) -> bool:
    """True for a pod that a drain waits for (IsWaitingEviction)."""
    stuck = pod.deletion_at is not None and now - pod.deletion_at > _STUCK_SECONDS
    return not (pod.terminal or stuck or is_tolerated(DISRUPTED, pod.shape.tolerations))
