"""What may be written through a pod's `resize` subresource: CPU and memory of its containers.

Source: kubernetes/kubernetes pkg/apis/core/validation/validation.go ValidatePodResize and
validateResizePolicy (1.36). 1.33 also refused to lower a memory limit without a restart; from 1.34 on
the kubelet decides that.
"""

from __future__ import annotations

from collections.abc import Sequence

from twin.admission.findings import Findings
from twin.records import Object

_ADJUSTABLE = ("cpu", "memory")
_POLICIES = ("NotRequired", "RestartContainer")
_RESIZABLE = ("resources", "resizePolicy")
_MIRROR = "kubernetes.io/config.mirror"


def check_resize(old: Object, new: Object, findings: Findings) -> None:
    """Check a resize (its spec defaulted) against the pod that is stored.

    Of the new spec only the containers' resources and resizePolicy are kept, as
    pkg/registry/core/pod/strategy.go does (dropNonResizeUpdates): another image is no error and changes
    nothing.
    """
    if _MIRROR in (old["metadata"].get("annotations") or {}):
        findings.add("", "Forbidden: static pods cannot be resized")
        return
    before, after = old["spec"], new["spec"]
    for field in ("containers", "initContainers"):
        if _check_order(field, before.get(field) or (), after.get(field) or (), findings):
            return
    if before.get("initContainers") != after.get("initContainers"):
        findings.add("spec", "Forbidden: resources for non-sidecar init containers are immutable")
        return
    after = new["spec"] = _with_resizes(before, after)
    pairs = zip(before["containers"], after["containers"], strict=True)
    for index, (mine, theirs) in enumerate(pairs):
        path = f"spec.containers[{index}].resources"
        for field in ("requests", "limits"):
            asked = (theirs.get("resources") or {}).get(field) or {}
            if any(name not in asked for name in (mine.get("resources") or {}).get(field) or ()):
                why = f"Forbidden: resource {field} cannot be removed"
                findings.add(f"{path}.{field}", why)
    if not findings.causes and _without_amounts(before) != _without_amounts(after):
        findings.add("spec", "Forbidden: only cpu and memory resources are mutable")


def _with_resizes(before: Object, after: Object) -> Object:
    """Return the stored spec with the resources and resizePolicy of the new one."""
    containers = []
    for mine, theirs in zip(before["containers"], after["containers"], strict=True):
        kept = {name: value for name, value in mine.items() if name not in _RESIZABLE}
        containers.append(kept | {name: theirs[name] for name in _RESIZABLE if name in theirs})
    return {**before, "containers": containers}


def check_qos(before: str, after: str, findings: Findings) -> None:
    """Check that the pod keeps its quality of service."""
    if before != after:
        findings.bad("spec", before, "Pod QOS Class may not change as a result of resizing")


def check_resize_policy(
    policies: Sequence[Object], findings: Findings, path: str, restart_policy: str
) -> None:
    """Check a container's resizePolicy."""
    seen: list[object] = []
    for index, policy in enumerate(policies):
        name, restart = policy.get("resourceName"), policy.get("restartPolicy")
        if name in seen:
            findings.add(f"{path}[{index}]", f'Duplicate value: "{name}"')
        seen.append(name)
        for value, supported in ((name, _ADJUSTABLE), (restart, _POLICIES)):
            if not value:
                findings.require(path)
            elif value not in supported:
                listed = ", ".join(f'"{entry}"' for entry in supported)
                findings.add(path, f'Unsupported value: "{value}": supported values: {listed}')
        if restart_policy == "Never" and restart != "NotRequired":
            why = "must be 'NotRequired' when pod `restartPolicy` is 'Never'"
            findings.bad(path, restart, why)


def _check_order(
    field: str, before: Sequence[Object], after: Sequence[Object], findings: Findings
) -> bool:
    """True, and said so, when containers were added, removed, renamed or moved."""
    if len(before) != len(after):
        why = f"Forbidden: {field} may not be added or removed on resize"
        findings.add(f"spec.{field}", why)
        return True
    for index, (mine, theirs) in enumerate(zip(before, after, strict=True)):
        if mine["name"] != theirs.get("name"):
            why = f"Forbidden: {field} may not be renamed or reordered on resize"
            findings.add(f"spec.{field}[{index}].name", why)
            return True
    return False


def _without_amounts(spec: Object) -> Object:
    containers = []
    for container in spec["containers"]:
        resources = container.get("resources") or {}
        rest = {
            field: {k: v for k, v in (resources.get(field) or {}).items() if k not in _ADJUSTABLE}
            for field in ("requests", "limits")
        }
        containers.append({**container, "resources": rest})
    return {**spec, "containers": containers}
