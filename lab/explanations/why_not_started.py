"""The answer to `explain pod|workload NAME --why-not start`: what it waits for, since when, who could change it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from lab.explanations.frozen_cluster import Object
from lab.explanations.job_waits import job_state, job_waits
from lab.explanations.pod_waits import ENDED, pod_state, pod_waits
from lab.explanations.waits import Surroundings, Wait
from lab.explanations.workload_waits import Workload, workload_state, workload_waits

MOST_GROUPS = 8
"""Groups of pods that wait for the same that are told one by one."""
ALWAYS_UNKNOWN = (
    "what is older than the cluster's Events, which it usually forgets after an hour",
    "ConfigMaps, Secrets and registries: they are not read, the kubelet's words are taken",
)
_RESTS_ON = {
    "events": "what kubelets and controllers say",
    "persistentvolumeclaims": "whether claims are bound",
    "nodes": "whether nodes report",
    "resourcequotas": "what quotas leave now",
}
_NUMBERS = re.compile(r"\d+(\.\d+)?(ms|s|m|h|d| s| min| h)?")


@dataclass(frozen=True, slots=True)
class PodGroup:
    """Pods that wait for the same."""

    pods: tuple[str, ...]
    wait: Wait
    """The first pod's; since when is the earliest of all."""


@dataclass(frozen=True, slots=True)
class WhyNotStarted:
    """What a pod or workload waits for."""

    object: str
    """Such as `pod shop/web-1` or `Deployment shop/web`."""
    as_of_seconds: float
    state: str
    waits: tuple[Wait, ...]
    """Its own, what comes first in its life first."""
    pods: tuple[PodGroup, ...]
    """What a workload's pods wait for, the largest group first."""
    unknown: tuple[str, ...]

    @property
    def waits_for_nothing(self) -> bool:
        """Say whether all that is wanted is there."""
        return not self.waits and not self.pods

    def as_json(self) -> dict[str, Any]:
        """Return it for `--json`."""
        return asdict(self)


def why_pod_not_started(
    pod: Object, around: Surroundings, missing: Iterable[str] = ()
) -> WhyNotStarted:
    """Answer for one pod.

    Args:
        pod: the pod.
        around: what was read beside it.
        missing: resources that could not be read.
    """
    name = f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
    return WhyNotStarted(
        f"pod {name}",
        around.now_seconds,
        pod_state(pod, around.now_seconds),
        pod_waits(pod, around),
        (),
        _unknown(missing),
    )


def why_workload_not_started(
    workload: Workload, around: Surroundings, missing: Iterable[str] = ()
) -> WhyNotStarted:
    """Answer for one Deployment, ReplicaSet, StatefulSet, DaemonSet or Job; see `why_pod_not_started`."""
    obj = workload.obj
    is_job = workload.kind == "Job"
    waits = job_waits(obj, workload.pods, around) if is_job else workload_waits(workload, around)
    living = [pod for pod in workload.pods if not is_job or _phase(pod) not in ENDED]
    return WhyNotStarted(
        f"{workload.kind} {obj['metadata']['namespace']}/{obj['metadata']['name']}",
        around.now_seconds,
        job_state(obj) if is_job else workload_state(workload),
        tuple(waits),
        tuple(_groups(living, around)),
        _unknown(missing),
    )


def _groups(pods: Sequence[Object], around: Surroundings) -> list[PodGroup]:
    """Return what pods wait for first, those that wait for the same together."""
    alike: dict[tuple[str, str], list[tuple[str, Wait]]] = {}
    for pod in pods:
        for wait in pod_waits(pod, around)[:1]:
            key = wait.step, _NUMBERS.sub("#", wait.text)
            alike.setdefault(key, []).append((pod["metadata"]["name"], wait))
    groups = [_group(found) for found in alike.values()]
    return sorted(groups, key=lambda group: -len(group.pods))


def _group(found: Sequence[tuple[str, Wait]]) -> PodGroup:
    since = [wait.since_seconds for _, wait in found if wait.since_seconds is not None]
    wait = replace(found[0][1], since_seconds=min(since, default=None))
    return PodGroup(tuple(sorted(name for name, _ in found)), wait)


def _unknown(missing: Iterable[str]) -> tuple[str, ...]:
    unread = (f"{_RESTS_ON[one]}: {one} could not be read" for one in missing if one in _RESTS_ON)
    return (*unread, *ALWAYS_UNKNOWN)


def _phase(pod: Object) -> str:
    return str((pod.get("status") or {}).get("phase") or "")
