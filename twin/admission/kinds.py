"""Defaults and checks of all kinds but pods."""

from __future__ import annotations

from collections.abc import Callable

from twin.admission import (
    api_services,
    flow_control,
    limit_ranges,
    networks,
    node_pools,
    policies,
    priority_classes,
    quota_scopes,
    roles,
    storage,
    vertical,
    webhook_configurations,
    workloads,
)
from twin.admission.custom import definitions
from twin.admission.findings import Findings
from twin.records import Object

_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")


def admit(resource: str, obj: Object, findings: Findings) -> None:
    """Default and check an object of `resource` in place."""
    admitter = _ADMITTERS.get(resource)
    if admitter is not None:
        admitter(obj, findings)


def check_unchanged(resource: str, old: Object, new: Object, findings: Findings) -> None:
    """Check the immutable fields of an update."""
    before, after = old.get("spec") or {}, new.get("spec") or {}
    for path in _IMMUTABLE.get(resource, ()):
        if before.get(path) == after.get(path):
            continue
        if resource == "jobs" and _job_may_change(path, old, before, after):
            continue
        findings.add(f"spec.{path}", "Invalid value: field is immutable")
    if resource == "customresourcedefinitions":
        definitions.check_unchanged(old, new, findings)
    if resource in ("configmaps", "secrets"):
        storage.check_fixed(old, new, findings)
    if resource == "priorityclasses":
        priority_classes.check_class_unchanged(old, new, findings)
    if resource in ("rolebindings", "clusterrolebindings"):
        roles.check_binding_unchanged(old, new, findings)
    if resource == "statefulsets":
        _check_statefulset_unchanged(before, after, findings)
    if resource == "controllerrevisions" and old.get("data") != new.get("data"):
        findings.add("data", "Invalid value: field is immutable")


_IMMUTABLE = {
    "deployments": ("selector",),
    "replicasets": ("selector",),
    "daemonsets": ("selector",),
    "jobs": ("selector", "template", "completions", "completionMode"),
}
_STATEFULSET_CHANGEABLE = (
    "replicas",
    "ordinals",
    "template",
    "updateStrategy",
    "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy",
    "minReadySeconds",
)


def _job_may_change(field: str, old: Object, before: Object, after: Object) -> bool:
    """True for what queues may change: the scheduling directives of a Job that has not started, and
    completions together with parallelism of an indexed one.
    """
    if field == "completions":
        indexed = before.get("completionMode") == "Indexed"
        return bool(indexed and after.get("completions") == after.get("parallelism"))
    started = "startTime" in (old.get("status") or {})
    if field != "template" or not before.get("suspend") or started:
        return False
    return _fixed_part(before["template"]) == _fixed_part(after.get("template") or {})


def _fixed_part(template: Object) -> Object:
    """Return a pod template without labels, annotations and scheduling directives."""
    free = ("nodeSelector", "tolerations", "schedulingGates", "affinity")
    spec = {key: value for key, value in (template.get("spec") or {}).items() if key not in free}
    head = {key: value for key, value in (template.get("metadata") or {}).items()
            if key not in ("labels", "annotations")}  # fmt: skip
    return {"metadata": head, "spec": spec}


def _check_statefulset_unchanged(before: Object, after: Object, findings: Findings) -> None:
    fixed = {key for key in (*before, *after) if key not in _STATEFULSET_CHANGEABLE}
    if any(before.get(key) != after.get(key) for key in sorted(fixed)):
        listed = ", ".join(f"'{name}'" for name in _STATEFULSET_CHANGEABLE[:-1])
        findings.add(
            "spec",
            f"Forbidden: updates to statefulset spec for fields other than {listed} and "
            f"'{_STATEFULSET_CHANGEABLE[-1]}' are forbidden",
        )


def _namespace(obj: Object, findings: Findings) -> None:
    del findings  # a namespace has nothing that could be wrong
    obj.setdefault("spec", {}).setdefault("finalizers", ["kubernetes"])
    obj.setdefault("status", {}).setdefault("phase", "Active")
    labels = obj["metadata"].setdefault("labels", {})
    labels["kubernetes.io/metadata.name"] = obj["metadata"]["name"]


