"""The control plane: every controller, what each is told of a change, and what it then looks at.

A change is told to a controller only if it is about something that the controller cares for, so a
cluster without autoscalers, sets, CronJobs and quotas pays nothing for them.
"""

from __future__ import annotations

from collections.abc import Callable

from twin.changes import Change
from twin.controllers.adoption import CLAIMING, SETS, Adoption
from twin.controllers.api_services import API_SERVICES, ApiServices
from twin.controllers.autoscaler import Autoscalers, Sample
from twin.controllers.budget import Budgets
from twin.controllers.cron_job import CronJobs
from twin.controllers.daemon_set import DaemonSets
from twin.controllers.definitions import Definitions
from twin.controllers.deployment import Deployments, recreates
from twin.controllers.endpoints import Endpoints
from twin.controllers.garbage import Garbage, has_other_owners
from twin.controllers.job import Jobs
from twin.controllers.loop import ControllerLoop, Reconcile
from twin.controllers.mirroring import MIRRORED, Mirroring
from twin.controllers.namespaces import Namespaces
from twin.controllers.policies import POLICIES, PolicyStatus
from twin.controllers.quota import CHANGING, Quotas
from twin.controllers.replicaset import ReplicaSets
from twin.controllers.service_ranges import FOLLOWED, RANGES, ServiceRanges
from twin.controllers.stateful_set import StatefulSets
from twin.controllers.volumes import VolumeControllers
from twin.definitions.registry import DEFINITIONS
from twin.intake import is_custom
from twin.records import NodeRecord, ObjectRecord, PodRecord, Record
from twin.serving.request_metrics import RequestMetrics
from twin.volumes.binding import CLAIMS, STORAGE, VOLUMES
from twin.world import World

_POD_OWNERS = {
    "ReplicaSet": "replicasets",
    "ReplicationController": "replicationcontrollers",
    "Job": "jobs",
    "StatefulSet": "statefulsets",
    "DaemonSet": "daemonsets",
}
_OWN_STATUS = frozenset({"deployments", "statefulsets", "daemonsets", "jobs", *SETS})
_RETRIES = {"jobs": (1.0, 60.0)}
"""Delays after a failure that are not the usual ones (pkg/controller/job: DefaultJobApiBackOff, MaxJobApiBackOff)."""
_COUNTED_ANEW = CHANGING | {"resourcequotas"}
_SWITCHED_BY = {MIRRORED: "services"}
"""What leaves a controller out that is not called as its objects are."""
_ROUTING = frozenset({"services", "endpoints", "endpointslices"})
_SET_OWNERS = {"replicasets": ("Deployment", "deployments"), "jobs": ("CronJob", "cronjobs"),
               "endpointslices": ("Service", "services")}  # fmt: skip


