"""Probes, volumes and variables of a pod spec: the API server's defaults and checks.

Upstream: pkg/apis/core/v1/defaults.go and pkg/apis/core/validation/validation.go of kubernetes/kubernetes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from twin.admission.findings import Findings
from twin.records import Object

_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_PROBE: Object = {
    "timeoutSeconds": 1,
    "periodSeconds": 10,
    "successThreshold": 1,
    "failureThreshold": 3,
}
_MODE = 0o644
_TOKEN_SECONDS = 3_600


def admit_parts(spec: Object, findings: Findings, path: str) -> None:
    """Default and check volumes, and what containers say about probes, hooks, variables and mounts, in place."""
    volumes = _volumes(spec, findings, path)
    for kind in ("initContainers", "containers", "ephemeralContainers"):
        for index, container in enumerate(spec.get(kind) or ()):
            _default_container(container)
            if kind == "initContainers":
                default_container(container)
            if spec.get("hostNetwork"):
                for port in container.get("ports") or ():
                    port.setdefault("hostPort", port.get("containerPort"))
            where = f"{path}.{kind}[{index}]"
            _check_mounts(container, volumes, findings, where)


def default_container(container: Object) -> None:
    """Fill in what every container has, amounts aside."""
    container.setdefault("terminationMessagePath", "/dev/termination-log")
    container.setdefault("terminationMessagePolicy", "File")
    image = str(container.get("image", ""))
    latest = image.endswith(":latest") or ":" not in image.rpartition("/")[2]
    container.setdefault("imagePullPolicy", "Always" if latest else "IfNotPresent")
    container.setdefault("resources", {})


def _default_container(container: Object) -> None:
    for name in _PROBES:
        probe = container.get(name)
        if probe is not None:
            for field, value in _PROBE.items():
                if not probe.get(field):
                    probe[field] = value
            _default_handler(probe)
    for hook in (container.get("lifecycle") or {}).values():
        if isinstance(hook, dict):
            _default_handler(hook)
    for variable in container.get("env") or ():
        source = variable.get("valueFrom") or {}
        if source.get("fieldRef") is not None:
            source["fieldRef"].setdefault("apiVersion", "v1")
        if source.get("resourceFieldRef") is not None:
            source["resourceFieldRef"].setdefault("divisor", "0")


def _default_handler(handler: Object) -> None:
    if (request := handler.get("httpGet")) is not None:
        request.setdefault("path", "/")
        request.setdefault("scheme", "HTTP")
    if (call := handler.get("grpc")) is not None:
        call.setdefault("service", "")


def _volumes(spec: Object, findings: Findings, path: str) -> set[str]:
    names: set[str] = set()
    for index, volume in enumerate(spec.get("volumes") or ()):
        name, where = volume.get("name") or "", f"{path}.volumes[{index}]"
        if not name:
            findings.require(f"{where}.name")
        elif name in names:
            findings.add(f"{where}.name", f"Duplicate value: {json.dumps(name)}")
        names.add(name)
        _default_volume(volume)
    return names


def _default_volume(volume: Object) -> None:
    if not any(source for source in volume if source != "name"):
        volume["emptyDir"] = {}
    for source in ("configMap", "secret", "downwardAPI", "projected"):
        if volume.get(source) is not None:
            volume[source].setdefault("defaultMode", _MODE)
    if volume.get("hostPath") is not None:
        volume["hostPath"].setdefault("type", "")
    for part in _projections(volume):
        if part.get("serviceAccountToken") is not None:
            part["serviceAccountToken"].setdefault("expirationSeconds", _TOKEN_SECONDS)
        for item in (part.get("downwardAPI") or {}).get("items") or ():
            if item.get("fieldRef") is not None:
                item["fieldRef"].setdefault("apiVersion", "v1")
    claim = (volume.get("ephemeral") or {}).get("volumeClaimTemplate") or {}
    if claim:
        claim.setdefault("metadata", {})
        claim.setdefault("spec", {}).setdefault("volumeMode", "Filesystem")


def _projections(volume: Object) -> Iterator[Object]:
    yield from (volume.get("projected") or {}).get("sources") or ()
    if volume.get("downwardAPI") is not None:
        yield {"downwardAPI": volume["downwardAPI"]}


def _check_mounts(container: Object, volumes: set[str], findings: Findings, path: str) -> None:
    places: set[str] = set()
    for index, mount in enumerate(container.get("volumeMounts") or ()):
        where, name = f"{path}.volumeMounts[{index}]", mount.get("name") or ""
        if not name:
            findings.require(f"{where}.name")
        elif name not in volumes:
            findings.add(f"{where}.name", f"Not found: {json.dumps(name)}")
        place = mount.get("mountPath") or ""
        if not place:
            findings.require(f"{where}.mountPath")
        elif place in places:
            findings.bad(f"{where}.mountPath", place, "must be unique")
        places.add(place)
