"""Defaults and checks of all kinds but pods."""

from __future__ import annotations

from collections.abc import Callable

from twin.admission import metadata, pods
from twin.admission.findings import Findings
from twin.records import Object

_ROLLING = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}}
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")


def admit(resource: str, obj: Object, findings: Findings) -> None:
    """Default and check an object of `resource` in place."""
    admitter = _ADMITTERS.get(resource)
    if admitter is not None:
        admitter(obj, findings)


def check_unchanged(resource: str, old: Object, new: Object, findings: Findings) -> None:
    """Check the immutable fields of an update."""
    for path in _IMMUTABLE.get(resource, ()):
        before, after = old.get("spec", {}), new.get("spec", {})
        if before.get(path) != after.get(path):
            findings.add(f"spec.{path}", "Invalid value: field is immutable")


_IMMUTABLE = {
    "deployments": ("selector",),
    "replicasets": ("selector",),
    "jobs": ("selector", "template", "completions", "completionMode"),
}


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
            findings.required(f"{path}.key")
        if taint.get("effect") not in _EFFECTS:
            findings.bad(f"{path}.effect", taint.get("effect"), f"must be one of {_EFFECTS}")
    status = obj.get("status") or {}
    for field in ("capacity", "allocatable"):
        findings.quantities(f"status.{field}", status.get(field) or {})


def _template(spec: Object, findings: Findings) -> None:
    template = spec.get("template")
    if not isinstance(template, dict):
        findings.required("spec.template")
        return
    template.setdefault("metadata", {})
    metadata.check_labels(
        "spec.template.metadata.labels", template["metadata"].get("labels"), findings
    )
    pods.admit_template(template.setdefault("spec", {}), findings, "spec.template.spec")


def _selector(spec: Object, findings: Findings) -> None:
    wanted = (spec.get("selector") or {}).get("matchLabels") or {}
    labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels") or {}
    if not spec.get("selector"):
        findings.required("spec.selector")
    elif any(labels.get(key) != value for key, value in wanted.items()):
        findings.bad(
            "spec.template.metadata.labels", labels, "`selector` does not match template `labels`"
        )


def _always(spec: Object, findings: Findings) -> None:
    policy = ((spec.get("template") or {}).get("spec") or {}).get("restartPolicy")
    if policy not in (None, "Always"):
        path = "spec.template.spec.restartPolicy"
        findings.add(path, f'Unsupported value: "{policy}": supported values: "Always"')


def _replicas(spec: Object, findings: Findings) -> None:
    findings.count("spec.replicas", spec.setdefault("replicas", 1))


def _deployment(obj: Object, findings: Findings) -> None:
    spec = obj.setdefault("spec", {})
    _replicas(spec, findings)
    _template(spec, findings)
    _selector(spec, findings)
    _always(spec, findings)
    strategy = spec.setdefault("strategy", {})
    strategy.setdefault("type", "RollingUpdate")
    if strategy["type"] == "RollingUpdate":
        rolling = strategy.setdefault("rollingUpdate", {})
        for field, value in _ROLLING["rollingUpdate"].items():  # type: ignore[attr-defined]
            rolling.setdefault(field, value)
    elif strategy["type"] != "Recreate":
        findings.bad("spec.strategy.type", strategy["type"], "must be RollingUpdate or Recreate")
    spec.setdefault("revisionHistoryLimit", 10)
    spec.setdefault("progressDeadlineSeconds", 600)
    obj.setdefault("status", {})


def _replicaset(obj: Object, findings: Findings) -> None:
    spec = obj.setdefault("spec", {})
    _replicas(spec, findings)
    _template(spec, findings)
    _selector(spec, findings)
    _always(spec, findings)
    obj.setdefault("status", {"replicas": 0})


def _job(obj: Object, findings: Findings) -> None:
    spec = obj.setdefault("spec", {})
    findings.count("spec.parallelism", spec.setdefault("parallelism", 1))
    if spec.get("completions") is not None:
        findings.count("spec.completions", spec["completions"])
    elif spec["parallelism"] == 1:
        spec["completions"] = 1
    findings.count("spec.backoffLimit", spec.setdefault("backoffLimit", 6))
    spec.setdefault("completionMode", "NonIndexed")
    spec.setdefault("suspend", False)
    if spec.get("ttlSecondsAfterFinished") is not None:
        findings.count("spec.ttlSecondsAfterFinished", spec["ttlSecondsAfterFinished"])
    _template(spec, findings)
    policy = ((spec.get("template") or {}).get("spec") or {}).get("restartPolicy")
    if policy == "Always":
        findings.add("spec.template.spec.restartPolicy",
                     'Required value: valid values: "OnFailure", "Never"')  # fmt: skip
    name = obj["metadata"].get("name", "")
    labels = (spec.get("template") or {}).get("metadata", {}).setdefault("labels", {})
    labels.setdefault("batch.kubernetes.io/job-name", name[:63].rstrip("-."))
    labels.setdefault("job-name", name[:63].rstrip("-."))
    marker = {"batch.kubernetes.io/job-name": labels["batch.kubernetes.io/job-name"]}
    spec.setdefault("selector", {"matchLabels": marker})
    obj.setdefault("status", {})


def _budget(obj: Object, findings: Findings) -> None:
    spec = obj.setdefault("spec", {})
    if "minAvailable" in spec and "maxUnavailable" in spec:
        findings.bad("spec", "both", "minAvailable and maxUnavailable cannot be both set")
    obj.setdefault(
        "status",
        {"currentHealthy": 0, "desiredHealthy": 0, "expectedPods": 0, "disruptionsAllowed": 0},
    )


def _priority_class(obj: Object, findings: Findings) -> None:
    if not isinstance(obj.get("value"), int):
        findings.required("value")
    obj.setdefault("preemptionPolicy", "PreemptLowerPriority")


def _quota(obj: Object, findings: Findings) -> None:
    findings.quantities("spec.hard", obj.setdefault("spec", {}).get("hard") or {})
    obj.setdefault("status", {})


_ADMITTERS: dict[str, Callable[[Object, Findings], None]] = {
    "namespaces": _namespace,
    "nodes": _node,
    "deployments": _deployment,
    "replicasets": _replicaset,
    "jobs": _job,
    "poddisruptionbudgets": _budget,
    "priorityclasses": _priority_class,
    "resourcequotas": _quota,
}
