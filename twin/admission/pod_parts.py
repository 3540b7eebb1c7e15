"""Probes, volumes and variables of a pod spec: the API server's defaults.

Upstream: pkg/apis/core/v1/defaults.go of kubernetes/kubernetes.
"""

from __future__ import annotations

from collections.abc import Iterator

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


def default_parts(spec: Object) -> None:
    """Fill in volumes, and what containers say about probes, hooks, variables and ports, in place."""
    for volume in spec.get("volumes") or ():
        _default_volume(volume)
    for kind in ("initContainers", "containers", "ephemeralContainers"):
        for container in spec.get(kind) or ():
            _default_container(container)
            default_container(container)
            if spec.get("hostNetwork"):
                for port in container.get("ports") or ():
                    port.setdefault("hostPort", port.get("containerPort"))


def default_container(container: Object) -> None:
    """Fill in what every container has, amounts aside."""
    container.setdefault("terminationMessagePath", "/dev/termination-log")
    container.setdefault("terminationMessagePolicy", "File")
    container.setdefault("imagePullPolicy", _pull_policy(str(container.get("image", ""))))
    container.setdefault("resources", {})


def _pull_policy(image: str) -> str:
    latest = image.endswith(":latest") or ":" not in image.rpartition("/")[2]
    return "Always" if latest else "IfNotPresent"


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


def _default_volume(volume: Object) -> None:
    if not any(source for source in volume if source != "name"):
        volume["emptyDir"] = {}
    for source in ("configMap", "secret", "downwardAPI", "projected"):
        if volume.get(source) is not None:
            volume[source].setdefault("defaultMode", _MODE)
    if volume.get("hostPath") is not None:
        volume["hostPath"].setdefault("type", "")
    image = volume.get("image")
    if image is not None:
        image.setdefault("pullPolicy", _pull_policy(image.get("reference", "")))
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
