"""The claims of a StatefulSet's pods: one per template and ordinal, which outlive their pod.

Source: kubernetes/kubernetes pkg/controller/statefulset/stateful_set_utils.go (names, labels, volumes,
owners by persistentVolumeClaimRetentionPolicy).
"""

from __future__ import annotations

from collections.abc import Iterable

from twin.controllers.pods_of import owner_reference, report
from twin.errors import ApiError
from twin.records import Object, ObjectRecord, PodRecord
from twin.volumes.binding import CLAIMS
from twin.world import World

_SETS = "statefulsets"


def templates_of(record: ObjectRecord) -> list[Object]:
    """Return the claim templates of a StatefulSet."""
    templates: list[Object] = record.body["spec"].get("volumeClaimTemplates") or []
    return templates


def volumes_of(record: ObjectRecord, ordinal: int, others: Iterable[Object]) -> list[Object]:
    """Return the volumes of a pod: those of its claims, and what its template has beside them."""
    named = {one["metadata"]["name"]: _name(record, one, ordinal) for one in templates_of(record)}
    mounted = [
        {"name": name, "persistentVolumeClaim": {"claimName": claim}}
        for name, claim in named.items()
    ]
    return [*mounted, *(volume for volume in others if volume["name"] not in named)]


def make_claims(world: World, record: ObjectRecord, ordinal: int) -> bool:
    """Make the claims that a pod lacks; False when one was refused or is being deleted."""
    for template in templates_of(record):
        name = _name(record, template, ordinal)
        known = world.store.find(CLAIMS, record.namespace, name)
        if known is not None and known.deletion_at is not None:
            report(world, _SETS, record, "FailedCreate", f"pvc {name} is being deleted")
            return False
        if known is not None:
            continue
        given = template["metadata"]
        labels = record.body["spec"]["selector"].get("matchLabels") or {}
        head: Object = {"name": name, "labels": {**(given.get("labels") or {}), **labels}}
        if given.get("annotations"):
            head["annotations"] = given["annotations"]
        if _policy(record, "whenDeleted") == "Delete":
            head["ownerReferences"] = [owner_reference(_SETS, record)]
        try:
            world.store.create(
                CLAIMS, record.namespace, {"metadata": head, "spec": template["spec"]}
            )
        except ApiError as error:
            report(
                world, _SETS, record, "FailedCreate", f"create Claim {name} failed: {error.message}"
            )
            return False
        if world.config.controllers.success_events:
            text = f"create Claim {name} Pod {record.name}-{ordinal} in StatefulSet {record.name} success"
            report(world, _SETS, record, "SuccessfulCreate", text)
    return True


def give_claims_to(world: World, record: ObjectRecord, pod: PodRecord, ordinal: int) -> None:
    """Let the claims of a pod that is no longer wanted go with it, where the set says so."""
    if _policy(record, "whenScaled") != "Delete":
        return
    owner = {"apiVersion": "v1", "kind": "Pod", "name": pod.name, "uid": pod.uid,
             "controller": True, "blockOwnerDeletion": True}  # fmt: skip
    for template in templates_of(record):
        name = _name(record, template, ordinal)
        claim = world.store.find(CLAIMS, record.namespace, name)
        if claim is not None:
            obj = world.store.get(CLAIMS, record.namespace, name)
            metadata = {**obj["metadata"], "ownerReferences": [owner]}
            world.store.replace(CLAIMS, record.namespace, name, {**obj, "metadata": metadata})


def _name(record: ObjectRecord, template: Object, ordinal: int) -> str:
    return f"{template['metadata']['name']}-{record.name}-{ordinal}"


def _policy(record: ObjectRecord, when: str) -> str:
    policy = record.body["spec"].get("persistentVolumeClaimRetentionPolicy") or {}
    return str(policy.get(when, "Retain"))
