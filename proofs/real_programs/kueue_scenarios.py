"""What Kueue has to decide, by its own controller manager or the twin's own queues: ten scenarios.

Each takes a ClusterQueue of one flavor and a LocalQueue of the same name, unless it says otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from proofs.real_programs.cluster import Cluster
from proofs.real_programs.requests import Api, Object, Refused, always, until

VERSION = "kueue.x-k8s.io/v1beta2"
OBJECTS = f"/apis/{VERSION}"
QUEUES, FLAVORS = f"{OBJECTS}/clusterqueues", f"{OBJECTS}/resourceflavors"
COHORTS, CHECKS = f"{OBJECTS}/cohorts", f"{OBJECTS}/admissionchecks"
CLASSES = f"{OBJECTS}/workloadpriorityclasses"
LOCAL_QUEUES = f"{OBJECTS}/namespaces/default/localqueues"
WORKLOADS = f"{OBJECTS}/namespaces/default/workloads"
JOBS = "/apis/batch/v1/namespaces/default/jobs"
LONG_SECONDS = 3_600
STAYS_SECONDS = 5.0
"""So long nothing may happen where nothing should."""


# ---- what a user makes


def add_flavor(cluster: Cluster, name: str = "f", **spec: Any) -> None:
    """Create a ResourceFlavor."""
    cluster.api.ask("POST", FLAVORS, {**_head("ResourceFlavor", name), "spec": spec})


def add_queue(
    cluster: Cluster, name: str = "cq", cpus: Sequence[tuple[str, int]] = (("f", 1),), **spec: Any
) -> None:
    """Create a ClusterQueue with so many CPUs of each flavor, and a LocalQueue of its name."""
    flavors = [
        {"name": flavor, "resources": [{"name": "cpu", "nominalQuota": count}]}
        for flavor, count in cpus
    ]
    groups = [{"coveredResources": ["cpu"], "flavors": flavors}]
    whole = {"namespaceSelector": {}, "resourceGroups": groups, **spec}
    cluster.api.ask("POST", QUEUES, {**_head("ClusterQueue", name), "spec": whole})
    body = {**_head("LocalQueue", name), "spec": {"clusterQueue": name}}
    cluster.api.ask("POST", LOCAL_QUEUES, body)


def add_class(cluster: Cluster, name: str, value: int) -> None:
    """Create a WorkloadPriorityClass."""
    cluster.api.ask("POST", CLASSES, {**_head("WorkloadPriorityClass", name), "value": value})


def submit(
    cluster: Cluster, name: str, queue: str = "cq", seconds: int = LONG_SECONDS, priority: str = ""
) -> None:
    """Create a Job of one pod with one CPU; asked again while nobody answers for its webhook."""
    until(f"{name} to be taken", lambda: _made(cluster.api, name, queue, seconds, priority))


def _head(kind: str, name: str) -> Object:
    return {"apiVersion": VERSION, "kind": kind, "metadata": {"name": name}}


def _made(api: Api, name: str, queue: str, seconds: int, priority: str) -> bool:
    container = {"name": "c", "image": "work:1", "resources": {"requests": {"cpu": "1"}}}
    template: Object = {"spec": {"containers": [container], "restartPolicy": "Never"}}
    template["metadata"] = {"annotations": {"foresail.dev/work-seconds": str(seconds)}}
    labels = {"kueue.x-k8s.io/queue-name": queue}
    if priority:
        labels["kueue.x-k8s.io/priority-class"] = priority
    spec = {"parallelism": 1, "completions": 1, "suspend": True, "template": template}
    try:
        api.ask("POST", JOBS, {"metadata": {"name": name, "labels": labels}, "spec": spec})
    except Refused as refusal:
        if refusal.status < 500:
            raise
        return False
    return True


# ---- what is seen


def running(cluster: Cluster) -> set[str]:
    """Return the names of the Jobs that are not suspended."""
    jobs = cluster.api.items(JOBS)
    living = [one for one in jobs if "deletionTimestamp" not in one["metadata"]]
    return {str(one["metadata"]["name"]) for one in living if not one["spec"].get("suspend")}


def workload(cluster: Cluster, job: str) -> Object:
    """Return the Workload of a Job; waits for it."""

    def owned() -> list[Object]:
        return [
            one
            for one in cluster.api.items(WORKLOADS)
            if any(owner["name"] == job for owner in one["metadata"].get("ownerReferences", ()))
        ]

    found: Object = until(f"the Workload of {job}", owned)[0]
    return found


def condition(cluster: Cluster, job: str, kind: str) -> str:
    """Return a condition of a Job's Workload as "status reason"; empty where there is none."""
    rows = workload(cluster, job).get("status", {}).get("conditions", ())
    return next((f"{row['status']} {row['reason']}" for row in rows if row["type"] == kind), "")


