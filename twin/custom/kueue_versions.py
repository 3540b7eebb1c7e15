"""Kueue's objects of v1beta1 to and from v1beta2, the form in which they are kept.

A real cluster asks Kueue's webhook; this is what it answers (apis/kueue/v1beta1/*_conversion.go of
kubernetes-sigs/kueue). Guarantee: to_v1beta2(to_v1beta1(obj)) is obj. Pure.
"""

from __future__ import annotations

from typing import Any

Object = dict[str, Any]
_SOURCES = {
    ("kueue.x-k8s.io", "WorkloadPriorityClass"): "kueue.x-k8s.io/workloadpriorityclass",
    ("scheduling.k8s.io", "PriorityClass"): "scheduling.k8s.io/priorityclass",
}
_REFERENCES = {source: pair for pair, source in _SOURCES.items()}
_STATUS_NAMES = {
    "LocalQueue": (("flavorUsage", "flavorsUsage"),),
    "Workload": (("accumulatedPastExexcutionTimeSeconds", "accumulatedPastExecutionTimeSeconds"),),
}
"""Members of a status by kind: their names in v1beta1 and in v1beta2."""


GROUP, OLDER, KEPT, SERVICE = "kueue.x-k8s.io", "v1beta1", "v1beta2", "kueue-webhook-service"
"""What a definition has to say so that this stands in for its webhook."""


def to_v1beta2(obj: Object) -> Object:
    """Return an object of v1beta1 as one of v1beta2."""
    found = _renamed(obj, newer=True)
    spec = dict(obj["spec"]) if isinstance(obj.get("spec"), dict) else None
    if spec is None:
        return found
    if obj.get("kind") == "ClusterQueue":
        _newer_queue(spec)
    elif obj.get("kind") == "Workload":
        name, source = spec.pop("priorityClassName", None), spec.pop("priorityClassSource", None)
        if source in _REFERENCES:
            group, kind = _REFERENCES[source]
            spec["priorityClassRef"] = {"group": group, "kind": kind, "name": name or ""}
    return {**found, "spec": spec}


def to_v1beta1(obj: Object) -> Object:
    """Return an object of v1beta2 as one of v1beta1."""
    found = _renamed(obj, newer=False)
    spec = dict(obj["spec"]) if isinstance(obj.get("spec"), dict) else None
    if spec is None:
        return found
    if obj.get("kind") == "ClusterQueue" and "cohortName" in spec:
        spec["cohort"] = spec.pop("cohortName")
    elif obj.get("kind") == "Workload":
        reference = spec.pop("priorityClassRef", None) or {}
        source = _SOURCES.get((reference.get("group", ""), reference.get("kind", "")))
        if source is not None:
            spec |= {"priorityClassName": reference["name"], "priorityClassSource": source}
    return {**found, "spec": spec}


def _newer_queue(spec: Object) -> None:
    if "cohort" in spec:
        spec["cohortName"] = spec.pop("cohort")
    checks = spec.pop("admissionChecks", None)
    if checks:
        spec["admissionChecksStrategy"] = {"admissionChecks": [{"name": name} for name in checks]}
    fungible = spec.get("flavorFungibility")
    if isinstance(fungible, dict):
        older = {"Borrow": "MayStopSearch", "Preempt": "MayStopSearch"}
        spec["flavorFungibility"] = {k: older.get(v, v) for k, v in fungible.items()}


def _renamed(obj: Object, *, newer: bool) -> Object:
    """Return an object in the other version, the members of its status under their names there."""
    version = "v1beta2" if newer else "v1beta1"
    found = {**obj, "apiVersion": f"kueue.x-k8s.io/{version}"}
    status = obj.get("status")
    if isinstance(status, dict):
        status = dict(status)
        for older_name, newer_name in _STATUS_NAMES.get(obj.get("kind", ""), ()):
            before, after = (older_name, newer_name) if newer else (newer_name, older_name)
            if before in status:
                status[after] = status.pop(before)
        found["status"] = status
    return found
