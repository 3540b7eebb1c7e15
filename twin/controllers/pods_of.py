"""Pods of an owner: finding them, making one from a template, and who goes first."""

from __future__ import annotations

from collections import Counter

from twin.errors import ApiError
from twin.kinds import KINDS
from twin.records import Object, ObjectRecord, PodRecord
from twin.world import World

FIRST_NAME = "foresail.dev/first-pod-name"
"""Annotation of an owner: the name of the first pod that is ever made for it."""
START_NODES = "foresail.dev/start-nodes"
"""Annotation of an owner: nodes that its first pods already run on, one name for each pod."""

DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
_COMPONENTS = {
    "replicasets": "replicaset-controller",
    "replicationcontrollers": "replication-controller",
    "deployments": "deployment-controller",
    "statefulsets": "statefulset-controller",
    "daemonsets": "daemonset-controller",
    "jobs": "job-controller",
    "cronjobs": "cronjob-controller",
    "poddisruptionbudgets": "controllermanager",
}


def owned_pods(world: World, owner_uid: str) -> list[PodRecord]:
    """Return the pods that `owner_uid` controls, in order of creation."""
    found = world.store.dependents.get(owner_uid, {})
    return [
        record
        for (resource, _), record in found.items()
        if resource == "pods" and isinstance(record, PodRecord)
    ]


def owner_reference(resource: str, owner: ObjectRecord) -> Object:
    """Return the reference by which `owner` controls what it makes."""
    kind = KINDS[resource]
    return {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "name": owner.name,
        "uid": owner.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }


def create_pod(
    world: World,
    resource: str,
    owner: ObjectRecord,
    *,
    first: bool = False,
    metadata: Object | None = None,
    spec: Object | None = None,
    stands_for: str = "",
) -> ApiError | None:
    """Create one pod from the owner's template; a refusal is returned, and told as a KubeEvent.

    `metadata` adds to the template's (labels and annotations are merged), `spec` replaces its spec.
    `stands_for` is a place under the owner that outlasts this pod, other than its name.
    """
    template = owner.body["spec"]["template"]
    head: Object = template.get("metadata") or {}
    given: Object = {"generateName": f"{owner.name}-", **(metadata or {})}
    for field in ("labels", "annotations"):
        given[field] = {**(head.get(field) or {}), **given.get(field, {})}
    given["ownerReferences"] = [owner_reference(resource, owner)]
    stands_for = stands_for or given.get("name") or given["generateName"]
    wanted = owner.annotations.get(FIRST_NAME)
    if first and wanted and world.store.find("pods", owner.namespace, wanted) is None:
        given["name"] = wanted
        given.pop("generateName")
    spec = template["spec"] if spec is None else spec
    if START_NODES in owner.annotations:
        spec = _on_start_node(world, resource, owner, spec)
    try:
        made = world.store.create_record(
            "pods", owner.namespace, {"metadata": given, "spec": spec}, stands_for=stands_for
        )
    except ApiError as error:
        if resource != "statefulsets":
            report(world, resource, owner, "FailedCreate", f"Error creating: {error.message}")
        return error
    if world.config.controllers.success_events and resource != "statefulsets":
        report(world, resource, owner, "SuccessfulCreate", f"Created pod: {made.name}")
    return None


def delete_pod(world: World, resource: str, owner: ObjectRecord, pod: PodRecord) -> None:
    """Delete one of the owner's pods, and tell it as a KubeEvent."""
    world.store.delete("pods", pod.namespace, pod.name)
    if world.config.controllers.success_events and resource != "statefulsets":
        report(world, resource, owner, "SuccessfulDelete", f"Deleted pod: {pod.name}")


def report(world: World, resource: str, owner: ObjectRecord, reason: str, text: str) -> None:
    """Write a KubeEvent about an object of a controller, in its name."""
    world.reporter.report(owner, KINDS[resource].kind, reason, text, _COMPONENTS[resource])


def _on_start_node(world: World, resource: str, owner: ObjectRecord, spec: Object) -> Object:
    """Take the next of the owner's start nodes; one that is gone leaves the pod to the scheduler."""
    name, _, rest = owner.annotations[START_NODES].partition(" ")
    kept = {key: value for key, value in owner.annotations.items() if key != START_NODES}
    before = owner.clone()
    owner.annotations = {**kept, START_NODES: rest} if rest else kept
    world.store.touch(resource, owner, before)
    return spec if world.store.find("nodes", "", name) is None else {**spec, "nodeName": name}


def by_least_loss(pods: list[PodRecord]) -> list[PodRecord]:
    """Return pods in the order in which a ReplicaSet gives them up.

    Source: kubernetes/kubernetes pkg/controller/controller_utils.go ActivePodsWithRanks.
    """
    beside = Counter(pod.node_name for pod in pods)

    def loss(pod: PodRecord) -> tuple[bool, bool, bool, int, int, float, int, float, str]:
        return (
            bool(pod.node_name),
            pod.phase == "Running",
            pod.ready,
            _deletion_cost(pod),
            -beside[pod.node_name] if pod.node_name else 0,
            -pod.ready_at if pod.ready else 0.0,
            -pod.restart_count,
            -pod.created_at,
            pod.name,
        )

    return sorted(pods, key=loss)


def available_pods(pods: list[PodRecord], least_seconds: float, now: float) -> int:
    """Count pods that have been ready for at least `least_seconds` (spec.minReadySeconds)."""
    return sum(pod.ready and now >= pod.ready_at + least_seconds for pod in pods)


def first_availability(pods: list[PodRecord], least_seconds: float, now: float) -> float | None:
    """Return in how many seconds the next ready pod becomes available, None when none will."""
    waits = [pod.ready_at + least_seconds - now for pod in pods if pod.ready]
    return min((wait for wait in waits if wait > 0.0), default=None)


def _deletion_cost(pod: PodRecord) -> int:
    text = pod.annotations.get(DELETION_COST, "0") if pod.annotations else "0"
    try:
        return int(text)
    except ValueError:
        return 0


def set_status(world: World, resource: str, record: ObjectRecord, status: Object) -> None:
    """Write the status of an object when it differs."""
    if record.body.get("status") != status:
        before = record.clone()
        record.body = {**record.body, "status": status}
        world.store.touch(resource, record, before)


def set_spec(world: World, resource: str, record: ObjectRecord, **fields: object) -> None:
    """Write fields of the spec of an object when they differ."""
    spec = {**record.body["spec"], **fields}
    if spec != record.body["spec"]:
        before = record.clone()
        record.body = {**record.body, "spec": spec}
        record.generation += 1
        world.store.touch(resource, record, before)
