"""The columns of each kind, as `kubectl get` and `kubectl get -o wide` show them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from twin.api import storage_columns as storage
from twin.api.autoscaler_columns import fewest_pods, scale_target, targets
from twin.api.cells import (
    NONE,
    Column,
    Object,
    Read,
    age_cell,
    ago_cell,
    labels_text,
    name_cell,
    path_cell,
    readiness_gates,
    selector_text,
    text_since,
    value_at,
)
from twin.api.driver_columns import DRIVERS
from twin.api.event_columns import event_count, event_first_seen, event_last_seen, event_source
from twin.api.karpenter_columns import KARPENTER
from twin.api.plain_columns import PLAIN
from twin.api.policy_columns import POLICIES
from twin.api.rights_columns import role_reference, subjects_of
from twin.api.server_columns import SERVER
from twin.api.service_columns import (
    endpoint_addresses,
    service_ports,
    slice_addresses,
    slice_ports,
)

_AGES = ("Age", "Created At")
_CRON = "spec.jobTemplate.spec.template.spec.containers"
_TARGET = "status.recommendation.containerRecommendations.target"


def columns_of(resource: str) -> tuple[Column, ...]:
    """Return all columns of a resource; Name and Age alone for one without its own."""
    shown = COLUMNS.get(resource, ())
    if any(column.name == "Name" for column in shown):
        return shown  # in their own order
    narrow = tuple(column for column in shown if not column.wide)
    wide = tuple(column for column in shown if column.wide)
    aged = any(column.name in _AGES for column in narrow)
    middle = () if aged else (Column("Age", age_cell),)
    return (Column("Name", name_cell), *narrow, *middle, *wide)


def _selector(obj: Object, _now: float) -> str:
    selector = value_at(obj, "spec.selector") or {}
    plain = all(isinstance(value, str) for value in selector.values())
    return selector_text({"matchLabels": selector} if plain else selector)


def _containers(field: str, of: str = "spec.template.spec.containers") -> Read:
    return lambda obj, _now: ",".join(
        str(entry.get(field, "")) for entry in value_at(obj, of) or ()
    )


def _pod_ready(obj: Object, _now: float) -> str:
    statuses = value_at(obj, "status.containerStatuses") or []
    ready = sum(bool(status.get("ready")) for status in statuses)
    return f"{ready}/{len(value_at(obj, 'spec.containers') or ())}"


def _pod_status(obj: Object, _now: float) -> str:
    if obj["metadata"].get("deletionTimestamp"):
        return "Terminating"
    for container in value_at(obj, "status.containerStatuses") or []:
        state = container.get("state") or {}
        detail = state.get("waiting") or state.get("terminated") or {}
        if detail.get("reason"):
            return str(detail["reason"])
    return str(value_at(obj, "status.reason") or value_at(obj, "status.phase", "Unknown"))


def _pod_restarts(obj: Object, now: float) -> str:
    statuses = value_at(obj, "status.containerStatuses") or []
    count = sum(status.get("restartCount", 0) for status in statuses)
    ends = [value_at(status, "lastState.terminated.finishedAt", "") for status in statuses]
    last = max(ends, default="")
    return f"{count} ({text_since(last, now)} ago)" if count and last else str(count)


def _node_status(obj: Object, _now: float) -> str:
    conditions = {
        condition["type"]: condition["status"]
        for condition in value_at(obj, "status.conditions") or ()
    }
    text = "Ready" if conditions.get("Ready") == "True" else "NotReady"
    return f"{text},SchedulingDisabled" if value_at(obj, "spec.unschedulable") else text


def _node_roles(obj: Object, _now: float) -> str:
    prefix = "node-role.kubernetes.io/"
    labels = obj["metadata"].get("labels") or {}
    return ",".join(sorted(key[len(prefix) :] for key in labels if key.startswith(prefix))) or NONE


def _address(kind: str) -> Read:
    def read(obj: Object, _now: float) -> str:
        addresses = [
            address
            for address in value_at(obj, "status.addresses") or ()
            if address.get("type") == kind
        ]
        return str(addresses[0]["address"]) if addresses else NONE

    return read


def _ready(ready: str, desired: str) -> Read:
    return lambda obj, _now: f"{value_at(obj, ready, 0)}/{value_at(obj, desired, 0)}"


def _job_status(obj: Object, _now: float) -> str:
    holding = {
        condition.get("type")
        for condition in value_at(obj, "status.conditions") or ()
        if condition.get("status") == "True"
    }
    for kind in ("Complete", "Failed", "Suspended"):
        if kind in holding:
            return kind
    return "Terminating" if obj["metadata"].get("deletionTimestamp") else "Running"


def _completions(obj: Object, _now: float) -> str:
    completions = value_at(obj, "spec.completions")
    if completions is None:
        parallel = value_at(obj, "spec.parallelism", 1)
        completions = f"1 of {parallel}" if parallel > 1 else 1
    return f"{value_at(obj, 'status.succeeded', 0)}/{completions}"


def _job_duration(obj: Object, now: float) -> str:
    began, ended = value_at(obj, "status.startTime"), value_at(obj, "status.completionTime")
    if not began:
        return ""
    return text_since(began, datetime.fromisoformat(ended).timestamp() if ended else now)


def _involved_object(obj: Object, _now: float) -> str:
    involved = obj.get("involvedObject") or {}
    return f"{str(involved.get('kind', '')).lower()}/{involved.get('name', '')}"


def _usage(field: str) -> Read:
    def read(obj: Object, _now: float) -> str:
        hard, used = (
            value_at(obj, "status.hard") or value_at(obj, "spec.hard") or {},
            value_at(obj, "status.used"),
        )
        names = [name for name in sorted(hard) if name.startswith("limits.") is (field == "limits")]
        return ", ".join(f"{name}: {(used or {}).get(name, 0)}/{hard[name]}" for name in names)

    return read


_IMAGES = (
    Column("Containers", _containers("name"), wide=True),
    Column("Images", _containers("image"), wide=True),
)
_CHOSEN = Column("Selector", _selector, wide=True)
_REPLICAS = (
    Column("Desired", path_cell("spec.replicas", 0), type="integer"),
    Column("Current", path_cell("status.replicas", 0), type="integer"),
    Column("Ready", path_cell("status.readyReplicas", 0), type="integer"),
)

_CREATED = Column("Created At", path_cell("metadata.creationTimestamp"), type="date")
_BOUND = (
    Column("Role", role_reference),
    Column("Users", subjects_of("User"), wide=True),
    Column("Groups", subjects_of("Group"), wide=True),
    Column("ServiceAccounts", subjects_of("ServiceAccount"), wide=True),
)

COLUMNS: Mapping[str, tuple[Column, ...]] = {
    "pods": (
        Column("Ready", _pod_ready),
        Column("Status", _pod_status),
        Column("Restarts", _pod_restarts),
        Column("IP", path_cell("status.podIP", NONE), wide=True),
        Column("Node", path_cell("spec.nodeName", NONE), wide=True),
        Column("Nominated Node", path_cell("status.nominatedNodeName", NONE), wide=True),
        Column("Readiness Gates", readiness_gates, wide=True),
    ),
    "nodes": (
        Column("Status", _node_status),
        Column("Roles", _node_roles),
        Column("Age", age_cell),
        Column("Version", path_cell("status.nodeInfo.kubeletVersion")),
        Column("Internal-IP", _address("InternalIP"), wide=True),
        Column("External-IP", _address("ExternalIP"), wide=True),
        Column("OS-Image", path_cell("status.nodeInfo.osImage"), wide=True),
        Column("Kernel-Version", path_cell("status.nodeInfo.kernelVersion"), wide=True),
        Column(
            "Container-Runtime", path_cell("status.nodeInfo.containerRuntimeVersion"), wide=True
        ),
    ),
    "deployments": (
        Column("Ready", _ready("status.readyReplicas", "spec.replicas")),
        Column("Up-to-date", path_cell("status.updatedReplicas", 0)),
        Column("Available", path_cell("status.availableReplicas", 0)),
        *_IMAGES,
        _CHOSEN,
    ),
    **dict.fromkeys(("replicasets", "replicationcontrollers"), (*_REPLICAS, *_IMAGES, _CHOSEN)),
    "statefulsets": (
        Column("Ready", _ready("status.readyReplicas", "spec.replicas")),
        *_IMAGES,
    ),
    "daemonsets": (
        Column("Desired", path_cell("status.desiredNumberScheduled", 0), type="integer"),
        Column("Current", path_cell("status.currentNumberScheduled", 0), type="integer"),
        Column("Ready", path_cell("status.numberReady", 0), type="integer"),
        Column("Up-to-date", path_cell("status.updatedNumberScheduled", 0), type="integer"),
        Column("Available", path_cell("status.numberAvailable", 0), type="integer"),
        Column(
            "Node Selector",
            lambda obj, _now: labels_text(value_at(obj, "spec.template.spec.nodeSelector")),
        ),
        *_IMAGES,
        _CHOSEN,
    ),
    "jobs": (
        Column("Status", _job_status),
        Column("Completions", _completions),
        Column("Duration", _job_duration),
        *_IMAGES,
        _CHOSEN,
    ),
    "cronjobs": (
        Column("Schedule", path_cell("spec.schedule")),
        Column("Timezone", path_cell("spec.timeZone", NONE)),
        Column(
            "Suspend", lambda obj, _now: str(bool(value_at(obj, "spec.suspend"))), type="boolean"
        ),
        Column(
            "Active", lambda obj, _now: len(value_at(obj, "status.active") or ()), type="integer"
        ),
        Column("Last Schedule", ago_cell("status.lastScheduleTime")),
        Column("Containers", _containers("name", _CRON), wide=True),
        Column("Images", _containers("image", _CRON), wide=True),
        Column(
            "Selector",
            lambda obj, _now: selector_text(value_at(obj, "spec.jobTemplate.spec.selector")),
            wide=True,
        ),
    ),
    "horizontalpodautoscalers": (
        Column("Reference", scale_target),
        Column("Targets", targets),
        Column("MinPods", fewest_pods),
        Column("MaxPods", path_cell("spec.maxReplicas", 0)),
        Column("Replicas", path_cell("status.currentReplicas", 0)),
    ),
    "verticalpodautoscalers": (
        Column("Mode", path_cell("spec.updatePolicy.updateMode", NONE)),
        Column("CPU", path_cell(f"{_TARGET}.cpu")),
        Column("Mem", path_cell(f"{_TARGET}.memory")),
    ),
    "poddisruptionbudgets": (
        Column("Min Available", path_cell("spec.minAvailable", "N/A")),
        Column("Max Unavailable", path_cell("spec.maxUnavailable", "N/A")),
        Column("Allowed Disruptions", path_cell("status.disruptionsAllowed", 0), type="integer"),
    ),
    "services": (
        Column("Type", path_cell("spec.type", "ClusterIP")),
        Column("Cluster-IP", path_cell("spec.clusterIP", NONE)),
        Column("External-IP", lambda _obj, _now: NONE),
        Column("Port(s)", service_ports),
        Column(
            "Selector", lambda obj, _now: labels_text(value_at(obj, "spec.selector")), wide=True
        ),
    ),
    "endpoints": (Column("Endpoints", endpoint_addresses),),
    "endpointslices": (
        Column("AddressType", path_cell("addressType")),
        Column("Ports", slice_ports),
        Column("Endpoints", slice_addresses),
    ),
    "secrets": (
        Column("Type", path_cell("type")),
        Column("Data", lambda obj, _now: len(obj.get("data") or ())),
    ),
    "persistentvolumeclaims": (
        Column("Status", storage.phase),
        Column("Volume", path_cell("spec.volumeName")),
        Column("Capacity", storage.claim_capacity),
        Column("Access Modes", storage.claim_modes),
        Column("StorageClass", storage.storage_class),
        Column("VolumeAttributesClass", path_cell("spec.volumeAttributesClassName", storage.UNSET)),
        Column("Age", age_cell),
        Column("VolumeMode", path_cell("spec.volumeMode", storage.UNSET), wide=True),
    ),
    "persistentvolumes": (
        Column("Capacity", path_cell("spec.capacity.storage", "0")),
        Column("Access Modes", storage.volume_modes),
        Column("Reclaim Policy", path_cell("spec.persistentVolumeReclaimPolicy")),
        Column("Status", storage.phase),
        Column("Claim", storage.claim),
        Column("StorageClass", storage.storage_class),
        Column("VolumeAttributesClass", path_cell("spec.volumeAttributesClassName", storage.UNSET)),
        Column("Reason", path_cell("status.reason")),
        Column("Age", age_cell),
        Column("VolumeMode", path_cell("spec.volumeMode", storage.UNSET), wide=True),
    ),
    "storageclasses": (
        Column("Name", storage.class_name),
        Column("Provisioner", path_cell("provisioner")),
        Column("ReclaimPolicy", path_cell("reclaimPolicy", "Delete")),
        Column("VolumeBindingMode", path_cell("volumeBindingMode", "Immediate")),
        Column("AllowVolumeExpansion", path_cell("allowVolumeExpansion", False)),
        Column("Age", age_cell),
    ),
    "ingresses": (
        Column("Class", path_cell("spec.ingressClassName", NONE)),
        Column("Hosts", storage.hosts),
        Column("Address", storage.addresses),
        Column("Ports", storage.ports),
    ),
    "ingressclasses": (
        Column("Name", storage.class_name),
        Column("Controller", path_cell("spec.controller")),
        Column("Parameters", storage.parameters),
        Column("Age", age_cell),
    ),
    **{kind: tuple(Column(*row) for row in rows) for kind, rows in PLAIN.items()},
    "networkpolicies": (
        Column("Pod-Selector", lambda obj, _now: selector_text(value_at(obj, "spec.podSelector"))),
    ),
    "controllerrevisions": (
        Column("Controller", storage.controller),
        Column("Revision", path_cell("revision", 0)),
    ),
    **dict.fromkeys(
        ("mutatingwebhookconfigurations", "validatingwebhookconfigurations"),
        (Column("Webhooks", lambda obj, _now: len(obj.get("webhooks") or ()), type="integer"),),
    ),
    **POLICIES,
    "configmaps": (Column("Data", lambda obj, _now: len(obj.get("data") or ())),),
    **{kind: tuple(Column(*row) for row in rows) for kind, rows in KARPENTER.items()},
    **SERVER,
    **DRIVERS,
    "resourcequotas": (Column("Request", _usage("requests")), Column("Limit", _usage("limits"))),
    "priorityclasses": (
        Column("Value", path_cell("value", 0), type="integer"),
        Column("Global-Default", lambda obj, _now: bool(obj.get("globalDefault")), type="boolean"),
        Column("Age", age_cell),
        Column("PreemptionPolicy", path_cell("preemptionPolicy")),
    ),
    "leases": (Column("Holder", path_cell("spec.holderIdentity")),),
    "namespaces": (Column("Status", path_cell("status.phase")),),
    **dict.fromkeys(
        ("roles", "clusterroles", "customresourcedefinitions", "limitranges"), (_CREATED,)
    ),
    **dict.fromkeys(("rolebindings", "clusterrolebindings"), _BOUND),
    "events": (
        Column("Last Seen", event_last_seen),
        Column("Type", path_cell("type")),
        Column("Reason", path_cell("reason")),
        Column("Object", _involved_object),
        Column("Subobject", path_cell("involvedObject.fieldPath"), wide=True),
        Column("Source", event_source, wide=True),
        Column("Message", path_cell("message")),
        Column("First Seen", event_first_seen, wide=True),
        Column("Count", event_count, wide=True),
        Column("Name", name_cell, wide=True),
    ),
}
