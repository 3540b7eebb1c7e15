"""What may be written through a pod's `resize` subresource: CPU and memory of its containers.

Source: kubernetes/kubernetes pkg/apis/core/validation/validation.go ValidatePodResize (1.33).
"""

from __future__ import annotations

from twin.admission.findings import Findings
from twin.records import Object

_ADJUSTABLE = ("cpu", "memory")


def check_resize(old: Object, new: Object, findings: Findings) -> None:
    """Check the spec of a resize (defaulted) against the one that is stored."""
    if not findings.causes and _without_amounts(old) != _without_amounts(new):
        findings.add("spec", "Forbidden: only cpu and memory resources are mutable")
        return
    pairs = zip(old["containers"], new["containers"], strict=True)
    for index, (before, after) in enumerate(pairs):
        path = f"spec.containers[{index}].resources"
        for field in ("requests", "limits"):
            mine = (before.get("resources") or {}).get(field) or {}
            theirs = (after.get("resources") or {}).get(field) or {}
            for name in mine:
                if name not in theirs:
                    findings.add(
                        f"{path}.{field}", f"Forbidden: resource {field} cannot be removed"
                    )
                    break


def check_qos(before: str, after: str, findings: Findings) -> None:
    """Check that the pod keeps its quality of service."""
    if before != after:
        findings.bad("spec", after, "Pod QOS Class may not change as a result of resizing")


def _without_amounts(spec: Object) -> Object:
    containers = []
    for container in spec["containers"]:
        resources = container.get("resources") or {}
        rest = {
            field: {k: v for k, v in (resources.get(field) or {}).items() if k not in _ADJUSTABLE}
            for field in ("requests", "limits")
        }
        containers.append({**container, "resources": rest, "resizePolicy": None})
    return {**spec, "containers": containers}
