"""Workloads whose pods nobody makes: a ResourceQuota refuses them, or Kueue has not admitted the Job.

Such pods do not exist, so no Pending pod tells of them. A Deployment has the refusal among its conditions
(`ReplicaFailure`, from its ReplicaSet); a Job of a queue of Kueue's is suspended until it is admitted.
"""

from __future__ import annotations

from collections.abc import Sequence

from schemas.held_back import MOST_HELD_BACK, HeldBack
from schemas.reasons import PendingClass
from services.kept_results import kept
from services.kube_workloads import Deployment, Job
from services.pending import QUEUE_NAME

EXCEEDED = "exceeded quota"
"""What the API server says where a ResourceQuota refuses a pod."""
MESSAGE_CHARACTERS = 240


def held_back(
    deployments: Sequence[Deployment], jobs: Sequence[Job], limit: int = MOST_HELD_BACK
) -> tuple[HeldBack, ...]:
    """Return the workloads that a quota or a queue holds back, by name."""
    found = (*map(_deployment, deployments), *map(_job, jobs))
    held = sorted((one for one in found if one is not None), key=lambda one: one.workload)
    return tuple(held[:limit])


@kept
def _deployment(item: Deployment) -> HeldBack | None:
    lacking = item.spec.replicas - item.status.replicas
    failure = next(
        (
            one.message
            for one in item.status.conditions
            if one.type == "ReplicaFailure" and one.status == "True" and EXCEEDED in one.message
        ),
        None,
    )
    if failure is None or lacking <= 0:
        return None
    return HeldBack(
        workload=f"{item.metadata.namespace}/Deployment/{item.metadata.name}",
        pending_class=PendingClass.QUOTA,
        pods=lacking,
        message=failure[:MESSAGE_CHARACTERS],
    )


@kept
def _job(item: Job) -> HeldBack | None:
    queue = item.metadata.labels.get(QUEUE_NAME)
    ended = any(one.status == "True" for one in item.status.conditions if one.type in _ENDS)
    if not queue or not item.spec.suspend or ended:
        return None
    return HeldBack(
        workload=f"{item.metadata.namespace}/Job/{item.metadata.name}",
        pending_class=PendingClass.KUEUE,
        pods=item.spec.parallelism,
    )


_ENDS = frozenset({"Complete", "Failed"})
