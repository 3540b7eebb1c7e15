"""Defaults and checks of all kinds but pods."""

from __future__ import annotations

from collections.abc import Callable

from inputs.quantities import canonical_text, parse_quantity
from twin.admission import (
    api_services,
    autoscalers,
    drivers,
    events,
    jobs,
    limit_ranges,
    metadata,
    networks,
    node_pools,
    plain_kinds,
    policies,
    priority_classes,
    quota_scopes,
    roles,
    rules,
    services,
    storage,
    vertical,
    webhook_configurations,
    workloads,
)
from twin.admission.amounts import STANDARD
from twin.admission.custom import definitions
from twin.admission.findings import Findings
from twin.admission.placement import check_selector
from twin.admission.services import check_cidr
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
    if resource == "namespaces":
        new["spec"] = old.get("spec") or {}  # subresources of their own change it
    for field in _FIXED.get(resource, ()):
        if old.get(field) != new.get(field):
            findings.bad(field, new.get(field), "field is immutable")
    for path in _IMMUTABLE.get(resource, ()):
        if before.get(path) == after.get(path):
            continue
        if resource == "jobs" and _job_may_change(path, old, before, after):
            continue
        place = "spec.template.spec" if (resource, path) == ("jobs", "template") else f"spec.{path}"
        findings.bad(place, after.get(path), "field is immutable")
    if resource in ("rolebindings", "clusterrolebindings"):
        roles.check_binding_unchanged(old, new, findings)
    if resource == "statefulsets":
        _check_statefulset_unchanged(before, after, findings)
    check = _UNCHANGED.get(resource)
    if check is not None:
        check(old, new, findings)


_UNCHANGED: dict[str, Callable[[Object, Object, Findings], None]] = {
    "customresourcedefinitions": definitions.check_unchanged,
    "configmaps": storage.check_fixed,
    "secrets": storage.check_fixed,
    "priorityclasses": priority_classes.check_class_unchanged,
    "persistentvolumeclaims": storage.check_claim_unchanged,
    "servicecidrs": plain_kinds.check_ranges_unchanged,
}


def check_status(resource: str, old: Object, new: Object, findings: Findings) -> None:
    """Complete and check what a client writes into `status`."""
    status = new.get("status") or {}
    for condition in status.get("conditions") or ():
        for name in _TIMED.get(resource, ()):
            condition.setdefault(name, None)
    if resource == "horizontalpodautoscalers" and status:
        status.setdefault("currentMetrics", None)
    balanced = (status.get("loadBalancer") or {}).get("ingress")
    if resource == "services" and balanced and old["spec"].get("type") != "LoadBalancer":
        why = "may only be used when `spec.type` is 'LoadBalancer'"
        findings.forbid("status.loadBalancer.ingress", why)
    if resource == "jobs":
        jobs.check_began_unchanged(old, new, findings)
    elif resource == "namespaces":
        new["status"] = status = {**status, "phase": status.get("phase") or "Active"}
        phase = status["phase"]
        head = new.setdefault("metadata", {})
        head["labels"] = {**(head.get("labels") or {}), _NAME_LABEL: old["metadata"]["name"]}
        ends = "deletionTimestamp" in (new.get("metadata") or {})
        wanted = "Terminating" if ends else "Active"
        if phase != wanted:
            state = "not empty" if ends else "empty"
            why = f"may only be '{wanted}' if `deletionTimestamp` is {state}"
            findings.bad("status.Phase", phase, why)
    elif resource in _COUNTING:
        for name, value in status.items():
            if isinstance(value, int) and not isinstance(value, bool):
                findings.count(f"status.{name}", value)


