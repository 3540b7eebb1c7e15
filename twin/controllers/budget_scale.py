"""What a percentage of a PodDisruptionBudget is of: the replicas that the owners of its pods want.

Source: kubernetes/kubernetes pkg/controller/disruption/disruption.go (getExpectedScale and its finders).
"""

from __future__ import annotations

from collections.abc import Iterable

from twin.custom.json_paths import values_at
from twin.kinds import KINDS
from twin.records import Object, ObjectRecord, PodRecord
from twin.store import Store

_SCALED = frozenset({"deployments", "replicasets", "statefulsets", "replicationcontrollers"})
_RESOURCE_OF = {(kind.group, kind.kind): name for name, kind in KINDS.items()}


class Unscalable(Exception):
    """What a pod's owner wants cannot be had; the text says why, in upstream's words."""


def expected_replicas(store: Store, pods: Iterable[PodRecord]) -> tuple[int, bool]:
    """Return (the sum of what the pods' owners want, whether some pod has no owner); raises Unscalable."""
    replicas_by_owner: dict[str, int] = {}
    known: set[str] = set()
    unmanaged = False
    for pod in pods:
        reference = _controller(pod.owners)
        if reference is None:
            unmanaged = True
        elif reference["uid"] not in known:
            known.add(reference["uid"])
            found = _scale(store, pod.namespace, reference)
            if found is None:
                raise Unscalable(f'found no controllers for pod "{pod.name}"')
            replicas_by_owner[found[0]] = found[1]
    return sum(replicas_by_owner.values()), unmanaged


def _controller(owners: Iterable[Object]) -> Object | None:
    return next((owner for owner in owners if owner.get("controller")), None)


def _scale(store: Store, namespace: str, reference: Object) -> tuple[str, int] | None:
    """Return (uid, replicas) of what scales the pods of an owner: its Deployment, or the owner itself."""
    api_version, name = str(reference["apiVersion"]), reference["kind"]
    group = api_version.rpartition("/")[0]
    resource = _RESOURCE_OF.get((group, name)) or store.custom.resource_of(group, name)
    kind = None if resource is None else store.custom.kind_of(resource)
    if resource is None or kind is None:
        raise Unscalable(f'no matches for kind "{name}" in version "{api_version}"')
    paths = None if kind.custom is None else kind.custom.scale
    if resource not in _SCALED and paths is None:
        plural = f"{resource}.{group}" if kind.custom is None and group else resource
        raise Unscalable(f"{plural} does not implement the scale subresource")
    record = store.find(resource, namespace, reference["name"])
    if not isinstance(record, ObjectRecord) or record.uid != reference["uid"]:
        return None
    if paths is not None:
        wanted = values_at(record.body, paths["specReplicasPath"])
        return record.uid, int(wanted[0]) if wanted else 0
    above = _controller(record.owners)
    if resource == "replicasets" and above is not None and above["kind"] == "Deployment":
        deployment = store.find("deployments", namespace, above["name"])
        if isinstance(deployment, ObjectRecord) and deployment.uid == above["uid"]:
            record = deployment
    return record.uid, int(record.body["spec"]["replicas"])
