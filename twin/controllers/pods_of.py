"""Pods of an owner: finding them, making one from a template, and who goes first."""

from __future__ import annotations

from twin.errors import ApiError
from twin.kinds import KINDS
from twin.records import Object, ObjectRecord, PodRecord
from twin.world import World

FIRST_NAME = "foresail.dev/first-pod-name"
"""Annotation of an owner: the name of the first pod that is ever made for it."""


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


def create_pod(world: World, resource: str, owner: ObjectRecord, *, first: bool) -> bool:
    """Create one pod from the owner's template; False (and a KubeEvent) when it is refused."""
    template = owner.body["spec"]["template"]
    head = template.get("metadata") or {}
    metadata: Object = {
        "generateName": f"{owner.name}-",
        "labels": head.get("labels") or {},
        "annotations": head.get("annotations") or {},
        "ownerReferences": [owner_reference(resource, owner)],
    }
    wanted = owner.annotations.get(FIRST_NAME)
    if first and wanted and world.store.find("pods", owner.namespace, wanted) is None:
        metadata["name"] = wanted
        del metadata["generateName"]
    try:
        world.store.create_record(
            "pods", owner.namespace, {"metadata": metadata, "spec": template["spec"]}
        )
    except ApiError as error:
        kind = KINDS[resource].kind
        text = f"Error creating: {error.message}"
        world.reporter.report(owner, kind, "FailedCreate", text, "controller-manager")
        return False
    return True


def by_least_loss(pods: list[PodRecord]) -> list[PodRecord]:
    """Return pods in the order in which a ReplicaSet gives them up."""

    def loss(pod: PodRecord) -> tuple[bool, bool, bool, int, float, str]:
        return (
            bool(pod.node_name),
            pod.phase == "Running",
            pod.ready,
            -pod.restart_count,
            -pod.created_at,
            pod.name,
        )

    return sorted(pods, key=loss)


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
