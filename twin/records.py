"""Compact records of stored objects; Kubernetes JSON is made from them on demand (`twin.render`).

Pods and nodes are slots records, because there are many of them; every other kind keeps its dict.
A record is changed only by the engine or the store, which then calls `Store.touch`: that gives the
change its version and keeps a clone, so that watchers see each object as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Self

from twin.needs import PodNeeds, largest_needs
from twin.part import keepable

Object = dict[str, Any]
Phase = Literal["Pending", "Running", "Succeeded", "Failed"]
ContainerState = Literal["waiting", "running", "terminated"]
LATER = frozenset({"containers_ready", "drawn_from", "said"})
"""Fields that came later. They stand last and are not written where they are None, so that states without them
are written, and hashed, as they were before.
"""
POD_INDEX_FIELDS = ("spec.nodeName", "status.phase")


class Record:
    """What all stored objects share: identity, labels and the marks of deletion."""

    __slots__ = (
        "annotations",
        "created_at",
        "deletion_at",
        "deletion_grace_seconds",
        "finalizers",
        "labels",
        "managed",
        "name",
        "namespace",
        "owners",
        "resource_version",
        "uid",
    )
    namespace: str
    name: str
    uid: str
    resource_version: int
    created_at: float
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    managed: tuple[Object, ...]  # managedFields; empty for what the simulation itself made
    owners: tuple[Object, ...]
    finalizers: tuple[str, ...]
    deletion_at: float | None  # the time by which it has to be gone
    deletion_grace_seconds: int | None

    @classmethod
    def all_slots(cls) -> tuple[str, ...]:
        """Return the names of all fields, base class first."""
        own = cls.__dict__.get("__slots__", ())
        named = (*Record.__slots__, *own) if cls is not Record else tuple(own)
        return tuple(sorted(named, key=LATER.__contains__))

    def clone(self) -> Self:
        """Return a copy that shares immutable parts."""
        raise NotImplementedError  # each kind gets its own below

    def adopt(self, other: Self) -> None:
        """Take over every field of `other`, keeping this object's identity in Python."""
        for slot in SLOTS[type(self)]:
            setattr(self, slot, getattr(other, slot))

    def state(self) -> dict[str, Any]:
        """Return every field by name: for comparison and for the state hash."""
        return {slot: getattr(self, slot) for slot in SLOTS[type(self)]}

    @property
    def key(self) -> tuple[str, str]:
        """Return (namespace, name)."""
        return (self.namespace, self.name)

    def controller_uid(self) -> str | None:
        """Return the uid of the managing owner, if there is one."""
        for owner in self.owners:
            if owner.get("controller"):
                return str(owner["uid"])
        return None


class ObjectRecord(Record):
    """Any kind that is kept as the dict it was written as, without its metadata."""

    __slots__ = ("body", "drawn_from", "generation")
    body: Object  # spec, status, data, ...: replaced as a whole, never changed in place
    drawn_from: str | None  # generateName of an object that says one
    generation: int


@dataclass(slots=True, weakref_slot=True, frozen=True, eq=False)
class PodShape:
    """The part of a pod that its spec decides; pods with equal specs share one.

    Amounts are sums over the containers; `None` limits mean that a container has no limit.
    """

    spec: Object
    cpu_request_millicores: int
    memory_request_bytes: int
    gpus: int
    cpu_limit_millicores: int | None
    memory_limit_bytes: int | None
    qos: Literal["Guaranteed", "Burstable", "BestEffort"]
    priority: int
    containers: tuple[str, ...]
    images: tuple[str, ...]
    restart_policy: str
    grace_seconds: int
    needs: PodNeeds  # what the scheduler reads of the spec
    node_selector: Mapping[str, str] = field(default_factory=dict)
    node_affinity: tuple[Object, ...] = ()  # required nodeSelectorTerms, any of which must match
    tolerations: tuple[Object, ...] = ()
    placement_key: bytes = b""  # equal for shapes that selectors and tolerations treat alike


@keepable
@dataclass(slots=True, frozen=True)
class Ended:
    """How a container's earlier run ended."""

    exit_code: int
    reason: str
    started_at: float
    finished_at: float
    message: str = ""  # its termination message


@keepable
@dataclass(slots=True, frozen=True)
class ResizeCondition:
    """PodResizePending or PodResizeInProgress while it is True."""

    reason: str  # pending: Deferred or Infeasible; in progress: Error or empty
    message: str
    since: float
    generation: int  # of the pod's spec that it is about


@keepable
@dataclass(slots=True, frozen=True)
class Resize:
    """A change of a bound pod's amounts that its kubelet has not carried out yet."""

    allocated: PodShape  # what the kubelet has set aside for it
    actual: PodShape  # what its running container has
    pending: ResizeCondition | None = None
    in_progress: ResizeCondition | None = None

    @property
    def noticed(self) -> bool:
        """True when the kubelet has said something about it."""
        return self.pending is not None or self.in_progress is not None