def _node(obj: Object, findings: Findings) -> None:
    spec = obj.setdefault("spec", {})
    for index, taint in enumerate(spec.get("taints") or []):
        path = f"spec.taints[{index}]"
        if not taint.get("key"):
            findings.require(f"{path}.key")
        if taint.get("effect") not in _EFFECTS:
            findings.bad(f"{path}.effect", taint.get("effect"), f"must be one of {_EFFECTS}")
    status = obj.get("status") or {}
    for field in ("capacity", "allocatable"):
        findings.quantities(f"status.{field}", status.get(field) or {})


def _budget(obj: Object, findings: Findings) -> None:
    spec = obj.setdefault("spec", {})
    if "minAvailable" in spec and "maxUnavailable" in spec:
        findings.bad("spec", "both", "minAvailable and maxUnavailable cannot be both set")
    for field in ("minAvailable", "maxUnavailable"):
        if field in spec:
            workloads.amount(f"spec.{field}", spec[field], findings)
    policy = spec.get("unhealthyPodEvictionPolicy")
    if policy not in (None, "IfHealthyBudget", "AlwaysAllow"):
        findings.add("spec.unhealthyPodEvictionPolicy", f'Unsupported value: "{policy}": supported '
                     'values: "AlwaysAllow", "IfHealthyBudget"')  # fmt: skip
    obj.setdefault(
        "status",
        {"currentHealthy": 0, "desiredHealthy": 0, "expectedPods": 0, "disruptionsAllowed": 0},
    )


def _quota(obj: Object, findings: Findings) -> None:
    spec = obj.setdefault("spec", {})
    findings.quantities("spec.hard", spec.get("hard") or {})
    quota_scopes.check(spec, findings)
    obj.setdefault("status", {})


def _limit_range(obj: Object, findings: Findings) -> None:
    spec = obj.setdefault("spec", {})
    if not isinstance(spec.get("limits"), list):
        findings.require("spec.limits")
        return
    for index, entry in enumerate(spec["limits"]):
        path = f"spec.limits[{index}]"
        if entry.get("type") not in ("Pod", "Container", "PersistentVolumeClaim"):
            findings.require(f"{path}.type")
        for field in ("min", "max", "default", "defaultRequest", "maxLimitRequestRatio"):
            findings.quantities(f"{path}.{field}", entry.get(field) or {})
        if not findings.causes:
            limit_ranges.complete(entry)


def _revision(obj: Object, findings: Findings) -> None:
    findings.count("revision", obj.setdefault("revision", 0))


_ADMITTERS: dict[str, Callable[[Object, Findings], None]] = {
    "namespaces": _namespace,
    "customresourcedefinitions": definitions.admit,
    "nodes": _node,
    "apiservices": api_services.admit,
    "flowschemas": flow_control.schema,
    "prioritylevelconfigurations": flow_control.level,
    "runtimeclasses": flow_control.runtime_class,
    "mutatingwebhookconfigurations": webhook_configurations.mutating,
    "validatingwebhookconfigurations": webhook_configurations.validating,
    "validatingadmissionpolicies": policies.policy,
    "validatingadmissionpolicybindings": policies.binding,
    "configmaps": storage.config_map,
    "secrets": storage.secret,
    "services": storage.service,
    "persistentvolumeclaims": storage.claim,
    "persistentvolumes": storage.volume,
    "storageclasses": storage.storage_class,
    "ingresses": networks.ingress,
    "networkpolicies": networks.policy,
    "endpoints": networks.endpoints,
    "endpointslices": networks.endpoint_slice,
    "events": networks.event,
    "deployments": workloads.deployment,
    "replicasets": workloads.replicaset,
    "replicationcontrollers": workloads.replication_controller,
    "statefulsets": workloads.statefulset,
    "daemonsets": workloads.daemonset,
    "controllerrevisions": _revision,
    "jobs": workloads.job,
    "cronjobs": workloads.cronjob,
    "horizontalpodautoscalers": workloads.autoscaler,
    "verticalpodautoscalers": vertical.check,
    "poddisruptionbudgets": _budget,
    "priorityclasses": priority_classes.check_class,
    "resourcequotas": _quota,
    "limitranges": _limit_range,
    "nodepools": node_pools.node_pool,
    "kwoknodeclasses": node_pools.node_class,
    "roles": roles.role,
    "clusterroles": roles.cluster_role,
    "rolebindings": roles.role_binding,
    "clusterrolebindings": roles.cluster_role_binding,
}
