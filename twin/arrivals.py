"""From workload arrivals to the objects a user would have created: Deployments and Jobs.

A service is a Deployment named after the arrival, removed at its end; a task is a Job. The first
pod has exactly the arrival's name, so that the pods of a trace appear by name; replacements get a
suffix. How the pods behave is written on them as annotations (`behaviour/pod_work.py`).
"""

from __future__ import annotations

from collections.abc import Iterator

from inputs.quantities import cpu_text
from twin.arrival_cursor import ArrivalCursor
from twin.behaviour.pod_work import (
    CPU_USAGE_RATIO,
    DEADLINE_SECONDS,
    ENDLESS_SECONDS,
    EXIT_CODES,
    MEMORY_USAGE_RATIO,
    OUTCOME,
    USAGE_WINDOWS,
    WORK_SECONDS,
)
from twin.behaviour.probes import READY_SECONDS
from twin.controllers.job import IGNORE_DISRUPTION
from twin.controllers.job_attempts import ATTEMPTS
from twin.controllers.pods_of import FIRST_NAME, START_NODES
from twin.copying import copy_object
from twin.errors import ApiError
from twin.intake import GPU
from twin.part import Kept, Part
from twin.records import Object, Record
from twin.request_settings import CPU_SECONDS, CV, TIMEOUT_SECONDS, TRAFFIC, WORKERS
from twin.workloads.arrival import WorkloadArrival, windows_text
from twin.workloads.attempts import read_attempts
from twin.workloads.autoscaler import read_autoscaler
from twin.world import World

APP = "app.kubernetes.io/name"

_MEMORY_HEADROOM = 1.25  # the memory limit over the request, or over the highest mean usage
_MAX_LABEL = 63
_TASK_RETRIES = 6


class Arrivals(Part):
    """Pulls arrivals one at a time and creates what they stand for."""

    KEEPS = ("refused", "_place")

    def __init__(self, world: World) -> None:
        self._world = world
        self._place: ArrivalCursor | None = None
        self.refused = 0  # arrivals whose name was still taken
        world.clock.handle("arrivals.next", self._arrive)
        world.clock.handle("arrivals.end", self._end)

    def load(self, source: Iterator[WorkloadArrival]) -> None:
        """Play `source` (in order of time) from now on instead of what was played before."""
        playing = self._place is not None
        self._place = ArrivalCursor.begin(iter(source))
        if self._place is not None and not playing:
            self._plan(self._place.arrival)

    def share(self, other: Arrivals) -> None:
        """Take the position of `other`; what both read is drawn once."""
        self._place = other._place

    def kept(self) -> Kept:
        """Return its position in the source; the source itself comes from the workload."""
        at = self._place
        here = None if at is None else (at.number, at.arrival.time_seconds, at.arrival.name)
        return {"refused": self.refused, "_place": here}

    def restore(self, kept: Kept) -> None:
        """Advance in the loaded source to the other's position.

        Raises ValueError when something else is there: it is not the same workload.
        """
        self.refused, here = kept["refused"], kept["_place"]
        while self._place is not None and (here is None or self._place.number < here[0]):
            self._place = self._place.after()
        if self.kept()["_place"] != here:
            raise ValueError(f"the workload has no arrival {here} at this place")

    def _plan(self, arrival: WorkloadArrival) -> None:
        self._world.clock.at(self._world.config.start_time + arrival.time_seconds, "arrivals.next")

    def _arrive(self) -> None:
        if self._place is None:
            return
        self.create(self._place.arrival)
        self._place = self._place.after()
        if self._place is not None:
            self._plan(self._place.arrival)

    def create(self, arrival: WorkloadArrival) -> None:
        """Let a workload arrive now; one that the API refuses is counted."""
        try:
            self._create(arrival)
        except ApiError:
            self.refused += 1

    def _create(self, arrival: WorkloadArrival) -> None:
        world = self._world
        if world.store.find("namespaces", "", arrival.namespace) is None:
            world.store.create("namespaces", "", {"metadata": {"name": arrival.namespace}})
        if arrival.priority:
            self._ensure_class(arrival.priority)
        needs_job = arrival.active_deadline_seconds is not None or arrival.attempts
        bare = world.config.bare_tasks and not needs_job
        if arrival.kind == "task" and bare:
            for pod in build_pods(arrival):
                node = pod["spec"].get("nodeName", "")
                if world.store.find("nodes", "", node) is None:
                    pod["spec"].pop("nodeName", None)  # gone since: left to the scheduler
                world.store.create_record("pods", arrival.namespace, pod, fresh=True)
            return
        if arrival.kind == "task":
            job = build_job(arrival, world.config.job_ttl_seconds)
            world.store.create_record("jobs", arrival.namespace, job, fresh=True)
            return
        made = world.store.create_record(
            "deployments", arrival.namespace, build_deployment(arrival)
        )
        if arrival.autoscaler:
            autoscaler = build_autoscaler(arrival, made)
            world.store.create_record("horizontalpodautoscalers", arrival.namespace, autoscaler)
        if arrival.traffic:
            service = build_service(arrival, made)
            world.store.create_record("services", arrival.namespace, service)
        if arrival.duration_seconds is not None:
            world.clock.after(
                arrival.duration_seconds, "arrivals.end", made.uid, made.namespace, made.name
            )

    def _ensure_class(self, priority: int) -> None:
        """Make the priority class of an arrival, as the cluster of the trace had one."""
        name = priority_class(priority)
        if self._world.store.find("priorityclasses", "", name) is None:
            entry = {"metadata": {"name": name}, "value": priority}
            self._world.store.create("priorityclasses", "", entry)

    def _end(self, uid: str, namespace: str, name: str) -> None:
        deployment = self._world.store.find("deployments", namespace, name)
        if deployment is not None and deployment.uid == uid:
            self._world.store.delete("deployments", namespace, name)