_NAME_LABEL = "kubernetes.io/metadata.name"
_TIMED = {
    **dict.fromkeys(
        ("pods", "persistentvolumeclaims", "jobs"), ("lastProbeTime", "lastTransitionTime")
    ),
    "nodes": ("lastHeartbeatTime", "lastTransitionTime"),
    "deployments": ("lastUpdateTime", "lastTransitionTime"),
    **dict.fromkeys(("replicasets", "statefulsets", "daemonsets"), ("lastTransitionTime",)),
    **dict.fromkeys(("replicationcontrollers", "namespaces", "services"), ("lastTransitionTime",)),
    "horizontalpodautoscalers": ("lastTransitionTime",),
}
"""The times of conditions that are shown where nobody has written them."""
_COUNTING = ("deployments", "replicasets", "statefulsets", "daemonsets", "replicationcontrollers")
_FIXED = {
    "runtimeclasses": ("handler",),
    "volumeattributesclasses": ("driverName", "parameters"),
    "ipaddresses": ("spec",),
    "storageclasses": ("provisioner", "parameters", "reclaimPolicy", "volumeBindingMode"),
    "csistoragecapacities": ("nodeTopology", "storageClassName"),
    "volumeattachments": ("spec",),
    "endpointslices": ("addressType",),
    "controllerrevisions": ("data",),
    "secrets": ("type",),
}
"""Fields beside `spec`, or all of it, that stay as they are."""
_IMMUTABLE = {
    "deployments": ("selector",),
    "replicasets": ("selector",),
    "daemonsets": ("selector",),
    "jobs": (
        *("selector", "template", "completions", "completionMode", "podFailurePolicy"),
        *("backoffLimitPerIndex", "successPolicy", "managedBy"),
    ),
    "resourcequotas": ("scopes", "scopeSelector"),
    "ingressclasses": ("controller",),
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
    for kind in ("containers", "initContainers"):
        if kind in spec:
            spec[kind] = [
                {key: value for key, value in each.items() if key != "resources"}
                for each in spec[kind]
            ]
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
    finalizers = list(obj.setdefault("spec", {}).get("finalizers") or ())
    if "kubernetes" not in finalizers:
        finalizers.append("kubernetes")
    obj["spec"]["finalizers"] = finalizers
    for finalizer in finalizers:
        if "/" not in finalizer and finalizer != "kubernetes":
            why = "name is neither a standard finalizer name nor is it fully qualified"
            findings.bad("spec.finalizers", finalizer, why)
    obj.setdefault("status", {}).setdefault("phase", "Active")
    labels = obj["metadata"].setdefault("labels", {})
    labels[_NAME_LABEL] = obj["metadata"]["name"]


def _node(obj: Object, findings: Findings) -> None:
    spec = obj.setdefault("spec", {})
    pairs: set[tuple[str, str]] = set()
    for index, taint in enumerate(spec.get("taints") or []):
        path = f"metadata.taints[{index}]"  # as upstream names it
        key, effect = taint.get("key") or "", taint.get("effect") or ""
        rules.qualified_name(f"{path}.key", key, findings)
        metadata.check_label_value(f"{path}.value", taint.get("value") or "", findings)
        if not effect:
            findings.require(f"{path}.effect")
        else:
            rules.one_of(f"{path}.effect", effect, _EFFECTS, findings)
        if (key, effect) in pairs:
            findings.duplicate(path, {"key": key, "effect": effect})
        pairs.add((key, effect))
    for index, text in enumerate(spec.get("podCIDRs") or filter(None, [spec.get("podCIDR")])):
        check_cidr(f"spec.podCIDRs[{index}]", text, findings)
    status = obj.get("status") or {}
    for field in ("capacity", "allocatable"):
        for name, amount in (status.get(field) or {}).items():
            if parse_quantity(str(amount)) < 0:
                why = "must be greater than or equal to 0"
                findings.bad(f"status.{field}.{name}", str(amount), why)


def _budget(obj: Object, findings: Findings) -> None:
    spec = obj.setdefault("spec", {})
    if "minAvailable" in spec and "maxUnavailable" in spec:
        findings.bad("spec", "both", "minAvailable and maxUnavailable cannot be both set")
    for field in ("minAvailable", "maxUnavailable"):
        if field in spec:
            workloads.amount(f"spec.{field}", spec[field], findings, bounded=True)
    check_selector(spec.get("selector"), findings, "spec.selector")
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
    hard = spec.get("hard") or {}
    findings.quantities("spec.hard", hard)
    for name, amount in hard.items():
        _check_quota_name(name, amount, findings, f"spec.hard[{name}]")
    quota_scopes.check(spec, findings)
    obj.setdefault("status", {})


def _check_quota_name(name: str, amount: object, findings: Findings, path: str) -> None:
    if "/" in name:
        rules.qualified_name(path, name, findings)
    elif name not in STANDARD and not name.startswith(("hugepages-", "requests.", "limits.")):
        rules.qualified_name(path, name, findings)
        findings.bad(path, name, "must be a standard resource type or fully qualified")
        findings.bad(path, name, "must be a standard resource for quota")
    if (name in _COUNTED or name.startswith("count/")) and parse_quantity(str(amount)) % 1:
        findings.bad(path, canonical_text(str(amount)), "must be an integer")


_COUNTED = frozenset(
    {
        *("pods", "services", "replicationcontrollers", "resourcequotas", "secrets", "configmaps"),
        *("persistentvolumeclaims", "services.nodeports", "services.loadbalancers"),
    }
)
"""Resources of quotas that are whole numbers."""


def _lease(obj: Object, findings: Findings) -> None:
    spec = obj.setdefault("spec", {})
    seconds = spec.get("leaseDurationSeconds")
    if seconds is not None and seconds <= 0:
        findings.bad("spec.leaseDurationSeconds", seconds, "must be greater than 0")
    rules.not_negative("spec.leaseTransitions", spec.get("leaseTransitions"), findings)
    for field in ("strategy", "preferredHolder"):  # behind a gate that is closed
        spec.pop(field, None)


def _limit_range(obj: Object, findings: Findings) -> None:
    spec = obj.setdefault("spec", {})
    entries = spec.setdefault("limits", [])
    for entry in entries:
        limit_ranges.complete(entry)
    limit_ranges.check(entries, findings)


def _revision(obj: Object, findings: Findings) -> None:
    findings.count("revision", obj.setdefault("revision", 0))
    if obj.get("data") is None:
        findings.require("data", "data is mandatory")


_ADMITTERS: dict[str, Callable[[Object, Findings], None]] = {
    "namespaces": _namespace,
    "customresourcedefinitions": definitions.admit,
    "nodes": _node,
    "apiservices": api_services.admit,
    "mutatingwebhookconfigurations": webhook_configurations.mutating,
    "validatingwebhookconfigurations": webhook_configurations.validating,
    "validatingadmissionpolicies": policies.policy,
    "validatingadmissionpolicybindings": policies.binding,
    "configmaps": storage.config_map,
    "secrets": storage.secret,
    "services": services.service,
    "persistentvolumeclaims": storage.claim,
    "persistentvolumes": storage.volume,
    "storageclasses": storage.storage_class,
    "csidrivers": drivers.csi_driver,
    "csinodes": drivers.csi_node,
    "csistoragecapacities": drivers.storage_capacity,
    "volumeattachments": drivers.attachment,
    "volumeattributesclasses": plain_kinds.attributes_class,
    "podtemplates": plain_kinds.pod_template,
    "runtimeclasses": plain_kinds.runtime_class,
    "ipaddresses": plain_kinds.ip_address,
    "servicecidrs": plain_kinds.service_cidr,
    "deviceclasses": drivers.device_class,
    "resourceclaims": drivers.resource_claim,
    "resourceclaimtemplates": drivers.resource_claim_template,
    "resourceslices": drivers.resource_slice,
    "ingresses": networks.ingress,
    "networkpolicies": networks.policy,
    "endpoints": networks.endpoints,
    "endpointslices": networks.endpoint_slice,
    "events": events.event,
    "leases": _lease,
    "ingressclasses": networks.ingress_class,
    "deployments": workloads.deployment,
    "replicasets": workloads.replicaset,
    "replicationcontrollers": workloads.replication_controller,
    "statefulsets": workloads.statefulset,
    "daemonsets": workloads.daemonset,
    "controllerrevisions": _revision,
    "jobs": jobs.job,
    "cronjobs": jobs.cronjob,
    "horizontalpodautoscalers": autoscalers.autoscaler,
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
