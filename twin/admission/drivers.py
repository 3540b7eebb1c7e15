"""Drivers of volumes and devices, which nothing here acts on: what the API server fills in and refuses.

Upstream: pkg/apis/{storage,resource}/validation/validation.go and defaults.go of kubernetes/kubernetes.
"""

from __future__ import annotations

from inputs.quantities import parse_quantity
from twin.admission import rules
from twin.admission.findings import Findings
from twin.admission.placement import check_selector
from twin.records import Object

_SHORTEST_TOKEN = 600
_DRIVER_FLAGS = {"podInfoOnMount": False, "storageCapacity": False, "requiresRepublish": False,
                 "seLinuxMount": False, "attachRequired": True}  # fmt: skip
_GROUP_POLICIES = ("File", "None", "ReadWriteOnceWithFSType")


def csi_driver(obj: Object, findings: Findings) -> None:
    """Default and check a CSIDriver."""
    spec = obj.setdefault("spec", {})
    for field, value in _DRIVER_FLAGS.items():
        spec.setdefault(field, value)
    policy = spec.setdefault("fsGroupPolicy", "ReadWriteOnceWithFSType")
    rules.one_of("spec.fsGroupPolicy", policy, _GROUP_POLICIES, findings)
    for mode in spec.setdefault("volumeLifecycleModes", ["Persistent"]):
        rules.one_of("spec.volumeLifecycleModes", mode, ("Persistent", "Ephemeral"), findings)
    audiences: list[str] = []
    for index, request in enumerate(spec.get("tokenRequests") or ()):
        where, audience = f"spec.tokenRequests[{index}]", request.setdefault("audience", "")
        if audience in audiences:
            findings.duplicate(f"{where}.audience", audience)
        audiences.append(audience)
        seconds = request.get("expirationSeconds")
        if seconds is not None and seconds < _SHORTEST_TOKEN:
            why = "may not specify a duration less than 10 minutes"
            findings.bad(f"{where}.expirationSeconds", seconds, why)


def csi_node(obj: Object, findings: Findings) -> None:
    """Check a CSINode."""
    names: list[str] = []
    for index, driver in enumerate((obj.setdefault("spec", {})).get("drivers") or ()):
        where, name = f"spec.drivers[{index}]", driver.get("name") or ""
        if not name:
            findings.require(f"{where}.name")
        elif name in names:
            findings.duplicate(f"{where}.name", name)
        names.append(name)
        if not driver.get("nodeID"):
            findings.require(f"{where}.nodeID")
        count = (driver.get("allocatable") or {}).get("count")
        rules.not_negative(f"{where}.allocatable.count", count, findings)


def storage_capacity(obj: Object, findings: Findings) -> None:
    """Check a CSIStorageCapacity."""
    rules.subdomain("storageClassName", obj.get("storageClassName") or "", findings)
    amount = obj.get("capacity")
    if amount is not None and parse_quantity(amount) < 0:
        findings.bad("capacity", str(amount), "must be greater than or equal to 0")
    check_selector(obj.get("nodeTopology"), findings, "nodeTopology")


def attachment(obj: Object, findings: Findings) -> None:
    """Complete and check a VolumeAttachment."""
    obj.setdefault("status", {"attached": False})
    spec = obj.setdefault("spec", {})
    if not spec.get("attacher"):
        findings.require("spec.attacher")
    else:
        rules.subdomain("spec.attacher", spec["attacher"].lower(), findings)
    rules.subdomain("spec.nodeName", spec.get("nodeName") or "", findings)
    source = spec.setdefault("source", {})
    name = source.get("persistentVolumeName")
    if (name is None) == (source.get("inlineVolumeSpec") is None):
        why = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"
        findings.require("spec.source", why)
    elif name == "":
        why = "must specify non empty persistentVolumeName"
        findings.require("spec.source.persistentVolumeName", why)
        rules.subdomain("spec.source.persistentVolumeName", name, findings)


