"""Kubernetes JSON to records: how an admitted object becomes, or changes, a record."""

from __future__ import annotations

import hashlib
from decimal import Decimal
from sys import intern
from typing import Any, Literal
from weakref import WeakValueDictionary

import orjson

from inputs.quantities import canonical_text, parse_millicores, parse_quantity, parse_whole
from twin.needs import BASIC_RESOURCES, GPU, MOST_AMOUNT, read_needs
from twin.part_writes import STATUS_LABELS_STAY, writes_metadata
from twin.records import NodeRecord, Object, ObjectRecord, PodRecord, PodShape, Record, Resize

__all__ = ["DEFAULT_PODS_PER_NODE", "GPU", "apply", "new_record", "pod_shape", "resources_of"]

DEFAULT_PODS_PER_NODE = 110
COUNTING = frozenset(
    {
        *("deployments", "replicasets", "replicationcontrollers", "statefulsets", "daemonsets"),
        *("jobs", "cronjobs", "poddisruptionbudgets", "ingresses", "networkpolicies"),
        *("ingressclasses", "endpointslices", "priorityclasses", "customresourcedefinitions"),
        *("mutatingwebhookconfigurations", "validatingwebhookconfigurations"),
        *("validatingadmissionpolicies", "validatingadmissionpolicybindings"),
        *("deviceclasses", "resourceslices"),
        *("deviceclasses", "resourceslices", "podtemplates"),
        *("verticalpodautoscalers", "nodepools", "nodeclaims", "kwoknodeclasses"),
    }
)
"""Built-in resources whose metadata.generation counts the changes of what is asked for."""
NODE_CONDITIONS = frozenset({"MemoryPressure", "DiskPressure", "PIDPressure", "Ready"})
POD_CONDITIONS = frozenset(
    {
        *("PodScheduled", "Initialized", "Ready", "ContainersReady", "DisruptionTarget"),
        *("PodResizePending", "PodResizeInProgress"),
    }
)
"""Types of conditions that the simulation writes itself."""
_PAIRS_KEPT = 4_096
_pairs: dict[bytes, Any] = {}  # a cache of equal ones
_NO_PAIRS: dict[str, str] = {}  # of all new objects without labels or annotations; never changed
_shapes: WeakValueDictionary[bytes, PodShape] = WeakValueDictionary()  # a cache of pure results


def new_record(resource: str, obj: Object) -> Record:
    """Return a record of an admitted object; uid, version and times are the store's to set."""
    record: Record
    if resource == "pods":
        record = _new_pod(obj)
    elif resource == "nodes":
        record = _new_node(obj)
    else:
        record = ObjectRecord()
        record.body = _custom_body(obj) if is_custom(resource) else _body(obj)
        counts = resource in COUNTING or is_custom(resource)
        record.generation = 1 if counts else 0
    _set_identity(record, obj["metadata"])
    return record


def _take_schedulers_word(pod: PodRecord, status: Object) -> None:
    """Keep why a scheduler of its user's own found no node for a pod, and which one it makes room on."""
    if pod.node_name:
        return
    pod.nominated_node = str(status.get("nominatedNodeName") or "")
    for condition in status.get("conditions") or ():
        if condition.get("type") == "PodScheduled" and condition.get("status") == "False":
            pod.unschedulable = str(condition.get("message") or "")


def apply(record: Record, obj: Object, subresource: str | None, resource: str) -> None:
    """Write an admitted object into `record`: `status` with the metadata, or all but status."""
    if isinstance(record, ObjectRecord):
        if "kind" in record.body:
            _apply_custom(record, obj, subresource)
        else:
            _apply_object(resource, record, obj, subresource)
    elif isinstance(record, PodRecord):
        _apply_pod(record, obj, subresource)
    elif isinstance(record, NodeRecord) and subresource is None:
        _set_node_spec(record, obj)
    elif isinstance(record, NodeRecord) and subresource == "status":
        _set_amounts(record, obj)
        record.conditions = _other_conditions(obj, NODE_CONDITIONS)
    if writes_metadata(resource, subresource):
        labels = record.labels
        _set_changeable_metadata(record, obj["metadata"])
        if subresource == "status" and resource in STATUS_LABELS_STAY:
            record.labels = labels
    if "managedFields" in obj.get("metadata", {}):
        record.managed = tuple(obj["metadata"]["managedFields"] or ())