class PodRecord(Record):
    """One pod. All its containers share one state (docs/limits: multi-container pods)."""

    __slots__ = (
        "conditions",
        "container_message",
        "container_reason",
        "container_since",
        "container_state",
        "containers_ready",
        "disruption",
        "ended",
        "generate_name",
        "generation",
        "host_ip",
        "message",
        "node_name",
        "nominated_node",
        "phase",
        "pod_ip",
        "ready",
        "ready_at",
        "reason",
        "resize",
        "restart_count",
        "scheduled_at",
        "shape",
        "started_at",
        "unschedulable",
        "usage_shape",
    )
    shape: PodShape
    generation: int  # of its spec
    usage_shape: PodShape | None  # whose requests its usage ratios are of, once it was resized
    generate_name: str
    node_name: str
    nominated_node: str  # where room is being made for it by preemption
    scheduled_at: float | None
    unschedulable: str  # the scheduler's sentence, empty when it has not failed
    phase: Phase
    reason: str
    message: str
    conditions: tuple[Object, ...]  # of types that only clients write
    disruption: str  # reason of the DisruptionTarget condition, empty without one
    started_at: float | None  # the kubelet has seen the pod
    container_state: ContainerState
    container_reason: str
    container_message: str
    container_since: float
    containers_ready: tuple[bool, float] | None
    """Whether the containers of a pod with readiness gates are ready, and since when; others: as the pod."""
    ended: Ended | None
    resize: Resize | None
    restart_count: int
    ready: bool
    ready_at: float
    host_ip: str
    pod_ip: str

    @property
    def allocated(self) -> PodShape:
        """Return the shape whose amounts the node has set aside."""
        return self.shape if self.resize is None else self.resize.allocated

    @property
    def actual(self) -> PodShape:
        """Return the shape whose amounts its container runs with."""
        return self.shape if self.resize is None else self.resize.actual

    @property
    def containers_are_ready(self) -> bool:
        """True when its containers are ready, whatever its readiness gates say."""
        return self.ready if self.containers_ready is None else self.containers_ready[0]

    @property
    def reserved_needs(self) -> PodNeeds:
        """Return what the scheduler counts: of each resource the largest of what is requested,
        allocated and in force; a request that can never be does not count (kubernetes/kubernetes
        staging/src/k8s.io/component-helpers/resource/helpers.go determineContainerReqs).
        """
        resize = self.resize
        if resize is None:
            return self.shape.needs
        needs = [resize.allocated.needs, resize.actual.needs]
        if resize.pending is None or resize.pending.reason != "Infeasible":
            needs.insert(0, self.shape.needs)
        return largest_needs(needs)

    @property
    def terminal(self) -> bool:
        """True when the pod has succeeded or failed for good."""
        return self.phase in ("Succeeded", "Failed")

    @property
    def index_fields(self) -> tuple[str, str]:
        """Return the values of POD_INDEX_FIELDS."""
        return (self.node_name, self.phase)


class NodeRecord(Record):
    """One node: what it offers, and what is known about it."""

    __slots__ = (
        "allocatable_cpu_millicores",
        "allocatable_memory_bytes",
        "allocatable_pods",
        "conditions",
        "extended",
        "gpus",
        "heartbeat_at",
        "images",
        "internal_ip",
        "memory_pressure",
        "ready_since",
        "ready_status",
        "said",
        "taints",
        "unschedulable",
    )
    allocatable_cpu_millicores: int
    allocatable_memory_bytes: int
    allocatable_pods: int
    gpus: int
    conditions: tuple[Object, ...]  # of types that only clients write
    extended: Mapping[str, int]  # whatever else it offers, by name, in whole units
    unschedulable: bool
    taints: tuple[Object, ...]
    ready_status: Literal["True", "False", "Unknown"]
    ready_since: float
    heartbeat_at: float
    memory_pressure: bool
    images: tuple[tuple[str, int], ...]  # (name, bytes) in the order they were pulled
    internal_ip: str
    said: Object | None  # providerID and capacity, where its maker gave it others than the usual


SLOTS: dict[type[Record], tuple[str, ...]] = {
    cls: cls.all_slots() for cls in (ObjectRecord, PodRecord, NodeRecord)
}
"""The fields of each kind of record, in order."""


def _cloner(cls: type[Record]) -> Callable[[Record], Record]:
    """Write the copying of a class out, one line a field: thrice as fast as a loop of setattr, and
    every commit of the store copies a record.
    """
    lines = [f"    other.{slot} = record.{slot}" for slot in SLOTS[cls]]
    source = "\n".join(["def clone(record):", "    other = new(cls)", *lines, "    return other"])
    names: dict[str, Any] = {"new": object.__new__, "cls": cls}
    exec(source, names)  # noqa: S102 - the names of our own slots
    return names["clone"]  # type: ignore[no-any-return]


for _kind in SLOTS:
    _kind.clone = _cloner(_kind)  # type: ignore[method-assign,assignment]
