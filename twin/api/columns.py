"""The columns of each kind, as `kubectl get` and `kubectl get -o wide` show them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from twin.api.autoscaler_columns import scale_target, targets
from twin.api.karpenter_columns import KARPENTER
from twin.api.rights_columns import role_reference, subjects_of
from twin.api.service_columns import (
    endpoint_addresses,
    service_ports,
    slice_addresses,
    slice_ports,
)

Object = dict[str, Any]
Read = Callable[[Object, float], Any]
NONE = "<none>"
_AGES = ("Age", "Created At")
_TARGET = "status.recommendation.containerRecommendations.target"


@dataclass(frozen=True, slots=True)
class Column:
    """One column; `wide` ones are shown with `-o wide` only."""

    name: str
    read: Read
    wide: bool = False
    type: str = "string"


def columns_of(resource: str) -> tuple[Column, ...]:
    """Return all columns of a resource; Name and Age alone for one without its own."""
    shown = COLUMNS.get(resource, ())
    narrow = tuple(column for column in shown if not column.wide)
    wide = tuple(column for column in shown if column.wide)
    aged = resource == "events" or any(column.name in _AGES for column in narrow)
    middle = () if aged else (Column("Age", _age),)
    first = () if resource == "events" else (Column("Name", _name),)
    return (*first, *narrow, *middle, *wide)


def duration(seconds: float) -> str:
    """Write an age as kubectl does."""
    whole = max(0, int(seconds))
    if whole < 120:
        return f"{whole}s"
    if whole < 600:
        return f"{whole // 60}m{whole % 60}s" if whole % 60 else f"{whole // 60}m"
    if whole < 3 * 3600:
        return f"{whole // 60}m"
    if whole < 8 * 3600:
        minutes = whole // 60 % 60
        return f"{whole // 3600}h{minutes}m" if minutes else f"{whole // 3600}h"
    if whole < 48 * 3600:
        return f"{whole // 3600}h"
    if whole < 8 * 86400:
        hours = whole // 3600 % 24
        return f"{whole // 86400}d{hours}h" if hours else f"{whole // 86400}d"
    if whole < 2 * 365 * 86400:
        return f"{whole // 86400}d"
    return f"{whole // (365 * 86400)}y{whole // 86400 % 365}d"


def text_since(text: Any, now: float) -> str:
    """Write how long ago a time of the API is."""
    try:
        return duration(now - datetime.fromisoformat(text).timestamp())
    except (TypeError, ValueError):
        return "<unknown>"


def value_at(obj: Any, path: str, default: Any = None) -> Any:
    """Return the value at a dotted path; `default` when there is none."""
    for part in path.split("."):
        if isinstance(obj, list):  # the first one counts
            obj = obj[0] if obj else None
        obj = obj.get(part) if isinstance(obj, Mapping) else None
        if obj is None:
            return default
    return obj


def _path(path: str, default: Any = "") -> Read:
    return lambda obj, _now: value_at(obj, path, default)


def _ago(path: str) -> Read:
    return lambda obj, now: text_since(value_at(obj, path), now) if value_at(obj, path) else NONE


def _name(obj: Object, _now: float) -> Any:
    return obj["metadata"]["name"]


def _age(obj: Object, now: float) -> str:
    return text_since(obj["metadata"].get("creationTimestamp"), now)


def _labels(pairs: Any) -> str:
    return ",".join(f"{key}={value}" for key, value in (pairs or {}).items()) or NONE


def selector_text(selector: Any) -> str:
    """Return a label selector in one line, as `kubectl get -o wide` shows it."""
    parts = [f"{key}={value}" for key, value in (value_at(selector, "matchLabels") or {}).items()]
    for rule in value_at(selector, "matchExpressions") or ():
        values, operator = ",".join(rule.get("values") or ()), rule.get("operator", "")
        named = {"Exists": rule["key"], "DoesNotExist": f"!{rule['key']}"}
        parts.append(named.get(operator, f"{rule['key']} {operator.lower()} ({values})"))
    return ",".join(parts) or NONE


def _selector(obj: Object, _now: float) -> str:
    return selector_text(value_at(obj, "spec.selector"))


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


def _event_last_seen(obj: Object, now: float) -> str:
    last_time = obj.get("lastTimestamp") or obj.get("eventTime") or obj.get("firstTimestamp")
    return text_since(last_time, now)


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

_CREATED = Column("Created At", _path("metadata.creationTimestamp"), type="date")
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
        Column("IP", _path("status.podIP", NONE), wide=True),
        Column("Node", _path("spec.nodeName", NONE), wide=True),
        Column("Nominated Node", _path("status.nominatedNodeName", NONE), wide=True),
        Column("Readiness Gates", lambda _obj, _now: NONE, wide=True),
    ),
    "nodes": (
        Column("Status", _node_status),
        Column("Roles", _node_roles),
        Column("Age", _age),
        Column("Version", _path("status.nodeInfo.kubeletVersion")),
        Column("Internal-IP", _address("InternalIP"), wide=True),
        Column("External-IP", _address("ExternalIP"), wide=True),
        Column("OS-Image", _path("status.nodeInfo.osImage"), wide=True),
        Column("Kernel-Version", _path("status.nodeInfo.kernelVersion"), wide=True),
        Column("Container-Runtime", _path("status.nodeInfo.containerRuntimeVersion"), wide=True),
    ),
    "deployments": (
        Column("Ready", _ready("status.readyReplicas", "spec.replicas")),
        Column("Up-to-date", _path("status.updatedReplicas", 0), type="integer"),
        Column("Available", _path("status.availableReplicas", 0), type="integer"),
        *_IMAGES,
        _CHOSEN,
    ),
    "replicasets": (
        Column("Desired", _path("spec.replicas", 0), type="integer"),
        Column("Current", _path("status.replicas", 0), type="integer"),
        Column("Ready", _path("status.readyReplicas", 0), type="integer"),
        *_IMAGES,
        _CHOSEN,
    ),
    "statefulsets": (
        Column("Ready", _ready("status.readyReplicas", "spec.replicas")),
        *_IMAGES,
    ),
    "daemonsets": (
        Column("Desired", _path("status.desiredNumberScheduled", 0), type="integer"),
        Column("Current", _path("status.currentNumberScheduled", 0), type="integer"),
        Column("Ready", _path("status.numberReady", 0), type="integer"),
        Column("Up-to-date", _path("status.updatedNumberScheduled", 0), type="integer"),
        Column("Available", _path("status.numberAvailable", 0), type="integer"),
        Column(
            "Node Selector",
            lambda obj, _now: _labels(value_at(obj, "spec.template.spec.nodeSelector")),
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
        Column("Schedule", _path("spec.schedule")),
        Column("Timezone", _path("spec.timeZone", NONE)),
        Column("Suspend", lambda obj, _now: str(bool(value_at(obj, "spec.suspend")))),
        Column(
            "Active", lambda obj, _now: len(value_at(obj, "status.active") or ()), type="integer"
        ),
        Column("Last Schedule", _ago("status.lastScheduleTime")),
    ),
    "horizontalpodautoscalers": (
        Column("Reference", scale_target),
        Column("Targets", targets),
        Column("MinPods", _path("spec.minReplicas", "<unset>")),
        Column("MaxPods", _path("spec.maxReplicas", 0), type="integer"),
        Column("Replicas", _path("status.currentReplicas", 0), type="integer"),
    ),
    "verticalpodautoscalers": (
        Column("Mode", _path("spec.updatePolicy.updateMode", NONE)),
        Column("CPU", _path(f"{_TARGET}.cpu")),
        Column("Mem", _path(f"{_TARGET}.memory")),
    ),
    "poddisruptionbudgets": (
        Column("Min Available", _path("spec.minAvailable", "N/A")),
        Column("Max Unavailable", _path("spec.maxUnavailable", "N/A")),
        Column("Allowed Disruptions", _path("status.disruptionsAllowed", 0), type="integer"),
    ),
    "services": (
        Column("Type", _path("spec.type", "ClusterIP")),
        Column("Cluster-IP", _path("spec.clusterIP", NONE)),
        Column("External-IP", lambda _obj, _now: NONE),
        Column("Port(s)", service_ports),
        Column("Selector", lambda obj, _now: _labels(value_at(obj, "spec.selector")), wide=True),
    ),
    "endpoints": (Column("Endpoints", endpoint_addresses),),
    "endpointslices": (
        Column("AddressType", _path("addressType")),
        Column("Ports", slice_ports),
        Column("Endpoints", slice_addresses),
    ),
    "secrets": (
        Column("Type", _path("type")),
        Column("Data", lambda obj, _now: len(obj.get("data") or ()), type="integer"),
    ),
    "persistentvolumeclaims": (
        Column("Status", _path("status.phase")),
        Column("Volume", _path("spec.volumeName")),
        Column("Capacity", _path("status.capacity.storage")),
        Column("StorageClass", _path("spec.storageClassName")),
    ),
    "configmaps": (Column("Data", lambda obj, _now: len(obj.get("data") or ()), type="integer"),),
    **{kind: tuple(Column(*row) for row in rows) for kind, rows in KARPENTER.items()},
    "resourcequotas": (Column("Request", _usage("requests")), Column("Limit", _usage("limits"))),
    "priorityclasses": (
        Column("Value", _path("value", 0), type="integer"),
        Column("Global-Default", lambda obj, _now: str(bool(obj.get("globalDefault"))).lower()),
        Column("PreemptionPolicy", _path("preemptionPolicy")),
    ),
    "leases": (Column("Holder", _path("spec.holderIdentity")),),
    "namespaces": (Column("Status", _path("status.phase")),),
    **dict.fromkeys(("roles", "clusterroles"), (_CREATED,)),
    **dict.fromkeys(("rolebindings", "clusterrolebindings"), _BOUND),
    "events": (
        Column("Last Seen", _event_last_seen),
        Column("Type", _path("type")),
        Column("Reason", _path("reason")),
        Column("Object", _involved_object),
        Column("Subobject", _path("involvedObject.fieldPath"), wide=True),
        Column("Source", _path("source.component"), wide=True),
        Column("Message", _path("message")),
        Column("First Seen", _ago("firstTimestamp"), wide=True),
        Column("Count", _path("count", 1), wide=True, type="integer"),
        Column("Name", _name, wide=True),
    ),
}