def priority_class(priority: int) -> str:
    """Return the name of the class that pods of an arrival's priority belong to."""
    return f"workload-{priority}" if priority >= 0 else f"workload-minus-{-priority}"


def build_deployment(arrival: WorkloadArrival) -> Object:
    """Return the Deployment of a service."""
    marker = {APP: _label(arrival.name)}
    return {
        "metadata": _metadata(arrival),
        "spec": {
            "replicas": arrival.replicas,
            "selector": {"matchLabels": marker},
            "template": _template(arrival, "Always"),
        },
    }


def build_service(arrival: WorkloadArrival, deployment: Record) -> Object:
    """Return the Service by which people reach the pods of a service; it goes with its Deployment."""
    numbers = (
        (CPU_SECONDS, arrival.request_cpu_seconds),
        (CV, arrival.request_cv),
        (TIMEOUT_SECONDS, arrival.request_timeout_seconds),
        (WORKERS, arrival.request_workers),
    )
    annotations = {
        TRAFFIC: arrival.traffic,
        **{name: f"{given:g}" for name, given in numbers if given},
    }
    return {
        "metadata": {
            "name": _label(arrival.name).replace(".", "-"),
            "labels": {APP: _label(arrival.name)},
            "annotations": annotations,
            "ownerReferences": [_owner(deployment)],
        },
        "spec": {
            "selector": {APP: _label(arrival.name)},
            "ports": [{"port": 80, "targetPort": 8080}],
        },
    }


def build_autoscaler(arrival: WorkloadArrival, deployment: Record) -> Object:
    """Return the HorizontalPodAutoscaler of a service; it goes with its Deployment."""
    row = read_autoscaler(arrival.autoscaler)
    wanted = {"type": "Utilization", "averageUtilization": row.cpu_percent}
    return {
        "metadata": {"name": deployment.name, "ownerReferences": [_owner(deployment)]},
        "spec": {
            "scaleTargetRef": {
                "apiVersion": "apps/v1",
                "kind": "Deployment",
                "name": deployment.name,
            },
            "minReplicas": row.least,
            "maxReplicas": row.most,
            "metrics": [{"type": "Resource", "resource": {"name": "cpu", "target": wanted}}],
        },
    }


def _owner(deployment: Record) -> Object:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "name": deployment.name,
        "uid": deployment.uid,
    }


def build_job(arrival: WorkloadArrival, ttl_seconds: int) -> Object:
    """Return the Job of a task; one that is to fail without `attempts` fails at once, without retries."""
    limit = arrival.active_deadline_seconds
    retries = 0 if arrival.outcome == "fail" else _TASK_RETRIES
    return {
        "metadata": _metadata(arrival),
        "spec": {
            **({} if limit is None else {"activeDeadlineSeconds": limit}),
            "parallelism": arrival.replicas,
            "completions": arrival.replicas,
            "podFailurePolicy": copy_object(IGNORE_DISRUPTION),
            **(_retried(arrival.attempts) if arrival.attempts else {"backoffLimit": retries}),
            "ttlSecondsAfterFinished": ttl_seconds,
            "template": _template(arrival, "Never"),
        },
    }