def _apply_pod(record: PodRecord, obj: Object, subresource: str | None) -> None:
    if subresource == "status":
        record.conditions = _other_conditions(obj, POD_CONDITIONS)
        _take_schedulers_word(record, obj.get("status") or {})
        return
    shape = pod_shape({k: v for k, v in obj["spec"].items() if k != "nodeName"})
    if subresource == "resize":
        _resize(record, shape)
    elif subresource in (None, "ephemeralcontainers"):
        record.generation += shape is not record.shape
        record.shape = shape


def _other_conditions(obj: Object, own: frozenset[str]) -> tuple[Object, ...]:
    """Return the conditions that clients keep in a status; those of the simulation's own types stay as they are."""
    conditions = (obj.get("status") or {}).get("conditions") or ()
    return tuple(dict(each) for each in conditions if each.get("type") not in own)


def _resize(pod: PodRecord, shape: PodShape) -> None:
    """Request other amounts; a pod that no kubelet has seen gets them at once."""
    if shape is pod.shape:
        return
    allocated, actual, before = pod.allocated, pod.actual, pod.resize
    pod.usage_shape = pod.usage_shape or pod.shape
    pod.shape = shape
    pod.generation += 1
    waits = resources_of(allocated) != resources_of(shape)
    runs_otherwise = resources_of(actual) != resources_of(shape)
    if not pod.node_name or pod.terminal or not (waits or runs_otherwise):
        pod.resize = None
        return
    pending = before.pending if before is not None and waits else None
    in_progress = before.in_progress if before is not None else None
    pod.resize = Resize(allocated if waits else shape, actual, pending, in_progress)


def resources_of(shape: PodShape) -> list[Object]:
    """Return `resources` of each container."""
    return [container.get("resources") or {} for container in shape.spec["containers"]]


def _apply_object(
    resource: str, record: ObjectRecord, obj: Object, subresource: str | None
) -> None:
    if subresource == "finalize":
        finalizers = (obj.get("spec") or {}).get("finalizers") or []
        record.body = {**record.body, "spec": {"finalizers": finalizers} if finalizers else {}}
        return
    if subresource == "status":
        record.body = {**record.body, "status": obj.get("status", {})}
        return
    body = _body(obj)
    if "status" in record.body:
        body["status"] = record.body["status"]
    if (record.generation or resource == "csidrivers") and _wish(body) != _wish(record.body):
        record.generation += (
            resource != "priorityclasses"
        )  # of which only the description can change
    elif resource == "endpointslices" and (obj["metadata"].get("labels") or {}) != record.labels:
        record.generation += 1
    record.body = body


def _wish(body: Object) -> Object:
    """Return what is asked for: the spec, or all but the status where there is none."""
    return body["spec"] if "spec" in body else {k: v for k, v in body.items() if k != "status"}


def is_custom(resource: str) -> bool:
    """Say whether a resource is one that a definition makes: its name has its group with it."""
    return "." in resource


def _apply_custom(record: ObjectRecord, obj: Object, subresource: str | None) -> None:
    """Write a custom resource, of which admission has left what may change."""
    body, before = _custom_body(obj), record.body
    if subresource is None and body != {**before, "apiVersion": body["apiVersion"]}:
        record.generation += 1
    record.body = body


def _custom_body(obj: Object) -> Object:
    """Return a custom resource without metadata; it says itself what it is."""
    named = {"apiVersion": obj["apiVersion"], "kind": obj["kind"]}
    return {**named, **{k: v for k, v in obj.items() if k not in ("metadata", *named)}}


def _body(obj: Object) -> Object:
    return {k: v for k, v in obj.items() if k not in ("kind", "apiVersion", "metadata")}


