"""The few fields of Kubernetes objects that we read, decoded straight from the API's bytes.

Only needed fields are decoded (a full model of a pod costs 35 times the CPU), unknown fields are
ignored, and absent ones keep the API's defaults. What a pod holds is counted by `services.pod_requests`.
"""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

import msgspec

from services.protection import (
    DO_NOT_DISRUPT,
    KARPENTER_DO_NOT_DISRUPT,
    MIRROR,
    SAFE_TO_EVICT,
)

FIELD_MANAGER = "foresail"
"""Who wrote a field, as the API server notes it (`metadata.managedFields`)."""
CPU = "cpu"
MEMORY = "memory"
GPU_SUFFIX = "/gpu"
"""Extended resources of devices end so (`nvidia.com/gpu`, `amd.com/gpu`)."""
FINISHED = frozenset({"Succeeded", "Failed"})
"""Phases of pods that hold no resources any more."""
POD_TEMPLATE_HASH = "pod-template-hash"
CHECKPOINT = "foresail.dev/checkpoint-seconds"
"""Annotation of a pod that keeps its work: how many seconds of it are done again at most."""


class KubeStruct(msgspec.Struct, rename="camel", frozen=True, kw_only=True, gc=False):
    """Base: camelCase names of the API, snake_case here."""


class Owner(KubeStruct, frozen=True):
    """metadata.ownerReferences[]."""

    kind: str = ""
    name: str = ""
    controller: bool = False


class Meta(KubeStruct, frozen=True):
    """metadata."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    owner_references: tuple[Owner, ...] = ()


class PodMarks(KubeStruct, frozen=True):
    """The few annotations of a pod that are read; all of them can be large."""

    do_not_disrupt: str | None = msgspec.field(default=None, name=DO_NOT_DISRUPT)
    karpenter: str | None = msgspec.field(default=None, name=KARPENTER_DO_NOT_DISRUPT)
    safe_to_evict: str | None = msgspec.field(default=None, name=SAFE_TO_EVICT)
    mirror: str | None = msgspec.field(default=None, name=MIRROR)
    checkpoint: str | None = msgspec.field(default=None, name=CHECKPOINT)


class PodMeta(KubeStruct, frozen=True):
    """metadata of a pod, with those annotations alone that are marks."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    labels: dict[str, str] = {}
    annotations: PodMarks = PodMarks()
    owner_references: tuple[Owner, ...] = ()


class Condition(KubeStruct, frozen=True):
    """status.conditions[]."""

    type: str = ""
    status: str = "Unknown"
    reason: str = ""
    message: str = ""
    last_transition_time: str | None = None


class Taint(KubeStruct, frozen=True):
    """spec.taints[] of a node."""

    key: str = ""
    value: str = ""
    effect: str = ""


class NodeSpec(KubeStruct, frozen=True):
    """spec of a node."""

    unschedulable: bool = False
    taints: tuple[Taint, ...] = ()


class NodeStatus(KubeStruct, frozen=True):
    """status of a node."""

    allocatable: dict[str, str] = {}
    conditions: tuple[Condition, ...] = ()


class Node(KubeStruct, frozen=True, dict=True, gc=True):
    """A node."""

    metadata: Meta = Meta()
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()

    @property
    def ready(self) -> bool:
        """Whether the Ready condition is true."""
        condition = self.condition("Ready")
        return condition is not None and condition.status == "True"

    def condition(self, kind: str) -> Condition | None:
        """Return one condition."""
        return next(
            (condition for condition in self.status.conditions if condition.type == kind), None
        )


class ResourceRequirements(KubeStruct, frozen=True):
    """resources of a container or pod."""

    requests: dict[str, str] = {}
    limits: dict[str, str] = {}


class Container(KubeStruct, frozen=True):
    """spec.containers[] and spec.initContainers[]."""

    name: str = ""
    resources: ResourceRequirements = ResourceRequirements()
    restart_policy: str = ""

    @property
    def sidecar(self) -> bool:
        """Whether an init container keeps running beside the others."""
        return self.restart_policy == "Always"


class Volume(KubeStruct, frozen=True):
    """spec.volumes[], of which only those that bind a pod to a machine or die with it are read."""

    persistent_volume_claim: dict[str, Any] | None = None
    host_path: dict[str, Any] | None = None
    empty_dir: dict[str, Any] | None = None

    @property
    def binds(self) -> bool:
        """Whether moving the pod may lose data, or may not be possible."""
        sources = (self.persistent_volume_claim, self.host_path, self.empty_dir)
        return any(source is not None for source in sources)


class PodSpec(KubeStruct, frozen=True):
    """spec of a pod."""

    node_name: str = ""
    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    overhead: dict[str, str] = {}
    resources: ResourceRequirements | None = None
    priority: int = 0
    priority_class_name: str = ""
    node_selector: dict[str, str] = {}
    affinity: dict[str, Any] | None = None
    topology_spread_constraints: tuple[dict[str, Any], ...] = ()
    volumes: tuple[Volume, ...] = ()


class StateDetail(KubeStruct, frozen=True):
    """state.waiting and state.terminated of a container."""

    reason: str = ""
    message: str = ""
    finished_at: str | None = None


class ContainerState(KubeStruct, frozen=True):
    """state of a container."""

    waiting: StateDetail | None = None
    terminated: StateDetail | None = None