def _retried(attempts: str) -> Object:
    """Return how a Job whose pods have attempts is retried: each index by itself, until it gives up."""
    gives_up = {"operator": "In", "values": [EXIT_CODES["give up"]]}
    rules = [*IGNORE_DISRUPTION["rules"], {"action": "FailIndex", "onExitCodes": gives_up}]
    return {
        "completionMode": "Indexed",
        "backoffLimitPerIndex": max(1, max(map(len, read_attempts(attempts))) - 1),
        "podFailurePolicy": copy_object({"rules": rules}),
    }


def build_pods(arrival: WorkloadArrival) -> Iterator[Object]:
    """Yield the pods of a task without a Job; the first has the arrival's name."""
    template = _template(arrival, "Never")
    for index in range(arrival.replicas):
        name = arrival.name if index == 0 else f"{arrival.name}-{index}"
        spec = dict(template["spec"])
        if index < len(arrival.start_nodes):
            spec["nodeName"] = arrival.start_nodes[index]
        yield {"metadata": {"name": name, **template["metadata"]}, "spec": spec}


def _metadata(arrival: WorkloadArrival) -> Object:
    annotations = {FIRST_NAME: arrival.name}
    if arrival.start_nodes:
        annotations[START_NODES] = " ".join(arrival.start_nodes)
    if arrival.attempts:
        annotations[ATTEMPTS] = arrival.attempts
    return {
        "name": arrival.name,
        "labels": {**arrival.labels, APP: _label(arrival.name)},
        "annotations": annotations,
    }


def _template(arrival: WorkloadArrival, restart_policy: str) -> Object:
    annotations = {
        CPU_USAGE_RATIO: f"{arrival.cpu_usage_ratio:.6g}",
        MEMORY_USAGE_RATIO: f"{arrival.memory_usage_ratio:.6g}",
    }
    if arrival.usage_windows:
        annotations[USAGE_WINDOWS] = windows_text(arrival.usage_windows)
    if arrival.kind == "task":
        ends = arrival.duration_seconds is not None
        work = arrival.duration_seconds if ends else ENDLESS_SECONDS
        annotations[WORK_SECONDS] = f"{work:.6f}"
        annotations[OUTCOME] = "fail" if arrival.outcome == "fail" else "succeed"
        if arrival.late_after_seconds is not None:
            annotations[DEADLINE_SECONDS] = f"{arrival.late_after_seconds:.6g}"
    spec: Object = {
        "restartPolicy": restart_policy,
        "containers": [
            {
                "name": arrival.kind,
                "image": f"workload.foresail.dev/{arrival.kind}:1",
                "resources": _resources(arrival),
            }
        ],
    }
    if arrival.ready_seconds is not None:
        annotations[READY_SECONDS] = f"{arrival.ready_seconds:g}"
        spec["containers"][0]["readinessProbe"] = {"httpGet": {"path": "/ready", "port": 8080}}
    if arrival.priority:
        spec["priorityClassName"] = priority_class(arrival.priority)
    labels = {**arrival.labels, APP: _label(arrival.name)}
    return {"metadata": {"labels": labels, "annotations": annotations}, "spec": spec}


def _resources(arrival: WorkloadArrival) -> Object:
    requests: dict[str, str] = {}
    limits: dict[str, str] = {}
    if arrival.cpu_request_millicores:
        requests["cpu"] = cpu_text(arrival.cpu_request_millicores)
    if arrival.memory_request_bytes:
        requests["memory"] = str(arrival.memory_request_bytes)
        most = max((window.memory_ratio for window in arrival.usage_windows), default=0.0)
        headroom = _MEMORY_HEADROOM * max(1.0, arrival.memory_usage_ratio, most)
        limits["memory"] = str(int(arrival.memory_request_bytes * headroom))
    if arrival.gpus:
        requests[GPU] = limits[GPU] = str(arrival.gpus)
    return {"requests": requests, "limits": limits}


def _label(name: str) -> str:
    return name[:_MAX_LABEL].rstrip("-._")
