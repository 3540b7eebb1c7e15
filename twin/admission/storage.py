"""Kinds that hold data for others: what the API server fills in, and what it refuses."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from typing import Any

from twin.admission.findings import Findings
from twin.records import Object
from twin.request_settings import problems

LARGEST_BYTES = 1 << 20
"""Bytes of all values of a ConfigMap or Secret together."""
_KEY = re.compile(r"[-._a-zA-Z0-9]{1,253}\Z")
_KEY_RULE = (
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. "
    "'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
)
_IMMUTABLE = "field is immutable when `immutable` is set"


def config_map(obj: Object, findings: Findings) -> None:
    """Check keys and size of a ConfigMap."""
    data, binary = _pairs(obj, "data"), _pairs(obj, "binaryData")
    _check_keys("data", data, findings)
    _check_keys("binaryData", binary, findings)
    size = sum(len(str(value).encode()) for value in data.values())
    for key, value in binary.items():
        size += _size(f"binaryData[{key}]", value, findings)
    _check_size("", size, findings)


def secret(obj: Object, findings: Findings) -> None:
    """Fill in the type of a Secret, take plain texts over as data, check keys and size."""
    obj.setdefault("type", "Opaque")
    plain = {
        key: base64.b64encode(str(value).encode()).decode()
        for key, value in (obj.pop("stringData", None) or {}).items()
    }
    if plain:
        obj["data"] = {**(obj.get("data") or {}), **plain}
    data = _pairs(obj, "data")
    _check_keys("data", data, findings)
    size = 0
    for key, value in data.items():
        size += _size(f"data[{key}]", value, findings)
    _check_size("data", size, findings)


def check_fixed(old: Object, new: Object, findings: Findings) -> None:
    """Check that what was declared immutable stays as it is."""
    if not old.get("immutable"):
        return
    if not new.get("immutable"):
        findings.add("immutable", f"Forbidden: {_IMMUTABLE}")
    for name in ("data", "binaryData"):
        if (old.get(name) or {}) != (new.get(name) or {}):
            findings.add(name, f"Forbidden: {_IMMUTABLE}")


def service(obj: Object, findings: Findings) -> None:
    """Fill in what a Service says of itself; there is no network behind it."""
    spec = obj.setdefault("spec", {})
    kind = spec.setdefault("type", "ClusterIP")
    if kind not in ("ClusterIP", "NodePort", "LoadBalancer", "ExternalName"):
        words = '"ClusterIP", "ExternalName", "LoadBalancer", "NodePort"'
        findings.add("spec.type", f'Unsupported value: "{kind}": supported values: {words}')
    spec.setdefault("sessionAffinity", "None")
    if kind != "ExternalName":
        spec.setdefault("internalTrafficPolicy", "Cluster")
    if kind in ("NodePort", "LoadBalancer"):
        spec.setdefault("externalTrafficPolicy", "Cluster")
    if kind == "LoadBalancer":
        spec.setdefault("allocateLoadBalancerNodePorts", True)
    ports = spec.get("ports") or []
    for index, port in enumerate(ports):
        number = port.get("port")
        if not isinstance(number, int) or not 0 < number < 65_536:
            why = "must be between 1 and 65535, inclusive"
            findings.bad(f"spec.ports[{index}].port", number, why)
        port.setdefault("protocol", "TCP")
        port.setdefault("targetPort", number)
        if len(ports) > 1 and not port.get("name"):
            findings.require(f"spec.ports[{index}].name")
    if not ports and kind != "ExternalName" and spec.get("clusterIP") != "None":
        findings.require("spec.ports")
    for name, why in problems((obj.get("metadata") or {}).get("annotations") or {}):
        findings.add(f"metadata.annotations[{name}]", f"Invalid value: {why}")
    obj.setdefault("status", {"loadBalancer": {}})


def claim(obj: Object, findings: Findings) -> None:
    """Check a PersistentVolumeClaim; none is ever bound."""
    spec = obj.setdefault("spec", {})
    if not spec.get("accessModes"):
        findings.require("spec.accessModes")
    requests = (spec.get("resources") or {}).get("requests") or {}
    if "storage" not in requests:
        findings.require("spec.resources[storage]")
    findings.quantities("spec.resources.requests", requests)
    spec.setdefault("volumeMode", "Filesystem")
    obj.setdefault("status", {"phase": "Pending"})


def volume(obj: Object, findings: Findings) -> None:
    """Default and check a PersistentVolume."""
    spec = obj.setdefault("spec", {})
    if not spec.get("accessModes"):
        findings.require("spec.accessModes")
    if not (spec.get("capacity") or {}).get("storage"):
        findings.require("spec.capacity")
    findings.quantities("spec.capacity", spec.get("capacity") or {})
    if spec.get("hostPath") is not None:
        spec["hostPath"].setdefault("type", "")
    spec.setdefault("persistentVolumeReclaimPolicy", "Retain")
    spec.setdefault("volumeMode", "Filesystem")
    obj.setdefault("status", {"phase": "Pending"})


def storage_class(obj: Object, findings: Findings) -> None:
    """Default and check a StorageClass."""
    if not obj.get("provisioner"):
        findings.require("provisioner")
    policies = {"reclaimPolicy": ("Delete", "Retain"),
                "volumeBindingMode": ("Immediate", "WaitForFirstConsumer")}  # fmt: skip
    for name, known in policies.items():
        value = obj.setdefault(name, known[0])
        if value not in known:
            words = ", ".join(f'"{word}"' for word in known)
            findings.add(name, f'Unsupported value: "{value}": supported values: {words}')


def _pairs(obj: Object, name: str) -> Mapping[str, Any]:
    return obj.get(name) or {}


def _check_keys(name: str, pairs: Mapping[str, Any], findings: Findings) -> None:
    for key in pairs:
        if not _KEY.match(key):
            findings.bad(f"{name}[{key}]", key, _KEY_RULE)


def _size(path: str, value: Any, findings: Findings) -> int:
    try:
        return len(base64.b64decode(value, validate=True))
    except (binascii.Error, TypeError, ValueError):
        findings.bad(path, value, "must be base64")
        return 0


def _check_size(path: str, size: int, findings: Findings) -> None:
    if size > LARGEST_BYTES:
        findings.add(path, f"Too long: may not be more than {LARGEST_BYTES} bytes")
