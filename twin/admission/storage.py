"""Kinds that hold data for others: what the API server fills in, and what it refuses."""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Mapping
from typing import Any

from inputs.quantities import parse_quantity
from twin.admission import rules
from twin.admission.findings import Findings
from twin.admission.volumes import check_claim_spec, check_volume_spec
from twin.records import Object

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
    for key in data:
        if key in binary:
            findings.bad(f"data[{key}]", key, "duplicate of key present in binaryData")
    size = sum(len(str(value).encode()) for value in data.values())
    for key, value in binary.items():
        size += _size(f"binaryData[{key}]", value, findings)
    _check_size("[]", size, findings)  # the path of the object itself, as upstream writes it


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
    _check_type(obj, data, findings)


_NEEDED = {
    "kubernetes.io/tls": ("tls.crt", "tls.key"),
    "kubernetes.io/dockerconfigjson": (".dockerconfigjson",),
    "kubernetes.io/dockercfg": (".dockercfg",),
    "kubernetes.io/ssh-auth": ("ssh-privatekey",),
}
"""What a Secret of a type has to hold."""
_ACCOUNT = "kubernetes.io/service-account.name"


def _check_type(obj: Object, data: Mapping[str, Any], findings: Findings) -> None:
    """Check that a Secret holds what its type promises."""
    kind = obj["type"]
    for key in _NEEDED.get(kind, ()):
        if key not in data or (not data[key] and kind != "kubernetes.io/tls"):
            findings.require(f"data[{key}]")
        elif "docker" in kind and not _is_json(data[key]):
            findings.bad(f"data[{key}]", "<secret contents redacted>", "invalid JSON")
    if kind == "kubernetes.io/basic-auth" and not {"username", "password"} & {*data}:
        findings.require("data[username]")
        findings.require("data[password]")
    annotations = obj["metadata"].get("annotations") or {}
    if kind == "kubernetes.io/service-account-token" and not annotations.get(_ACCOUNT):
        findings.require(f"metadata.annotations[{_ACCOUNT}]")


def _is_json(value: str) -> bool:
    try:
        json.loads(base64.b64decode(value))
    except ValueError:
        return False
    return True


def check_fixed(old: Object, new: Object, findings: Findings) -> None:
    """Check that what was declared immutable stays as it is."""
    if not old.get("immutable"):
        return
    if not new.get("immutable"):
        findings.add("immutable", f"Forbidden: {_IMMUTABLE}")
    for name in ("data", "binaryData"):
        if (old.get(name) or {}) != (new.get(name) or {}):
            findings.add(name, f"Forbidden: {_IMMUTABLE}")


def claim(obj: Object, findings: Findings) -> None:
    """Check a PersistentVolumeClaim; none is ever bound."""
    spec = obj.setdefault("spec", {})
    spec.setdefault("volumeMode", "Filesystem")
    check_claim_spec(spec, findings, "spec")
    obj.setdefault("status", {"phase": "Pending"})


def check_claim_unchanged(old: Object, new: Object, findings: Findings) -> None:
    """Check that of a claim only what is open or may grow changes."""
    before, after = old.get("spec") or {}, new.get("spec") or {}
    bound = (old.get("status") or {}).get("phase") == "Bound"
    free = {"volumeAttributesClassName"}
    free |= {name for name in ("storageClassName", "volumeName") if before.get(name) is None}
    fixed = {*before, *after} - free - ({"resources"} if bound else set())
    if any(before.get(name) != after.get(name) for name in sorted(fixed)):
        why = "spec is immutable after creation except resources.requests and "
        findings.forbid("spec", f"{why}volumeAttributesClassName for bound claims")
    wanted, known = (
        ((spec.get("resources") or {}).get("requests") or {}).get("storage", 0)
        for spec in (after, before)
    )
    if bound and parse_quantity(wanted) < parse_quantity(known):
        why = "field can not be less than status.capacity"
        findings.forbid("spec.resources.requests.storage", why)


def volume(obj: Object, findings: Findings) -> None:
    """Default and check a PersistentVolume."""
    spec = obj.setdefault("spec", {})
    check_volume_spec(spec, findings, "spec")
    if spec.get("hostPath") is not None:
        spec["hostPath"].setdefault("type", "")
    spec.setdefault("persistentVolumeReclaimPolicy", "Retain")
    spec.setdefault("volumeMode", "Filesystem")
    obj.setdefault("status", {"phase": "Pending"})


def storage_class(obj: Object, findings: Findings) -> None:
    """Default and check a StorageClass."""
    if not obj.get("provisioner"):
        findings.require("provisioner")
    else:
        rules.qualified_name("provisioner", obj["provisioner"].lower(), findings)
    if "" in (obj.get("parameters") or {}):
        findings.bad("parameters", "", "field can not be empty.")
    for index, term in enumerate(obj.get("allowedTopologies") or ()):
        for place, rule in enumerate(term.get("matchLabelExpressions") or ()):
            where = f"allowedTopologies[{index}].matchLabelExpressions[{place}]"
            values = rule.get("values") or []
            rules.qualified_name(f"{where}.key", rule.get("key") or "", findings)
            if not values:
                findings.require(f"{where}.values")
            for at, value in enumerate(values):
                if value in values[:at]:
                    findings.duplicate(f"{where}.values[{at}]", value)
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
        elif key in (".", ".."):
            findings.bad(f"{name}[{key}]", key, f"must not be '{key}'")
        elif key.startswith(".."):
            findings.bad(f"{name}[{key}]", key, "must not start with '..'")


def _size(path: str, value: Any, findings: Findings) -> int:
    try:
        return len(base64.b64decode(value, validate=True))
    except (binascii.Error, TypeError, ValueError):
        findings.bad(path, value, "must be base64")
        return 0


def _check_size(path: str, size: int, findings: Findings) -> None:
    if size > LARGEST_BYTES:
        findings.add(path, f"Too long: may not be more than {LARGEST_BYTES} bytes")