def _set_identity(record: Record, metadata: Object) -> None:
    record.namespace = metadata.get("namespace", "")
    record.name = metadata["name"]
    record.uid = ""
    record.resource_version = 0
    record.created_at = 0.0
    record.deletion_at = None
    record.deletion_grace_seconds = None
    record.managed = tuple(metadata.get("managedFields") or ())
    _set_changeable_metadata(record, metadata)
    record.labels = record.labels or _NO_PAIRS  # a dict of its own is a tenth of a pod
    record.annotations = record.annotations or _NO_PAIRS


def _set_changeable_metadata(record: Record, metadata: Object) -> None:
    record.labels = _share(metadata.get("labels")) or {}
    record.annotations = _share(metadata.get("annotations")) or {}
    record.owners = _share(metadata.get("ownerReferences")) or ()
    record.finalizers = tuple(metadata.get("finalizers") or ())


def _share(pairs: Any) -> Any:
    """Return an equal object that was taken in shortly before, a list as a tuple: replicas share
    what they have from one template, a fifth of what a pod weighs. None of it is ever changed.
    """
    if not pairs:
        return pairs
    text = orjson.dumps(pairs)
    shared = _pairs.get(text)
    if shared is None:
        if len(_pairs) >= _PAIRS_KEPT:
            _pairs.clear()
        shared = _pairs[text] = tuple(pairs) if isinstance(pairs, list) else pairs
    return shared


def _new_pod(obj: Object) -> PodRecord:
    pod = PodRecord()
    spec = dict(obj["spec"])
    pod.node_name = intern(spec.pop("nodeName", ""))
    pod.nominated_node = ""
    pod.shape = pod_shape(spec)
    pod.generation = 1
    pod.usage_shape = None
    pod.generate_name = intern(obj["metadata"].get("generateName", ""))
    pod.scheduled_at = None
    pod.unschedulable = ""
    pod.conditions = ()
    pod.phase = "Pending"
    pod.reason = pod.message = pod.disruption = ""
    pod.started_at = None
    pod.container_state = "waiting"
    pod.container_reason = "ContainerCreating"
    pod.container_message = ""
    pod.container_since = 0.0
    pod.containers_ready = None
    pod.ended = None
    pod.resize = None
    pod.restart_count = 0
    pod.ready = False
    pod.ready_at = 0.0
    pod.host_ip = pod.pod_ip = ""
    return pod


def pod_shape(spec: Object) -> PodShape:
    """Return the shape of a defaulted pod spec (without nodeName); equal specs share one.

    Its spec has its members in order of name, whatever the order in the first equal one.
    """
    text = orjson.dumps(spec, option=orjson.OPT_SORT_KEYS)
    key = hashlib.blake2b(text, digest_size=16).digest()
    shape = _shapes.get(key)
    if shape is None:
        shape = _shapes[key] = _measure(orjson.loads(text))
    return shape


def _measure(spec: Object) -> PodShape:
    containers = spec["containers"]
    resources = [container.get("resources") or {} for container in containers]
    requests = [entry.get("requests") or {} for entry in resources]
    limits = [entry.get("limits") or {} for entry in resources]
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or {}
    needs = read_needs(spec)
    cpu, memory, gpus, _ = needs.amounts.tolist()
    return PodShape(
        spec=spec,
        cpu_request_millicores=cpu,
        memory_request_bytes=memory,
        gpus=gpus,
        cpu_limit_millicores=_limit([entry.get("cpu") for entry in limits], 1000),
        memory_limit_bytes=_limit([entry.get("memory") for entry in limits], 1),
        qos=_qos(requests, limits),
        priority=spec.get("priority", 0),
        containers=tuple(container["name"] for container in containers),
        images=tuple(container["image"] for container in containers),
        restart_policy=spec["restartPolicy"],
        grace_seconds=spec["terminationGracePeriodSeconds"],
        needs=needs,
        node_selector=spec.get("nodeSelector") or {},
        node_affinity=tuple(required.get("nodeSelectorTerms") or ()),
        tolerations=tuple(spec.get("tolerations") or ()),
        placement_key=orjson.dumps(
            [spec.get("nodeSelector"), required, spec.get("tolerations")],
            option=orjson.OPT_SORT_KEYS,
        ),
    )