def device_class(obj: Object, findings: Findings) -> None:
    """Check a DeviceClass."""
    spec = obj.setdefault("spec", {})
    _check_device_selectors(spec.get("selectors") or (), findings, "spec.selectors")
    for index, entry in enumerate(spec.get("config") or ()):
        where = f"spec.config[{index}].opaque"
        rules.subdomain(
            f"{where}.driver", (entry.get("opaque") or {}).get("driver") or "", findings
        )


def _check_device_selectors(
    selectors: list[Object] | tuple[()], findings: Findings, path: str
) -> None:
    for index, selector in enumerate(selectors):
        if selector.get("cel") is None:
            findings.require(f"{path}[{index}].cel")
        elif not selector["cel"].get("expression"):
            why = "compilation failed: the expression is empty"
            findings.bad(f"{path}[{index}].cel.expression", "", why)


def resource_claim(obj: Object, findings: Findings) -> None:
    """Default and check a ResourceClaim."""
    _check_claim(obj.setdefault("spec", {}), findings, "spec")
    obj.setdefault("status", {})


def resource_claim_template(obj: Object, findings: Findings) -> None:
    """Default and check a ResourceClaimTemplate."""
    inner = obj.setdefault("spec", {}).setdefault("spec", {})
    obj["spec"].setdefault("metadata", {})
    _check_claim(inner, findings, "spec.spec")


def _check_claim(spec: Object, findings: Findings, path: str) -> None:
    names: list[str] = []
    for index, request in enumerate(spec.setdefault("devices", {}).get("requests") or ()):
        where, name = f"{path}.devices.requests[{index}]", request.get("name") or ""
        rules.dns_label(f"{where}.name", name, findings)
        if name in names:
            findings.duplicate(where, name)
        names.append(name)
        exactly, choices = request.get("exactly"), request.get("firstAvailable")
        if (exactly is None) == (not choices):
            why = "exactly one of `exactly` or `firstAvailable` is required"
            findings.require(where, why)
        if exactly is not None:
            _check_request(exactly, findings, f"{where}.exactly")
        for place, choice in enumerate(choices or ()):
            _check_request(choice, findings, f"{where}.firstAvailable[{place}]")


def _check_request(request: Object, findings: Findings, path: str) -> None:
    if not request.get("deviceClassName"):
        findings.require(f"{path}.deviceClassName")
    mode = request.setdefault("allocationMode", "ExactCount")
    rules.one_of(f"{path}.allocationMode", mode, ("All", "ExactCount"), findings)
    if mode == "ExactCount" and request.setdefault("count", 1) < 1:
        findings.bad(f"{path}.count", request["count"], "must be greater than zero")
    _check_device_selectors(request.get("selectors") or (), findings, f"{path}.selectors")


_PLACES = ("nodeName", "nodeSelector", "allNodes", "perDeviceNodeSelection")


def resource_slice(obj: Object, findings: Findings) -> None:
    """Check a ResourceSlice."""
    spec = obj.setdefault("spec", {})
    pool = spec.setdefault("pool", {})
    pool.setdefault("generation", 0)
    if not spec.get("driver"):
        findings.require("spec.driver")
    if not pool.get("name"):
        findings.require("spec.pool.name")
    if pool.get("resourceSliceCount", 0) < 1:
        count = pool.get("resourceSliceCount", 0)
        findings.bad("spec.pool.resourceSliceCount", count, "must be greater than zero")
    stated = [field for field in _PLACES if spec.get(field)]
    listed = ", ".join(f"`{field}`" for field in _PLACES)
    if not stated:
        findings.require("spec", f"exactly one of {listed} is required")
    elif len(stated) > 1:
        shown = "{" + ", ".join(f"`{field}`" for field in stated) + "}"
        why = f"exactly one of {listed} is required, but multiple fields are set"
        findings.bad("spec", shown, why)
