"""How Kueue's controllers read and write: the API and nothing behind it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from twin.config.kueue import KueueConfig
from twin.errors import ApiError
from twin.kueue.objects import CHECKS, CLUSTER_QUEUES, FLAVORS, LOCAL_QUEUES, WORKLOADS
from twin.records import Object, ObjectRecord
from twin.timestamps import rfc3339
from twin.world import World

MANAGER = "kueue-admission"


class KueueClient:
    """Objects of one world, written in the name of Kueue."""

    def __init__(self, world: World) -> None:
        """Work on a world."""
        self._world = world
        self._store = world.store
        self.config: KueueConfig = world.config.kueue

    @property
    def now(self) -> float:
        """Cluster time, unix seconds."""
        return self._world.now

    @property
    def stamp(self) -> str:
        """Cluster time as objects show it."""
        return rfc3339(self._world.now)

    # ---- reading

    def all(self, resource: str, namespace: str | None = None) -> Iterator[ObjectRecord]:
        """Yield objects by (namespace, name); none of a kind that is not served."""
        if "." in resource and resource not in self._store.custom.stored:
            return
        for record in self._store.records(resource, namespace):
            assert isinstance(record, ObjectRecord)
            yield record

    def find(self, resource: str, namespace: str, name: str) -> ObjectRecord | None:
        """Return an object."""
        if "." in resource and resource not in self._store.custom.stored:
            return None
        found = self._store.find(resource, namespace, name)
        return found if isinstance(found, ObjectRecord) else None

    def flavor(self, name: str) -> ObjectRecord | None:
        """Return a ResourceFlavor."""
        return self.find(FLAVORS, "", name)

    def queue_of(self, workload: ObjectRecord) -> ObjectRecord | None:
        """Return the LocalQueue that a Workload names."""
        name = workload.body["spec"].get("queueName", "")
        return self.find(LOCAL_QUEUES, workload.namespace, name) if name else None

    def cluster_queue(self, name: str) -> ObjectRecord | None:
        """Return a ClusterQueue."""
        return self.find(CLUSTER_QUEUES, "", name)

    def check(self, name: str) -> ObjectRecord | None:
        """Return an AdmissionCheck."""
        return self.find(CHECKS, "", name)

    def workload_of(self, job: ObjectRecord) -> ObjectRecord | None:
        """Return the Workload that belongs to a Job."""
        for (resource, _), record in self._store.dependents.get(job.uid, {}).items():
            if resource == WORKLOADS and isinstance(record, ObjectRecord):
                return record
        return None

    # ---- writing

    def set_status(self, resource: str, record: ObjectRecord, status: Object) -> bool:
        """Write the status of an object; says whether it differed."""
        if (record.body.get("status") or {}) == status:
            return False
        before = record.clone()
        record.body = {**record.body, "status": status}
        self._store.touch(resource, record, before)
        return True

    def replace(self, resource: str, record: ObjectRecord, **changes: Any) -> bool:
        """Write an object with other members; a refusal leaves it as it is. Says whether it went."""
        obj = self._store.get(resource, record.namespace, record.name)
        try:
            self._store.replace(resource, record.namespace, record.name, {**obj, **changes})
        except ApiError:
            return False
        return True

    def set_spec(self, resource: str, record: ObjectRecord, **fields: Any) -> bool:
        """Write fields of an object's spec."""
        return self.replace(resource, record, spec={**record.body["spec"], **fields})

    def create(self, resource: str, namespace: str, obj: Object) -> ObjectRecord:
        """Create an object; raises ApiError."""
        made = self._store.create_record(resource, namespace, obj)
        assert isinstance(made, ObjectRecord)
        return made

    def delete(self, resource: str, record: ObjectRecord) -> None:
        """Delete an object."""
        self._store.delete_record(resource, record.namespace, record.name)

    def release(self, resource: str, record: ObjectRecord, finalizer: str) -> None:
        """Take a finalizer off; an object that is being deleted goes with its last one."""
        if finalizer not in record.finalizers:
            return
        before = record.clone()
        record.finalizers = tuple(one for one in record.finalizers if one != finalizer)
        if record.deletion_at is not None and not record.finalizers:
            self._store.remove(resource, record, before)
        else:
            self._store.touch(resource, record, before)

    def report(self, record: ObjectRecord, kind: str, reason: str, message: str) -> None:
        """Write a KubeEvent about an object."""
        self._world.reporter.report(record, kind, reason, message, MANAGER)