class ContainerStatus(KubeStruct, frozen=True):
    """status.containerStatuses[]."""

    name: str = ""
    ready: bool = False
    restart_count: int = 0
    state: ContainerState = ContainerState()
    last_state: ContainerState = ContainerState()
    resources: ResourceRequirements | None = None
    """In force; None as well where they are those of the spec (`Pod.__post_init__`)."""
    allocated_resources: dict[str, str] = {}
    """Requests that the node has promised."""


class PodStatus(KubeStruct, frozen=True):
    """status of a pod."""

    phase: str = "Unknown"
    reason: str = ""
    message: str = ""
    start_time: str | None = None
    conditions: tuple[Condition, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()
    resources: ResourceRequirements | None = None
    """Of the whole pod, in force; None as well where they are those of the spec."""
    allocated_resources: dict[str, str] = {}
    """Requests of the whole pod that the node has promised."""


class Pod(KubeStruct, frozen=True, dict=True, gc=True):
    """A pod."""

    metadata: PodMeta = PodMeta()
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    def __post_init__(self) -> None:
        """Drop amounts of the status that repeat the spec: every pod has them, and a resize alone needs them."""
        spec, status = self.spec, self.status
        asked = {one.name: one.resources for one in (*spec.init_containers, *spec.containers)}
        for one in (*status.init_container_statuses, *status.container_statuses):
            _drop_repeated(one, asked.get(one.name))
        _drop_repeated(status, spec.resources)

    @property
    def settled(self) -> bool:
        """Whether what it was given is what its spec asks for, as far as its node has said."""
        containers = (*self.status.init_container_statuses, *self.status.container_statuses)
        return self.status.resources is None and all(one.resources is None for one in containers)

    @property
    def key(self) -> str:
        """`<namespace>/<name>`."""
        return f"{self.metadata.namespace}/{self.metadata.name}"

    @property
    def finished(self) -> bool:
        """Whether it has ended and holds nothing."""
        return self.status.phase in FINISHED

    @property
    def unhealthy(self) -> bool:
        """Whether it is Failed, Pending, Unknown or not ready (the baseline's rule)."""
        if self.status.phase == "Succeeded":
            return False
        return self.status.phase != "Running" or not self.ready

    @property
    def ready(self) -> bool:
        """Whether the Ready condition is true."""
        condition = self.condition("Ready")
        return condition is not None and condition.status == "True"

    @property
    def restarts(self) -> int:
        """Container restarts, init containers included."""
        statuses = (*self.status.init_container_statuses, *self.status.container_statuses)
        return sum(status.restart_count for status in statuses)

    def condition(self, kind: str) -> Condition | None:
        """Return one condition."""
        return next(
            (condition for condition in self.status.conditions if condition.type == kind), None
        )

    def workload(self) -> str:
        """Return `<namespace>/<kind>/<name>` of what would replace it; empty for a bare pod.

        A ReplicaSet that a Deployment made is named after the Deployment.
        """
        owner = next(
            (
                owner_reference
                for owner_reference in self.metadata.owner_references
                if owner_reference.controller
            ),
            None,
        )
        if owner is None:
            return ""
        kind, name = owner.kind, owner.name
        suffix = "-" + self.metadata.labels.get(POD_TEMPLATE_HASH, "")
        if kind == "ReplicaSet" and suffix != "-" and name.endswith(suffix):
            kind, name = "Deployment", name.removesuffix(suffix)
        return f"{self.metadata.namespace}/{kind}/{name}"


def _drop_repeated(status: ContainerStatus | PodStatus, asked: ResourceRequirements | None) -> None:
    if (
        status.resources is not None
        and asked is not None
        and status.resources.requests == asked.requests
        and status.allocated_resources in ({}, asked.requests)
    ):
        msgspec.structs.force_setattr(status, "resources", None)
        msgspec.structs.force_setattr(status, "allocated_resources", {})


class NodeMetrics(KubeStruct, frozen=True, dict=True, gc=True):
    """One item of metrics.k8s.io NodeMetrics."""

    metadata: Meta = Meta()
    timestamp: str | None = None
    window: str = ""
    """Go duration that the usage covers, such as `15.1s`; empty: it does not say."""
    usage: dict[str, str] = {}


class ListMeta(msgspec.Struct, frozen=True, kw_only=True):
    """metadata of a list."""

    resource_version: str = msgspec.field(default="", name="resourceVersion")
    continue_token: str = msgspec.field(default="", name="continue")


@lru_cache(maxsize=65536)
def parse_time(text: str) -> float:
    """Return an RFC 3339 time of the API as seconds since the Unix epoch, to the microsecond.

    Raises ValueError where the text is no such time.
    """
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return round(moment.timestamp(), 6)


_DURATION = re.compile(r"(?:[0-9]{1,9}(?:\.[0-9]{1,9})?(?:ns|us|µs|ms|h|m|s))+")
_PART = re.compile(r"([0-9.]+)(ns|us|µs|ms|h|m|s)")
_UNIT_SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}


@lru_cache(maxsize=8192)
def parse_duration(text: str) -> float:
    """Return a Go duration of the API, such as `1m30s` or `15.1s`, in seconds.

    Raises ValueError where the text is no such duration; negative ones are none.
    """
    if _DURATION.fullmatch(text) is None:
        raise ValueError(f"not a duration: {text!r}")
    return math.fsum(float(number) * _UNIT_SECONDS[unit] for number, unit in _PART.findall(text))