def used_cpus(cluster: Cluster, queue: str = "cq") -> str:
    """Return the CPUs of the first flavor that a ClusterQueue has admitted."""
    usage = cluster.api.ask("GET", f"{QUEUES}/{queue}").get("status", {}).get("flavorsUsage", ())
    return next((str(row["total"]) for one in usage for row in one["resources"]), "")


def _until_running(cluster: Cluster, *names: str) -> None:
    until(f"{', '.join(names)} alone to run", lambda: running(cluster) == set(names), 90)


def _until_condition(cluster: Cluster, job: str, kind: str, said: str) -> None:
    until(f"{kind}: {said} of {job}", lambda: condition(cluster, job, kind) == said)


def _change(cluster: Cluster, path: str, **spec: Any) -> None:
    cluster.api.ask("PATCH", path, {"spec": spec})


# ---- scenarios


def finishes(cluster: Cluster) -> None:
    """A Job starts, its queue's quota is in use until it ends, and its Workload is Finished."""
    add_flavor(cluster)
    add_queue(cluster)
    submit(cluster, "short", seconds=6)
    until("its CPU in use", lambda: used_cpus(cluster) == "1")
    _until_condition(cluster, "short", "Finished", "True Succeeded")
    until("its CPU free", lambda: used_cpus(cluster) == "0")


def in_turn(cluster: Cluster) -> None:
    """Of three Jobs for one place each runs when the one before it is gone."""
    add_flavor(cluster)
    add_queue(cluster)
    names = {f"job-{number}" for number in range(3)}
    for name in sorted(names):
        submit(cluster, name)
    while names:
        (now,) = until("one that runs", lambda: running(cluster))
        names.remove(now)
        cluster.api.ask("DELETE", f"{JOBS}/{now}", propagationPolicy="Background")
        until("it to be gone", lambda gone=now: gone not in running(cluster))
    until("no workloads", lambda: not cluster.api.items(WORKLOADS))


def next_flavor(cluster: Cluster) -> None:
    """Who finds the first flavor used up takes the second one, and its pods its node labels."""
    for name in ("small", "large"):
        add_flavor(cluster, name, nodeLabels={"tier": name})
    add_queue(cluster, cpus=(("small", 1), ("large", 1)))
    for job, flavor in (("first", "small"), ("second", "large")):
        submit(cluster, job)
        until(f"{job} to start", lambda job=job: job in running(cluster))
        assignment = workload(cluster, job)["status"]["admission"]["podSetAssignments"][0]
        assert assignment["flavors"] == {"cpu": flavor}, assignment
        template = cluster.api.ask("GET", f"{JOBS}/{job}")["spec"]["template"]
        assert template["spec"]["nodeSelector"] == {"tier": flavor}, template


def by_priority(cluster: Cluster) -> None:
    """Of those that wait, the higher priority is admitted first."""
    add_flavor(cluster)
    add_queue(cluster)
    for name, value in (("low", 10), ("high", 100)):
        add_class(cluster, name, value)
    submit(cluster, "before")
    _until_running(cluster, "before")
    for name in ("low", "high"):
        submit(cluster, name, priority=name)
    for name in ("low", "high"):
        workload(cluster, name)
    cluster.api.ask("DELETE", f"{JOBS}/before", propagationPolicy="Background")
    _until_running(cluster, "high")


def preempts(cluster: Cluster) -> None:
    """A Job of higher priority takes the place of a lower one, which gets it back afterwards."""
    add_flavor(cluster)
    add_queue(cluster, preemption={"withinClusterQueue": "LowerPriority"})
    for name, value in (("low", 10), ("high", 100)):
        add_class(cluster, name, value)
    submit(cluster, "low", priority="low")
    _until_running(cluster, "low")
    submit(cluster, "high", priority="high")
    _until_running(cluster, "high")
    _until_condition(cluster, "low", "Evicted", "True Preempted")
    cluster.api.ask("DELETE", f"{JOBS}/high", propagationPolicy="Background")
    _until_running(cluster, "low")


