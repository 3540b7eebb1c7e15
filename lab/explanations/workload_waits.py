"""What a Deployment, ReplicaSet, StatefulSet or DaemonSet waits for, besides its pods.

After the controllers of kubernetes/kubernetes pkg/controller (deployment, statefulset, daemon), 1.36.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lab.explanations.frozen_cluster import Object
from lab.explanations.pod_waits import ENDED
from lab.explanations.refused_pods import refusals
from lab.explanations.waits import Surroundings, Wait, Words, changed_seconds, condition, set_by
from projections.figures import duration
from schemas.wording import count_text

REVISION = "deployment.kubernetes.io/revision"
REVISION_HASH = "controller-revision-hash"
_ORDINAL = re.compile(r"-(\d+)$")


@dataclass(frozen=True, slots=True)
class Workload:
    """A controller with what belongs to it."""

    obj: Object
    """With its `kind`."""
    pods: Sequence[Object]
    replica_sets: Sequence[Object] = ()
    """Those of a Deployment, each with its `kind`."""

    @property
    def kind(self) -> str:
        """Its kind."""
        return str(self.obj["kind"])

    @property
    def newest_set(self) -> Object | None:
        """Return the ReplicaSet of a Deployment's newest template."""

        def revision(one: Object) -> int:
            return int((one["metadata"].get("annotations") or {}).get(REVISION) or 0)

        return max(self.replica_sets, key=revision, default=None)


def workload_waits(workload: Workload, around: Surroundings) -> Iterator[Wait]:
    """Yield what the controller itself waits for, or is told not to do."""
    obj, spec = workload.obj, workload.obj["spec"]
    status = obj.get("status") or {}
    if int(status.get("observedGeneration") or 0) < int(obj["metadata"].get("generation") or 0):
        yield Wait(
            "controller",
            f"its controller has not looked at its newest spec (generation {obj['metadata']['generation']})",
            who="the controller manager, if it runs",
        )
    if spec.get("replicas") == 0:
        who = set_by(obj, ("f:spec", "f:replicas"))
        yield Wait("replicas", "it wants no pods: replicas is 0", who=f"replicas of {who}")
        return
    match workload.kind:
        case "Deployment":
            yield from _deployment(workload, around)
        case "StatefulSet":
            yield from _stateful_set(workload, around)
        case "DaemonSet":
            yield from _daemon_set(workload, around)
        case _:
            if int(status.get("replicas") or 0) < int(spec.get("replicas", 1)):
                yield from refusals(obj, around)


def workload_state(workload: Workload) -> str:
    """Return how many of its pods are there, in a few words."""
    status, spec = workload.obj.get("status") or {}, workload.obj["spec"]
    if workload.kind == "DaemonSet":
        wanted = int(status.get("desiredNumberScheduled") or 0)
        ready, updated = status.get("numberReady"), status.get("updatedNumberScheduled")
    else:
        wanted = int(spec.get("replicas", 1))
        ready, updated = status.get("readyReplicas"), status.get("updatedReplicas")
    newest = (
        ""
        if workload.kind == "ReplicaSet"
        else f", {int(updated or 0)} of them of the newest template"
    )
    made = len([pod for pod in workload.pods if _phase(pod) not in ENDED])
    return f"{int(ready or 0)} of {count_text(wanted, 'pod')} ready, {made} there{newest}"


def _deployment(workload: Workload, around: Surroundings) -> Iterator[Wait]:
    obj, spec = workload.obj, workload.obj["spec"]
    if spec.get("paused"):
        who = set_by(obj, ("f:spec", "f:paused"))
        since = changed_seconds(condition(obj, "Progressing"))
        text = "it is paused: a changed template is not rolled out"
        yield Wait("paused", text, since, who=f"`kubectl rollout resume`; {who}")
    newest = workload.newest_set
    progressing = condition(obj, "Progressing")
    if progressing is not None and progressing["status"] == "False":
        words = Words(str(progressing.get("message") or ""))
        text = (
            "its rollout has made no progress within its deadline; nothing is rolled back by itself"
        )
        who = "`kubectl rollout undo`, or what its new pods wait for"
        yield Wait("rollout", text, changed_seconds(progressing), who=who, words=words)
    if newest is None:
        return
    made = int((newest.get("status") or {}).get("replicas") or 0)
    if made < int(newest["spec"].get("replicas") or 0):
        yield from refusals(newest, around)
    yield from _between(workload, newest)
    yield from _not_long_enough(workload, around)


