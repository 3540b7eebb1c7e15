"""Which pods keep a node, and which of them would have to move.

The rules in upstream's order, the first that decides speaks
(simulator/drainability/rules/rules.go; FAQ.md, What types of pods can prevent CA from removing a node).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from twin.config.provisioning import ClusterAutoscalerConfig
from twin.provisioners.client import controller_of, is_daemon
from twin.records import ObjectRecord, PodRecord

SAFE_TO_EVICT = "cluster-autoscaler.kubernetes.io/safe-to-evict"
SAFE_VOLUMES = "cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes"
_REPLICATED = ("ReplicationController", "Job", "ReplicaSet", "StatefulSet")
_LONG_TERMINATING_SECONDS = 30.0  # utils/drain/drain.go PodLongTerminatingExtraThreshold


class Blocked(Exception):
    """A pod keeps its node, with the reason."""

    def __init__(self, pod: PodRecord, reason: str) -> None:
        super().__init__(f"{pod.namespace}/{pod.name}: {reason}")
        self.pod = pod
        self.reason = reason


def pods_to_move(
    pods: Iterable[PodRecord],
    budgets: Mapping[str, Sequence[ObjectRecord]],
    config: ClusterAutoscalerConfig,
    now: float,
) -> list[PodRecord]:
    """Return the pods that a removal of their node would evict, apart from those of DaemonSets.

    `budgets`: the PodDisruptionBudgets of each pod, by uid. Raises Blocked.
    """
    moving = []
    for pod in pods:
        if _is_leaving_for_long(pod, now) or is_daemon(pod) or _is_over(pod):
            continue
        if pod.annotations.get(SAFE_TO_EVICT) != "true":
            _check(pod, budgets.get(pod.uid, ()), config, now)
        moving.append(pod)
    return moving


def _check(
    pod: PodRecord, budgets: Sequence[ObjectRecord], config: ClusterAutoscalerConfig, now: float
) -> None:
    owner = controller_of(pod)
    if owner is None or owner["kind"] not in _REPLICATED:
        raise Blocked(pod, "is not replicated")
    old = now > pod.created_at + config.system_pod_seconds
    if pod.namespace == "kube-system" and not budgets and not old:
        raise Blocked(pod, "non-daemonset, non-mirrored, non-pdb-assigned kube-system pod present")
    if pod.annotations.get(SAFE_TO_EVICT) == "false":
        raise Blocked(pod, "pod annotated as not safe to evict present")
    if _holds_local_storage(pod):
        raise Blocked(pod, "pod with local storage present")
    if any(_allowed(budget) < 1 for budget in budgets):
        raise Blocked(pod, "not enough pod disruption budget to move")


def _allowed(budget: ObjectRecord) -> int:
    return int((budget.body.get("status") or {}).get("disruptionsAllowed", 0))


def _holds_local_storage(pod: PodRecord) -> bool:
    safe = set(filter(None, pod.annotations.get(SAFE_VOLUMES, "").split(",")))
    return any(
        ("hostPath" in volume or _on_disk(volume.get("emptyDir")))
        and volume.get("name") not in safe
        for volume in pod.shape.spec.get("volumes") or ()
    )


def _on_disk(empty_dir: object) -> bool:
    return isinstance(empty_dir, dict) and empty_dir.get("medium") != "Memory"


def _is_over(pod: PodRecord) -> bool:
    return pod.phase == "Failed" or (
        pod.phase == "Succeeded" and pod.shape.restart_policy in ("Never", "OnFailure")
    )


def _is_leaving_for_long(pod: PodRecord, now: float) -> bool:
    if pod.deletion_at is None:
        return False
    begun = pod.deletion_at - (pod.deletion_grace_seconds or 0)
    return begun + pod.shape.grace_seconds + _LONG_TERMINATING_SECONDS < now
