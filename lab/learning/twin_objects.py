"""A twin's machine, its queue with a stream's quota, and its Jobs."""

from __future__ import annotations

from math import inf
from typing import Literal

from lab.learning.jobs import Amounts, Job, JobStream, Outcome
from twin.port.engine import Engine
from twin.port.objects import (
    API_VERSION,
    CLUSTER_QUEUES,
    FLAVORS,
    LOCAL_QUEUES,
    QUEUE_LABEL,
    WORK_SECONDS,
    Object,
    texts,
)
from twin.port.workloads import NodeShape

Strategy = Literal["StrictFIFO", "BestEffortFIFO"]
QUEUE, FLAVOR, NAMESPACE, GPU = "cluster", "machines", "default", "nvidia.com/gpu"
CLASSES, CLASS_LABEL = "workloadpriorityclasses.kueue.x-k8s.io", "kueue.x-k8s.io/priority-class"
USAGE = {"foresail.dev/cpu-usage-ratio": "0.5", "foresail.dev/memory-usage-ratio": "0.5"}
SETTLING_SECONDS = 2.0
"""From the start, until Kueue's kinds are served and its queue is active."""
ROOM = 2
"""Machines have so many times the quota, so that it is quota alone that decides."""


def prepare_queue(engine: Engine, stream: JobStream, strategy: Strategy, *, held: bool) -> None:
    """Make a machine with room for all, a queue with the stream's quota, and its priorities."""
    quota = stream.quota
    engine.add_nodes(
        [
            NodeShape(
                "machine",
                ROOM * quota.cpu_millicores,
                ROOM * quota.memory_bytes,
                ROOM * quota.gpus,
                {},
            )
        ]
    )
    engine.advance(engine.now + SETTLING_SECONDS)

    def make(resource: str, namespace: str, kind: str, name: str, fields: Object) -> None:
        obj = {"apiVersion": API_VERSION, "kind": kind, "metadata": {"name": name}, **fields}
        engine.store.create(resource, namespace, obj)

    make(FLAVORS, "", "ResourceFlavor", FLAVOR, {"spec": {}})
    rows = [{"name": name, "nominalQuota": text} for name, text in _texts(quota).items()]
    group = {
        "coveredResources": [row["name"] for row in rows],
        "flavors": [{"name": FLAVOR, "resources": rows}],
    }
    spec: Object = {
        "namespaceSelector": {},
        "queueingStrategy": strategy,
        "resourceGroups": [group],
    }
    make(
        CLUSTER_QUEUES,
        "",
        "ClusterQueue",
        QUEUE,
        {"spec": spec | ({"stopPolicy": "Hold"} if held else {})},
    )
    make(LOCAL_QUEUES, NAMESPACE, "LocalQueue", QUEUE, {"spec": {"clusterQueue": QUEUE}})
    for priority in sorted({job.priority for job in stream.jobs}):
        make(CLASSES, "", "WorkloadPriorityClass", f"p{priority}", {"value": priority})
    engine.advance(engine.now + SETTLING_SECONDS)


def job_object(job: Job, index: int, overhead: float) -> Object:
    """Return the Job: one pod with all that the job requests."""
    work = max(0.001, job.true_seconds - overhead)
    notes = {**USAGE, WORK_SECONDS: f"{work:.6f}"}
    notes["foresail.dev/outcome"] = "succeed" if job.outcome is Outcome.SUCCEEDED else "fail"
    requests = {k: v for k, v in _texts(job.requests).items() if v != "0"}
    resources: Object = {"requests": requests}
    if job.requests.gpus:
        resources["limits"] = {GPU: str(job.requests.gpus)}
    container = {"name": "work", "image": "workload.foresail.dev/task:1", "resources": resources}
    spec: Object = {
        "suspend": True,
        "parallelism": 1,
        "completions": 1,
        "backoffLimit": 0,
        "template": {
            "metadata": {"annotations": notes},
            "spec": {"restartPolicy": "Never", "containers": [container]},
        },
    }
    if job.deadline_seconds != inf:
        spec["activeDeadlineSeconds"] = max(1, round(job.deadline_seconds))
    labels = {QUEUE_LABEL: QUEUE, CLASS_LABEL: f"p{job.priority}"}
    return {"metadata": {"name": job_name(index), "labels": labels}, "spec": spec}


def _texts(amounts: Amounts) -> dict[str, str]:
    """Return amounts as Kubernetes writes them; GPUs only where there are some."""
    return texts(
        {
            "cpu": amounts.cpu_millicores,
            "memory": amounts.memory_bytes,
            **({GPU: amounts.gpus} if amounts.gpus else {}),
        }
    )


def job_name(index: int) -> str:
    """Return the name of a job's Job; names sort as indices do."""
    return f"job-{index:06d}"


def index_of_job(name: str) -> int:
    """Return the index of the job that a Job plays."""
    return int(name.removeprefix("job-"))
