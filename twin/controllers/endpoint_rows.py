"""What EndpointSlices and Endpoints say of the pods of a Service: rows, ports and labels, without writing any.

Sources: kubernetes/kubernetes staging/src/k8s.io/endpointslice (utils.go, util/controller_utils.go) and
pkg/controller/endpoint/endpoints_controller.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from twin.records import NodeRecord, Object, ObjectRecord, PodRecord, PodShape

SERVICE_NAME = "kubernetes.io/service-name"
MANAGED_BY = "endpointslice.kubernetes.io/managed-by"
SLICE_MANAGER = "endpointslice-controller.k8s.io"
HEADLESS = "service.kubernetes.io/headless"
_ZONE = "topology.kubernetes.io/zone"
_ENDPOINTS_MANAGED_BY = {"endpoints.kubernetes.io/managed-by": "endpoint-controller"}
_RESERVED = frozenset({SERVICE_NAME, MANAGED_BY, HEADLESS})
PortKey = tuple[tuple[str, str, int, str], ...]


def slice_labels(service: ObjectRecord) -> dict[str, str]:
    """Return the labels of a Service's slices: its own, but for those that say what they are."""
    own = {key: value for key, value in service.labels.items() if key not in _RESERVED}
    return {**own, **_headless(service), SERVICE_NAME: service.name, MANAGED_BY: SLICE_MANAGER}


def endpoints_labels(service: ObjectRecord) -> dict[str, str]:
    """Return the labels of a Service's Endpoints object."""
    own = {key: value for key, value in service.labels.items() if key != HEADLESS}
    return {**own, **_headless(service), **_ENDPOINTS_MANAGED_BY}


def _headless(service: ObjectRecord) -> dict[str, str]:
    return {HEADLESS: ""} if service.body["spec"].get("clusterIP") in (None, "", "None") else {}


def slice_row(pod: PodRecord, node: NodeRecord | None, service: ObjectRecord) -> Object:
    """Return the row of a pod in a slice; a pod that is published is ready whatever its probes say."""
    terminating = pod.deletion_at is not None
    publish = bool(service.body["spec"].get("publishNotReadyAddresses"))
    row: Object = {
        "addresses": [pod.pod_ip],
        "conditions": {
            "ready": publish or (pod.ready and not terminating),
            "serving": pod.ready,
            "terminating": terminating,
        },
        **_host_name(pod, service),
        "nodeName": pod.node_name,
        "targetRef": _reference(pod),
    }
    zone = "" if node is None else node.labels.get(_ZONE, "")
    return {**row, "zone": zone} if zone else row


def _reference(pod: PodRecord) -> Object:
    return {"kind": "Pod", "namespace": pod.namespace, "name": pod.name, "uid": pod.uid}


def _host_name(pod: PodRecord, service: ObjectRecord) -> Object:
    """Return the host name of a pod whose subdomain is the Service."""
    name = pod.shape.spec.get("hostname")
    return {"hostname": name} if name and pod.shape.spec.get("subdomain") == service.name else {}


def ports_by_shape(
    service: ObjectRecord, pods: Iterable[PodRecord]
) -> dict[PodShape, list[Object]]:
    """Return the ports of each pod by its shape, which pods of one template share."""
    shapes = dict.fromkeys(pod.shape for pod in pods)
    return {shape: _ports(service, shape) for shape in shapes}


def _ports(service: ObjectRecord, shape: PodShape) -> list[Object]:
    """Return the ports behind those of a Service; one whose name the pod does not know is left out."""
    found = []
    for port in service.body["spec"].get("ports") or ():
        target = port.get("targetPort", port["port"])
        number = target if isinstance(target, int) else _named_port(str(target), port, shape)
        if number is not None:
            row = {"name": port.get("name", ""), "port": number, "protocol": port["protocol"]}
            if "appProtocol" in port:
                row["appProtocol"] = port["appProtocol"]
            found.append(row)
    return found


def _named_port(name: str, wanted: Object, shape: PodShape) -> int | None:
    sidecars = [
        one
        for one in shape.spec.get("initContainers") or ()
        if one.get("restartPolicy") == "Always"
    ]
    for container in (*shape.spec["containers"], *sidecars):
        for port in container.get("ports") or ():
            if port.get("name") == name and port.get("protocol", "TCP") == wanted["protocol"]:
                return int(port["containerPort"])
    return None


def key_of_ports(ports: Iterable[Object] | None) -> PortKey:
    """Return what is equal for slices with the same ports in any order."""
    return tuple(
        sorted(
            (port.get("name", ""), port["protocol"], port["port"], port.get("appProtocol", ""))
            for port in ports or ()
        )
    )


def is_listed(pod: PodRecord, *, leaving: bool) -> bool:
    """True for a pod with an address that has not ended; `leaving`: also while it is being deleted."""
    return bool(pod.pod_ip) and not pod.terminal and (leaving or pod.deletion_at is None)


def subsets_of(service: ObjectRecord, pods: Sequence[PodRecord]) -> list[Object]:
    """Return the subsets of an Endpoints object: ports that have the same addresses stand together."""
    spec = service.body["spec"]
    publish = bool(spec.get("publishNotReadyAddresses"))
    bare = not spec.get("ports") and spec.get("clusterIP") == "None"
    ports: dict[PortKey, Object | None] = {}
    sides: dict[PortKey, tuple[list[Object], list[Object]]] = {}
    by_shape = ports_by_shape(service, pods)
    for pod in pods:
        address = {
            "ip": pod.pod_ip,
            **_host_name(pod, service),
            "nodeName": pod.node_name,
            "targetRef": _reference(pod),
        }
        for port in [None] if bare else by_shape[pod.shape]:
            key = key_of_ports([] if port is None else [port])
            ports[key] = port
            ready, unready = sides.setdefault(key, ([], []))
            (ready if publish or pod.ready else unready).append(address)
    return _packed(ports, sides)


def _packed(
    ports: dict[PortKey, Object | None], sides: dict[PortKey, tuple[list[Object], list[Object]]]
) -> list[Object]:
    """Return one subset for all ports that have the same ready and unready addresses."""
    subsets: dict[tuple[tuple[str, ...], ...], Object] = {}
    for key, port in ports.items():
        group = tuple(tuple(one["targetRef"]["uid"] for one in side) for side in sides[key])
        subset = subsets.setdefault(group, {})
        for field, side in zip(("addresses", "notReadyAddresses"), sides[key], strict=True):
            if side:
                subset[field] = side
        if port is not None:
            row = {name: value for name, value in port.items() if value != ""}
            subset.setdefault("ports", []).append(row)
    return list(subsets.values())