def _between(workload: Workload, newest: Object) -> Iterator[Wait]:
    """Yield what holds the next step of a rolling update: the bounds on both sides."""
    spec, wanted = workload.obj["spec"], int(workload.obj["spec"].get("replicas", 1))
    old = sum(
        int((one.get("status") or {}).get("replicas") or 0)
        for one in workload.replica_sets
        if one is not newest
    )
    strategy = spec.get("strategy") or {}
    if not old or spec.get("paused"):
        return
    who = set_by(workload.obj, ("f:spec", "f:strategy"))
    if strategy.get("type") == "Recreate":
        text = f"new pods come when {count_text(old, 'old pod is', 'old pods are')} gone (Recreate)"
        yield Wait("rollout", text, who=f"the old pods' end, or the strategy of {who}")
        return
    rolling = strategy.get("rollingUpdate") or {}
    surge = share_of(rolling.get("maxSurge", "25%"), wanted, up=True)
    away = share_of(rolling.get("maxUnavailable", "25%"), wanted, up=False)
    if not surge and not away:
        away = 1
    status = workload.obj.get("status") or {}
    there, available = int(status.get("replicas") or 0), int(status.get("availableReplicas") or 0)
    new_wanted = int(newest["spec"].get("replicas") or 0)
    if new_wanted < wanted and there >= wanted + surge:
        text = (
            f"another new pod may come when an old one goes: {there} pods of at most {wanted + surge} "
            f"({wanted} and maxSurge {surge})"
        )
        yield Wait("rollout", text, who=f"the strategy of {who}")
    if available <= wanted - away:
        text = (
            f"an old pod may go when a new one is available: {available} available of at least {wanted - away} "
            f"({wanted} less maxUnavailable {away})"
        )
        yield Wait("rollout", text, who=f"the new pods, or the strategy of {who}")


def share_of(amount: int | str, of: int, *, up: bool) -> int:
    """Return an int-or-percent of a number of pods, rounded up or down as the Deployment controller does."""
    if isinstance(amount, int) or not amount.endswith("%"):
        return int(amount)
    percent = int(amount[:-1])
    return -(-percent * of // 100) if up else percent * of // 100


def _not_long_enough(workload: Workload, around: Surroundings) -> Iterator[Wait]:
    """Yield the pods that are ready, but not for minReadySeconds."""
    least = float(workload.obj["spec"].get("minReadySeconds") or 0)
    young = []
    for pod in workload.pods:
        ready = condition(pod, "Ready")
        since = changed_seconds(ready)
        if ready is None or ready["status"] != "True" or since is None:
            continue
        if since + least > around.now_seconds:
            young.append(since)
    if young:
        one = count_text(len(young), "pod is", "pods are")
        text = f"{one} ready, and counts as available after {duration(least)}"
        who = set_by(workload.obj, ("f:spec", "f:minReadySeconds"))
        yield Wait("rollout", text, min(young), max(young) + least, f"minReadySeconds of {who}")


def _stateful_set(workload: Workload, around: Surroundings) -> Iterator[Wait]:
    obj, spec = workload.obj, workload.obj["spec"]
    if len(workload.pods) < int(spec.get("replicas", 1)):
        yield from refusals(obj, around)
    strategy = spec.get("updateStrategy") or {}
    update = (obj.get("status") or {}).get("updateRevision")
    old = [pod for pod in workload.pods if _labels(pod).get(REVISION_HASH) != update]
    partition = int((strategy.get("rollingUpdate") or {}).get("partition") or 0)
    kept = [pod for pod in old if _ordinal(pod) < partition]
    if old and strategy.get("type") == "OnDelete":
        text = f"{count_text(len(old), 'pod keeps', 'pods keep')} the old template until deleted (OnDelete)"
        yield Wait("rollout", text, who="whoever deletes them")
    elif kept:
        who = set_by(obj, ("f:spec", "f:updateStrategy"))
        text = f"{count_text(len(kept), 'pod keeps', 'pods keep')} the old template: partition {partition}"
        yield Wait("rollout", text, who=f"the partition of {who}")
    if spec.get("podManagementPolicy", "OrderedReady") != "OrderedReady":
        return
    waiting = sorted((pod for pod in workload.pods if not _ready(pod)), key=_ordinal)
    if waiting and len(workload.pods) < int(spec.get("replicas", 1)):
        name = waiting[0]["metadata"]["name"]
        text = f"its pods come one after the other, and the next waits until {name} is ready"
        who = f"pod {name}; Parallel as podManagementPolicy of a new StatefulSet would not wait"
        yield Wait("order", text, who=who)


def _daemon_set(workload: Workload, around: Surroundings) -> Iterator[Wait]:
    obj, status = workload.obj, workload.obj.get("status") or {}
    wanted = int(status.get("desiredNumberScheduled") or 0)
    if int(status.get("currentNumberScheduled") or 0) < wanted:
        yield from refusals(obj, around)
    if not int(status.get("desiredNumberScheduled") or 0):
        yield Wait(
            "node",
            "no node is one of its own: its selector, affinity and tolerations match none",
            who="the labels and taints of nodes, or its template",
        )
    updated = int(status.get("updatedNumberScheduled") or 0)
    if updated < wanted and (obj["spec"].get("updateStrategy") or {}).get("type") == "OnDelete":
        left = count_text(wanted - updated, "pod keeps", "pods keep")
        text = f"{left} the old template until deleted (OnDelete)"
        yield Wait("rollout", text, who="whoever deletes them")


def _ready(pod: Object) -> bool:
    return (condition(pod, "Ready") or {}).get("status") == "True"


def _labels(pod: Object) -> Object:
    return pod["metadata"].get("labels") or {}


def _ordinal(pod: Object) -> int:
    found = _ORDINAL.search(pod["metadata"]["name"])
    return 0 if found is None else int(found[1])


def _phase(pod: Object) -> str:
    return str((pod.get("status") or {}).get("phase") or "")