class ControlPlane:
    """All controllers but the node lifecycle, which the kubelet's side needs too."""

    def __init__(self, world: World, sample: Sample, requests: RequestMetrics) -> None:
        self._world = world
        off = world.config.controllers.switched_off
        self.loop = loop = ControllerLoop(world.clock, world.config.controllers)
        self.adoption = adoption = Adoption(world, loop)
        self.jobs = Jobs(world, loop, adoption)
        self.budgets = Budgets(world, loop)
        self.garbage = Garbage(world)
        self.namespaces = Namespaces(world)
        self.definitions = Definitions(world)
        self.daemons = DaemonSets(world, loop, adoption)
        self.crons = CronJobs(world, loop)
        self.quotas = Quotas(world, loop)
        self.endpoints = Endpoints(world, loop)
        self.mirroring = Mirroring(world, loop)
        ranges = ServiceRanges(world, loop)
        self.api_services = ApiServices(world)
        self.autoscalers = Autoscalers(world, sample, requests)
        self.volumes = volumes = VolumeControllers(world, loop)
        self._autoscales = "horizontalpodautoscalers" not in off
        reconcilers: tuple[tuple[str, Reconcile], ...] = (
            ("deployments", Deployments(world, loop).reconcile),
            *((name, ReplicaSets(world, loop, adoption, name).reconcile) for name in SETS),
            ("statefulsets", StatefulSets(world, loop, adoption).reconcile),
            ("daemonsets", self.daemons.reconcile),
            ("jobs", self.jobs.reconcile),
            ("cronjobs", self.crons.reconcile),
            ("poddisruptionbudgets", self.budgets.reconcile),
            ("resourcequotas", self.quotas.reconcile),
            ("services", self.endpoints.reconcile),
            (RANGES, ranges.reconcile),
            (MIRRORED, self.mirroring.reconcile),
            (CLAIMS, volumes.reconcile_claim),
            (POLICIES, PolicyStatus(world).reconcile),
            (API_SERVICES, self.api_services.reconcile),
        )
        self._register(reconcilers)
        self._listeners: tuple[tuple[frozenset[str], Callable[[Change], None]], ...] = (
            (frozenset(STORAGE), volumes.follow),
            (_ROUTING, self.mirroring.follow),
            (frozenset(FOLLOWED), ranges.follow),
        )
        world.store.gates.append(self.quotas)

    def _register(self, reconcilers: tuple[tuple[str, Reconcile], ...]) -> None:
        """Let the loop reconcile what is not switched off."""
        off = self._world.config.controllers.switched_off
        for resource, reconcile in reconcilers:
            if _SWITCHED_BY.get(resource, resource) not in off:
                self.loop.register(resource, reconcile, _RETRIES.get(resource))
        if CLAIMS not in off:
            self.loop.register(VOLUMES, self.volumes.reconcile_volume)
            self.loop.register("pods", self.volumes.reconcile_pod)

    def follow(self, change: Change) -> None:
        """Take in one change; nothing is written from here."""
        resource, record = change.resource, change.record
        if resource == "events":
            return
        gone = change.type == "DELETED"
        if change.type != "MODIFIED" or record.deletion_at is not None:
            self.garbage.follow(change)
            self.namespaces.follow(change)
        elif has_other_owners(change):
            self.garbage.follow(change)
        if isinstance(record, PodRecord):
            self._follow_pod(record, change)
        elif isinstance(record, NodeRecord):
            self.daemons.follow_node(change)
        elif resource == "horizontalpodautoscalers":
            if self._autoscales:
                self.autoscalers.follow(change)
        else:
            if gone or resource in _COUNTED_ANEW:
                self.quotas.follow(change)
            for followed, listener in self._listeners:
                if resource in followed:
                    listener(change)
            self._note_object(change)

    def _follow_pod(self, record: PodRecord, change: Change) -> None:
        gone = change.type == "DELETED"
        self.jobs.follow(change)
        if record.shape.spec.get("volumes"):
            self.volumes.follow_pod(change)
        if gone or record.terminal:
            self.quotas.follow(change)
        if gone or _matters(record, change.before):
            self._note_pod(record)
            self.adoption.follow_pod(record, change.before)
            self.endpoints.follow_pod(record, change.before)
        if gone:
            self._note_recreation(record)

    def _note_object(self, change: Change) -> None:
        resource, record = change.resource, change.record
        if resource in CLAIMING:
            self.adoption.follow_set(change)
        if resource == DEFINITIONS or is_custom(resource):
            self.definitions.follow(change)
        elif resource == "services":
            self.endpoints.follow(change)
        elif change.type != "DELETED":
            if resource != "resourcequotas" and not _is_own_status(change):
                self.loop.note(resource, record.namespace, record.name)
        elif resource == "jobs":
            self.jobs.forget(change)
        elif resource == "cronjobs":
            self.crons.forget(change)
        elif resource == "endpoints":
            self.loop.note("services", record.namespace, record.name)
        if resource in _SET_OWNERS:
            self._note_owner(record, *_SET_OWNERS[resource])

    def _note_owner(self, record: Record, kind: str, resource: str) -> None:
        for owner in record.owners:
            if owner["kind"] == kind:
                self.loop.note(resource, record.namespace, owner["name"])

    def _note_recreation(self, pod: PodRecord) -> None:
        """Wake a Deployment that waits for its last old pod to be gone."""
        store = self._world.store
        for owner in pod.owners:
            above = store.find("replicasets", pod.namespace, owner["name"])
            for entry in above.owners if owner["kind"] == "ReplicaSet" and above else ():
                found = store.find("deployments", pod.namespace, entry["name"])
                if isinstance(found, ObjectRecord) and recreates(found):
                    self.loop.note("deployments", pod.namespace, found.name)

    def _note_pod(self, pod: PodRecord) -> None:
        for owner in pod.owners:
            resource = _POD_OWNERS.get(owner["kind"])
            if resource and owner.get("controller"):
                self.loop.note(resource, pod.namespace, owner["name"])
        for budget in self.budgets.covering(pod):
            self.loop.note("poddisruptionbudgets", budget.namespace, budget.name)


def _matters(pod: PodRecord, before: Record | None) -> bool:
    """True when a pod changed in what its controller, or a budget, looks at."""
    return (
        not isinstance(before, PodRecord)
        or pod.ready != before.ready
        or pod.phase != before.phase
        or pod.deletion_at != before.deletion_at
        or pod.labels is not before.labels
        or pod.owners is not before.owners
        or pod.annotations is not before.annotations
    )


def _is_own_status(change: Change) -> bool:
    """True when nothing but the status of a workload changed: its controller wrote that itself."""
    record, before = change.record, change.before
    return (
        change.resource in _OWN_STATUS
        and isinstance(record, ObjectRecord)
        and isinstance(before, ObjectRecord)
        and record.generation == before.generation
        and record.deletion_at == before.deletion_at
        and record.labels is before.labels
        and record.annotations is before.annotations
        and record.owners is before.owners
        and record.finalizers is before.finalizers
    )