def takes_back(cluster: Cluster) -> None:
    """A queue lends what it does not need to its cohort, and takes it back when it does."""
    add_flavor(cluster)
    add_queue(cluster, "owner", cohortName="team", preemption={"reclaimWithinCohort": "Any"})
    add_queue(cluster, "guest", cohortName="team")
    for name in ("guest-1", "guest-2"):
        submit(cluster, name, "guest")
    _until_running(cluster, "guest-1", "guest-2")
    submit(cluster, "own", "owner")
    until("the owner's Job to start", lambda: "own" in running(cluster), 90)
    until("one guest to wait", lambda: len(running(cluster)) == 2)
    cluster.api.ask("DELETE", f"{JOBS}/own", propagationPolicy="Background")
    _until_running(cluster, "guest-1", "guest-2")


def held(cluster: Cluster) -> None:
    """Hold lets run what runs and admits nothing new."""
    add_flavor(cluster)
    add_queue(cluster, cpus=(("f", 2),))
    submit(cluster, "before")
    _until_running(cluster, "before")
    _change(cluster, f"{QUEUES}/cq", stopPolicy="Hold")
    submit(cluster, "after")
    always("it alone runs", lambda: running(cluster) == {"before"}, STAYS_SECONDS)
    _change(cluster, f"{QUEUES}/cq", stopPolicy="None")
    _until_running(cluster, "before", "after")


def drained(cluster: Cluster) -> None:
    """HoldAndDrain stops what runs as well; afterwards it starts again."""
    add_flavor(cluster)
    add_queue(cluster)
    submit(cluster, "job")
    _until_running(cluster, "job")
    _change(cluster, f"{QUEUES}/cq", stopPolicy="HoldAndDrain")
    _until_running(cluster)
    _until_condition(cluster, "job", "Evicted", "True ClusterQueueStopped")
    _change(cluster, f"{QUEUES}/cq", stopPolicy="None")
    _until_running(cluster, "job")


def checked(cluster: Cluster) -> None:
    """A Job with quota waits until its admission check's controller, a client of ours, says Ready."""
    add_flavor(cluster)
    spec = {"controllerName": "test.example.com/checker"}
    cluster.api.ask("POST", CHECKS, {**_head("AdmissionCheck", "check"), "spec": spec})
    moment = "2026-01-01T00:00:00Z"
    active = {"type": "Active", "status": "True", "reason": "Active", "message": "ready",
              "lastTransitionTime": moment}  # fmt: skip
    cluster.api.ask("PATCH", f"{CHECKS}/check/status", {"status": {"conditions": [active]}})
    add_queue(cluster, admissionChecksStrategy={"admissionChecks": [{"name": "check"}]})
    submit(cluster, "job")
    _until_condition(cluster, "job", "QuotaReserved", "True QuotaReserved")
    until("its check", lambda: workload(cluster, "job")["status"].get("admissionChecks"))
    always("it waits", lambda: running(cluster) == set(), STAYS_SECONDS)
    state = {"name": "check", "state": "Ready", "message": "go", "lastTransitionTime": moment}
    path = f"{WORKLOADS}/{workload(cluster, 'job')['metadata']['name']}/status"
    cluster.api.ask("PATCH", path, {"status": {"admissionChecks": [state]}})
    _until_running(cluster, "job")


def deactivated(cluster: Cluster) -> None:
    """A Workload that is not to be active stops its Job and frees the quota, until it may be again."""
    add_flavor(cluster)
    add_queue(cluster)
    submit(cluster, "job")
    _until_running(cluster, "job")
    path = f"{WORKLOADS}/{workload(cluster, 'job')['metadata']['name']}"
    _change(cluster, path, active=False)
    _until_condition(cluster, "job", "Evicted", "True Deactivated")
    until("its CPU free", lambda: used_cpus(cluster) == "0")
    _change(cluster, path, active=True)
    _until_running(cluster, "job")
    _until_condition(cluster, "job", "Requeued", "True Reactivated")


SCENARIOS: tuple[Callable[[Cluster], None], ...] = (
    finishes, in_turn, next_flavor, by_priority, preempts, takes_back, held, drained, checked, deactivated,
)  # fmt: skip


def clear(cluster: Cluster) -> None:
    """Take everything away that a scenario made."""
    api = cluster.api
    api.ask("DELETE", JOBS, propagationPolicy="Background")
    until("no workloads", lambda: not api.items(WORKLOADS), 120)
    paths = (LOCAL_QUEUES, QUEUES, COHORTS, CHECKS, CLASSES, FLAVORS)
    for path in paths:
        for one in api.items(path):
            api.remove(f"{path}/{one['metadata']['name']}")
    until("nothing left", lambda: not any(api.items(path) for path in paths), 60)