def _limit(amounts: list[Any], factor: int) -> int | None:
    if any(amount is None for amount in amounts):
        return None
    total = sum((parse_quantity(amount) for amount in amounts), Decimal(0))
    return min(int(total * factor), MOST_AMOUNT)


def _qos(
    requests: list[Object], limits: list[Object]
) -> Literal["Guaranteed", "Burstable", "BestEffort"]:
    pairs = [
        (request.get(name), limit.get(name))
        for request, limit in zip(requests, limits, strict=True)
        for name in ("cpu", "memory")
    ]
    if not any(quantity for pair in pairs for quantity in pair):
        return "BestEffort"
    for request, limit in pairs:
        if request is None or limit is None or parse_quantity(request) != parse_quantity(limit):
            return "Burstable"
    return "Guaranteed"


def _new_node(obj: Object) -> NodeRecord:
    node = NodeRecord()
    node.allocatable_cpu_millicores = node.allocatable_memory_bytes = node.gpus = 0
    node.allocatable_pods = DEFAULT_PODS_PER_NODE
    node.extended = {}
    node.ready_status = "True"  # the embedded kubelet registers itself complete
    node.ready_since = node.heartbeat_at = 0.0
    node.memory_pressure = False
    node.images = ()
    node.conditions = ()
    node.said = _said(obj)
    digest = hashlib.blake2b(obj["metadata"]["name"].encode(), digest_size=3).digest()
    node.internal_ip = f"10.{digest[0] % 127}.{digest[1]}.{digest[2]}"
    _set_node_spec(node, obj)
    _set_amounts(node, obj)
    return node


def _said(obj: Object) -> Object | None:
    """Return what the maker of a node says of it otherwise than the simulation would."""
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    said: Object = {}
    if spec.get("providerID"):
        said["providerID"] = str(spec["providerID"])
    capacity, allocatable = status.get("capacity"), status.get("allocatable")
    if capacity and allocatable and capacity != allocatable:
        said["capacity"] = _texts(capacity)
    return said or None


def _texts(amounts: Object) -> Object:
    return {name: canonical_text(amount) for name, amount in amounts.items()}


def _set_node_spec(node: NodeRecord, obj: Object) -> None:
    spec = obj.get("spec") or {}
    node.unschedulable = bool(spec.get("unschedulable", False))
    node.taints = tuple(spec.get("taints") or ())


def _set_amounts(node: NodeRecord, obj: Object) -> None:
    amounts = _amounts(node, obj.get("status") or {})
    node.allocatable_cpu_millicores = parse_millicores(
        amounts.get("cpu", f"{node.allocatable_cpu_millicores}m")
    )
    node.allocatable_memory_bytes = parse_whole(
        amounts.get("memory", node.allocatable_memory_bytes)
    )
    node.allocatable_pods = parse_whole(amounts.get("pods", node.allocatable_pods))
    node.gpus = parse_whole(amounts.get(GPU, node.gpus))
    others = {
        name: parse_whole(value) for name, value in amounts.items() if name not in BASIC_RESOURCES
    }
    node.extended = {**node.extended, **others}


def _amounts(node: NodeRecord, status: Object) -> Object:
    """Return what a node offers: allocatable where it says something new, capacity otherwise.

    A kubelet follows a capacity that a device plug-in or a person adds; here both are one amount.
    """
    capacity, amounts = status.get("capacity") or {}, dict(status.get("allocatable") or {})
    if node.said is not None and "capacity" in node.said:  # two amounts since it was made
        node.said = {**node.said, "capacity": _texts(capacity)}
        return amounts
    known = {
        "cpu": (node.allocatable_cpu_millicores, parse_millicores),
        "memory": (node.allocatable_memory_bytes, parse_whole),
        "pods": (node.allocatable_pods, parse_whole),
        GPU: (node.gpus, parse_whole),
        **{name: (amount, parse_whole) for name, amount in node.extended.items()},
    }
    for name, value in capacity.items():
        amount, measure = known.get(name, (None, parse_whole))
        if name not in amounts or (amount is not None and measure(amounts[name]) == amount):
            amounts[name] = value
    return amounts
