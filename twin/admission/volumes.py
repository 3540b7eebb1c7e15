"""Volumes of a pod spec: one source each, and what each source has to say.

Upstream: pkg/apis/core/validation/validation.go of kubernetes/kubernetes.
"""

from __future__ import annotations

import json

from inputs.quantities import parse_quantity
from twin.admission import rules
from twin.admission.containers import check_amount_name
from twin.admission.findings import Findings
from twin.admission.placement import check_selector
from twin.records import Object

_FILE_FIELDS = (
    *("metadata.name", "metadata.namespace", "metadata.uid"),
    *("metadata.labels", "metadata.annotations"),
)
_HOST_PATHS = (
    *("", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File"),
    *("FileOrCreate", "Socket"),
)
_ACCESS, _ALONE = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce"), "ReadWriteOncePod"
_SHORTEST_TOKEN, _LONGEST_TOKEN = 600, 1 << 32
_NEEDED = {
    "secret": ("secretName",),
    "configMap": ("name",),
    "persistentVolumeClaim": ("claimName",),
    "nfs": ("server", "path"),
    "csi": ("driver",),
    "iscsi": ("targetPortal", "iqn"),
    "rbd": ("monitors", "image"),
    "gitRepo": ("repository",),
    "hostPath": ("path",),
    "awsElasticBlockStore": ("volumeID",),
    "gcePersistentDisk": ("pdName",),
    "azureDisk": ("diskName", "diskURI"),
    "azureFile": ("secretName", "shareName"),
    "cephfs": ("monitors",),
    "cinder": ("volumeID",),
    "glusterfs": ("endpoints", "path"),
    "quobyte": ("registry", "volume"),
    "portworxVolume": ("volumeID",),
    "scaleIO": ("gateway", "system", "volumeName"),
    "flexVolume": ("driver",),
    "image": ("reference",),
    "ephemeral": ("volumeClaimTemplate",),
}
"""What a source cannot do without."""


def check_volumes(spec: Object, findings: Findings, path: str) -> set[str]:
    """Check the volumes of a pod spec and return their names."""
    names: set[str] = set()
    for index, volume in enumerate(spec.get("volumes") or ()):
        name, where = volume.get("name") or "", f"{path}.volumes[{index}]"
        if not name:
            findings.require(f"{where}.name")
        else:
            rules.dns_label(f"{where}.name", name, findings)
        if name in names:
            findings.add(f"{where}.name", f"Duplicate value: {json.dumps(name)}")
        names.add(name)
        sources = [each for each in volume if each != "name" and volume[each] is not None]
        for source in sources[:1]:
            _check_source(source, volume[source], findings, f"{where}.{source}")
        for source in sources[1:]:
            findings.forbid(f"{where}.{source}", "may not specify more than 1 volume type")
    return names


def _check_source(source: str, content: Object, findings: Findings, path: str) -> None:
    for field in _NEEDED.get(source, ()):
        if not content.get(field):
            findings.require(f"{path}.{field}")
    if source in ("configMap", "secret", "downwardAPI", "projected"):
        _check_mode(content.get("defaultMode"), findings, f"{path}.defaultMode")
    match source:
        case "configMap" | "secret":
            _check_items(content, findings, path)
        case "downwardAPI":
            _check_files(content, findings, path)
        case "projected":
            for index, each in enumerate(content.get("sources") or ()):
                _check_projection(each, findings, path, index)
        case "hostPath":
            rules.no_backsteps(f"{path}.path", content.get("path") or "", findings)
            rules.optional_word(f"{path}.type", content.get("type"), _HOST_PATHS, findings)
        case "nfs" if content.get("path") and not content["path"].startswith("/"):
            findings.bad(f"{path}.path", content["path"], "must be an absolute path")
        case "emptyDir" if parse_quantity(content.get("sizeLimit", 0)) < 0:
            why = "SizeLimit field must be a valid resource quantity"
            findings.forbid(f"{path}.sizeLimit", why)
        case "ephemeral" if content.get("volumeClaimTemplate") is not None:
            inner = content["volumeClaimTemplate"].get("spec") or {}
            check_claim_spec(inner, findings, f"{path}.volumeClaimTemplate.spec")


def check_claim_spec(spec: Object, findings: Findings, path: str) -> None:
    """Check how a volume is claimed: access modes and an amount."""
    if not spec.get("accessModes"):
        findings.require(f"{path}.accessModes", "at least 1 access mode is required")
    _check_modes(spec, findings, path)
    check_selector(spec.get("selector"), findings, f"{path}.selector")
    if spec.get("storageClassName"):
        rules.subdomain(f"{path}.storageClassName", spec["storageClassName"], findings)
    requests = (spec.get("resources") or {}).get("requests") or {}
    if "storage" not in requests:
        findings.require(f"{path}.resources[storage]")
    elif parse_quantity(requests["storage"]) <= 0:
        amount = str(requests["storage"])
        findings.bad(f"{path}.resources[storage]", amount, "must be greater than zero")
    words = ("Block", "Filesystem")
    rules.optional_word(f"{path}.volumeMode", spec.get("volumeMode"), words, findings)


def _check_modes(spec: Object, findings: Findings, path: str) -> None:
    modes, stated = (*_ACCESS, _ALONE), spec.get("accessModes") or []
    for mode in stated:
        if mode not in modes:
            findings.unsupported(f"{path}.accessModes", mode, modes)
    if _ALONE in stated and len(stated) > 1:
        findings.forbid(f"{path}.accessModes", f"may not use {_ALONE} with other access modes")


def check_volume_spec(spec: Object, findings: Findings, path: str) -> None:
    """Check the spec of a PersistentVolume."""
    if not spec.get("accessModes"):
        findings.require(f"{path}.accessModes")
    _check_modes(spec, findings, path)
    capacity = spec.get("capacity") or {}
    if not capacity:
        findings.require(f"{path}.capacity")
    if list(capacity) != ["storage"]:
        findings.unsupported(f"{path}.capacity", capacity or None, ("storage",))
    elif parse_quantity(capacity["storage"]) <= 0:
        amount = str(capacity["storage"])
        findings.bad(f"{path}.capacity[storage]", amount, "must be greater than zero")
    sources = [name for name in spec if name in _NEEDED or name in ("local", "fc", "flocker")]
    for name in sources[1:]:
        findings.forbid(f"{path}.{name}", "may not specify more than 1 volume type")
    for name in sources[:1]:
        needed = (*_NEEDED.get(name, ()), *(("volumeHandle",) if name == "csi" else ()))
        for field in needed:
            if not (spec[name] or {}).get(field):
                findings.require(f"{path}.{name}.{field}")
    if not sources:
        findings.require(path, "must specify a volume type")
    words = ("Delete", "Recycle", "Retain")
    stated = spec.get("persistentVolumeReclaimPolicy")
    rules.optional_word(f"{path}.persistentVolumeReclaimPolicy", stated, words, findings)
    modes = ("Block", "Filesystem")
    rules.optional_word(f"{path}.volumeMode", spec.get("volumeMode"), modes, findings)
    if spec.get("storageClassName"):
        rules.subdomain(f"{path}.storageClassName", spec["storageClassName"], findings)
    _check_where(spec, findings, path)


def _check_where(spec: Object, findings: Findings, path: str) -> None:
    """Check from which nodes a volume can be reached."""
    affinity = spec.get("nodeAffinity")
    if affinity is None:
        if spec.get("local") is not None:
            findings.require(f"{path}.nodeAffinity", "Local volume requires node affinity")
    elif affinity.get("required") is None:
        why = "must specify required node constraints"
        findings.require(f"{path}.nodeAffinity.required", why)
    elif not affinity["required"].get("nodeSelectorTerms"):
        why = "must have at least one node selector term"
        findings.require(f"{path}.nodeAffinity.required.nodeSelectorTerms", why)
    if spec.get("volumeAttributesClassName") is not None and spec.get("csi") is None:
        why = "has to be specified when using volumeAttributesClassName"
        findings.require(f"{path}.csi", why)


def _check_mode(mode: int | None, findings: Findings, path: str) -> None:
    if mode is not None and not 0 <= mode <= 0o777:
        why = "must be a number between 0 and 0777 (octal), both inclusive"
        findings.bad(path, mode, why)


def _check_items(content: Object, findings: Findings, path: str) -> None:
    for index, item in enumerate(content.get("items") or ()):
        where = f"{path}.items[{index}]"
        if not item.get("key"):
            findings.require(f"{where}.key")
        if not item.get("path"):
            findings.require(f"{where}.path")
        else:
            rules.inner_path(f"{where}.path", item["path"], findings)
        _check_mode(item.get("mode"), findings, f"{where}.mode")


def _check_files(content: Object, findings: Findings, path: str) -> None:
    """Check files of the downward API, which upstream names without their index."""
    for item in content.get("items") or ():
        if not item.get("path"):
            findings.require(f"{path}.path")
        else:
            rules.inner_path(f"{path}.path", item["path"], findings)
        field, amount = item.get("fieldRef"), item.get("resourceFieldRef")
        if field is not None and amount is not None:
            findings.bad(
                path,
                "resource",
                "fieldRef and resourceFieldRef can not be specified simultaneously",
            )
        elif field is not None:
            name = field.get("fieldPath") or ""
            if not name:
                findings.require(f"{path}.fieldRef.fieldPath")
            elif name.partition("['")[0] not in _FILE_FIELDS:
                findings.unsupported(f"{path}.fieldRef.fieldPath", name, _FILE_FIELDS)
        elif amount is not None:
            if not amount.get("containerName"):
                findings.require(f"{path}.resourceFieldRef.containerName")
            where = f"{path}.resourceFieldRef.resource"
            check_amount_name(amount.get("resource") or "", findings, where)
        else:
            findings.require(path, "one of fieldRef and resourceFieldRef is required")
        _check_mode(item.get("mode"), findings, f"{path}.mode")


def _check_projection(projection: Object, findings: Findings, path: str, index: int) -> None:
    where = f"{path}.sources[{index}]"
    stated = [name for name in projection if projection[name] is not None]
    for _ in stated[1:]:
        findings.forbid(where, "may not specify more than 1 volume type per source")
    match stated:
        case ["secret" | "configMap" as name, *_]:
            if not projection[name].get("name"):
                findings.require(f"{where}.{name}.name")
            _check_items(projection[name], findings, f"{where}.{name}")
        case ["downwardAPI", *_]:
            _check_files(projection["downwardAPI"], findings, f"{where}.downwardAPI")
        case ["serviceAccountToken", *_]:
            _check_token(projection["serviceAccountToken"], findings, (path, where))


def _check_token(token: Object, findings: Findings, places: tuple[str, str]) -> None:
    path, where = places[0], f"{places[1]}.serviceAccountToken"
    seconds = token.get("expirationSeconds", _SHORTEST_TOKEN)
    if seconds < _SHORTEST_TOKEN:
        why = "may not specify a duration less than 10 minutes"
        findings.bad(f"{where}.expirationSeconds", seconds, why)
    elif seconds > _LONGEST_TOKEN:
        why = "may not specify a duration larger than 2^32 seconds"
        findings.bad(f"{where}.expirationSeconds", seconds, why)
    if not token.get("path"):
        findings.require(f"{path}.path")
    else:
        rules.inner_path(f"{path}.path", token["path"], findings)
