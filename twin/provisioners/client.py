"""What a provisioner sees of the cluster, and what it may do: the API and nothing behind it.

Records are read instead of their JSON, because a scan of a thousand nodes happens every ten seconds;
each field used here is one that the API shows. Writes go through the store, as requests do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from twin.errors import ApiError
from twin.records import NodeRecord, Object, ObjectRecord, PodRecord, Record
from twin.selectors import matches
from twin.world import World

Evict = Callable[..., Object]
"""(namespace, name, *, grace_period_seconds): raises ApiError 404, 409, 429 or 500."""
_DAEMON_SET = "DaemonSet"


class Client:
    """Reads and writes API objects in the name of one component."""

    def __init__(self, world: World, evict: Evict, component: str) -> None:
        self._world = world
        self._evict = evict
        self._component = component

    @property
    def now(self) -> float:
        """Cluster time, unix seconds."""
        return self._world.now

    # ---- reading

    def nodes(self) -> Iterator[NodeRecord]:
        """Yield all nodes by name."""
        for record in self._world.store.records("nodes"):
            assert isinstance(record, NodeRecord)
            yield record

    def node(self, name: str) -> NodeRecord | None:
        """Return one node."""
        return self._world.node(name)

    def pods_on(self, node_name: str) -> list[PodRecord]:
        """Return the pods that are bound to a node (field selector spec.nodeName)."""
        return list(self._world.pods_on.get(node_name, {}).values())

    def pods(self) -> Iterator[PodRecord]:
        """Yield all pods that have not ended and gone, in order of creation."""
        yield from self._world.pods.values()

    def pod(self, uid: str) -> PodRecord | None:
        """Return one pod by uid."""
        return self._world.pods.get(uid)

    def pods_in(self, namespace: str) -> Iterator[PodRecord]:
        """Yield the pods of a namespace by name."""
        for record in self._world.store.records("pods", namespace):
            assert isinstance(record, PodRecord)
            yield record

    def select_pods(self, namespace: str, selector: Object) -> list[PodRecord]:
        """Return the pods of a namespace that a label selector finds, by name; do not change the list."""
        return self._world.select_pods(namespace, selector)

    def count(self, resource: str) -> int:
        """Return how many objects of a kind there are."""
        return self._world.store.count(resource)

    def objects(self, resource: str, namespace: str | None = None) -> Iterator[ObjectRecord]:
        """Yield objects of a kind by (namespace, name)."""
        for record in self._world.store.records(resource, namespace):
            assert isinstance(record, ObjectRecord)
            yield record

    def find(self, resource: str, namespace: str, name: str) -> ObjectRecord | None:
        """Return one object."""
        found = self._world.store.find(resource, namespace, name)
        return found if isinstance(found, ObjectRecord) else None

    def budgets(self, pod: PodRecord) -> list[ObjectRecord]:
        """Return the PodDisruptionBudgets that select a pod."""
        if not self._world.store.count("poddisruptionbudgets"):
            return []
        return [
            record
            for record in self.objects("poddisruptionbudgets", pod.namespace)
            if record.body["spec"].get("selector")
            and matches(record.body["spec"]["selector"], pod.labels)
        ]

    # ---- writing

    def set_node(self, node: NodeRecord, **fields: Any) -> None:
        """Write fields of a live node (taints, labels, finalizers, unschedulable) that differ."""
        changed = {name: value for name, value in fields.items() if getattr(node, name) != value}
        if not changed:
            return
        before = node.clone()
        for name, value in changed.items():
            setattr(node, name, value)
        if node.deletion_at is not None and not node.finalizers:
            self._world.store.remove("nodes", node, before)
        else:
            self._world.store.touch("nodes", node, before)

    def set_object(self, resource: str, record: ObjectRecord, **members: Any) -> None:
        """Write members of an object's body, such as its status, that differ."""
        body = {**record.body, **members}
        if body != record.body:
            before = record.clone()
            record.body = body
            self._world.store.touch(resource, record, before)

    def set_metadata(self, resource: str, record: ObjectRecord, **fields: Any) -> None:
        """Write metadata of an object (finalizers, labels, annotations) that differ; one that is
        being deleted goes with its last finalizer.
        """
        changed = {name: value for name, value in fields.items() if getattr(record, name) != value}
        if not changed:
            return
        before = record.clone()
        for name, value in changed.items():
            setattr(record, name, value)
        if record.deletion_at is not None and not record.finalizers:
            self._world.store.remove(resource, record, before)
        else:
            self._world.store.touch(resource, record, before)

    def create(self, resource: str, namespace: str, obj: Object) -> ObjectRecord:
        """Create an object; raises ApiError."""
        made = self._world.store.create_record(resource, namespace, obj)
        assert isinstance(made, ObjectRecord)
        return made

    def delete(self, resource: str, namespace: str, name: str) -> None:
        """Delete an object; one that is gone already is well."""
        if self._world.store.find(resource, namespace, name) is not None:
            self._world.store.delete(resource, namespace, name)

    def delete_pod(self, pod: PodRecord, grace_seconds: int) -> None:
        """Delete a pod with another grace than its own."""
        if self._world.store.find("pods", pod.namespace, pod.name) is pod:
            self._world.store.delete(
                "pods", pod.namespace, pod.name, grace_period_seconds=grace_seconds
            )

    def evict(self, pod: PodRecord, grace_seconds: int | None = None) -> ApiError | None:
        """Evict a pod within its budgets; the refusal is returned (404 when it is gone)."""
        try:
            self._evict(pod.namespace, pod.name, uid=pod.uid, grace_period_seconds=grace_seconds)
        except ApiError as error:
            return error
        return None

    def resize(self, pod: PodRecord, wanted: Mapping[str, Object]) -> ApiError | None:
        """Write requests and limits of containers, by name, through the pod's `resize`; a refusal
        is returned.
        """
        store = self._world.store
        try:
            obj = store.get("pods", pod.namespace, pod.name)
            containers = [
                {**container, "resources": _merge(container, wanted.get(container["name"], {}))}
                for container in obj["spec"]["containers"]
            ]
            spec = {**obj["spec"], "containers": containers}
            new = {**obj, "spec": spec}
            store.replace("pods", pod.namespace, pod.name, new, subresource="resize")
        except ApiError as error:
            return error
        return None

    def report(self, record: Record, kind: str, reason: str, message: str) -> None:
        """Write a KubeEvent about an object."""
        self._world.reporter.report(record, kind, reason, message, self._component)


def _merge(container: Object, wanted: Object) -> Object:
    resources = container.get("resources") or {}
    fields = {name: {**(resources.get(name) or {}), **wanted[name]} for name in wanted}
    return {**resources, **fields}


def is_daemon(pod: PodRecord) -> bool:
    """True for a pod of a DaemonSet."""
    return any(owner["kind"] == _DAEMON_SET for owner in pod.owners)


def controller_of(pod: PodRecord) -> Object | None:
    """Return the reference to the controller that manages a pod."""
    return next((owner for owner in pod.owners if owner.get("controller")), None)


def waits_for_room(pod: PodRecord) -> bool:
    """True for a pod that the scheduler has tried and found no node for."""
    return bool(
        pod.unschedulable
        and not pod.node_name
        and not pod.terminal
        and pod.deletion_at is None
        and not pod.shape.needs.gates
    )
