"""Defaults and checks of Deployments, sets, Jobs, CronJobs and autoscalers.

The defaults are those of kubernetes/kubernetes pkg/apis/{apps,batch,autoscaling}/*/defaults.go.
"""

from __future__ import annotations

import copy
import re

from twin.admission import metadata, pods
from twin.admission.findings import Findings
from twin.cron_schedule import parse_schedule, zone_of
from twin.records import Object

_ROLLING: Object = {"maxSurge": "25%", "maxUnavailable": "25%"}
_PERCENT = re.compile(r"[0-9]+%")
_UP: Object = {
    "stabilizationWindowSeconds": 0,
    "selectPolicy": "Max",
    "policies": [
        {"type": "Pods", "value": 4, "periodSeconds": 15},
        {"type": "Percent", "value": 100, "periodSeconds": 15},
    ],
}
_DOWN: Object = {
    "selectPolicy": "Max",
    "policies": [{"type": "Percent", "value": 100, "periodSeconds": 15}],
}
_CPU_80: Object = {
    "type": "Resource",
    "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}},
}
_CRON_NAME_MAX = 52  # a Job's name adds a dash and ten digits, and labels end at 63


def template(spec: Object, findings: Findings, path: str = "spec.template") -> None:
    """Default and check a pod template in `spec`."""
    pod_template = spec.get("template")
    if not isinstance(pod_template, dict):
        findings.require(path)
        return
    pod_template.setdefault("metadata", {})
    metadata.check_labels(
        f"{path}.metadata.labels", pod_template["metadata"].get("labels"), findings
    )
    pods.admit_template(pod_template.setdefault("spec", {}), findings, f"{path}.spec")


def selector(spec: Object, findings: Findings) -> None:
    """Check that the selector is there and selects the template."""
    match_labels = (spec.get("selector") or {}).get("matchLabels") or {}
    labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels") or {}
    if not spec.get("selector"):
        findings.require("spec.selector")
    elif any(labels.get(key) != value for key, value in match_labels.items()):
        findings.bad(
            "spec.template.metadata.labels", labels, "`selector` does not match template `labels`"
        )


def amount(path: str, value: object, findings: Findings) -> None:
    """Check a count or a percentage."""
    if isinstance(value, str):
        if not _PERCENT.fullmatch(value):
            findings.bad(path, value, "a valid percent string must be a numeric string followed by "
                         "an ending '%' (e.g. '1%',  or '93%')")  # fmt: skip
    else:
        findings.count(path, value)


def _always(spec: Object, findings: Findings) -> None:
    policy = ((spec.get("template") or {}).get("spec") or {}).get("restartPolicy")
    if policy not in (None, "Always"):
        path = "spec.template.spec.restartPolicy"
        findings.add(path, f'Unsupported value: "{policy}": supported values: "Always"')


def _check_replicas(obj: Object, findings: Findings) -> Object:
    spec: Object = obj.setdefault("spec", {})
    findings.count("spec.replicas", spec.setdefault("replicas", 1))
    _of_template(spec, findings)
    return spec


def _of_template(spec: Object, findings: Findings) -> None:
    template(spec, findings)
    selector(spec, findings)
    _always(spec, findings)
    if "minReadySeconds" in spec:
        findings.count("spec.minReadySeconds", spec["minReadySeconds"])


def deployment(obj: Object, findings: Findings) -> None:
    """Default and check a Deployment."""
    spec = _check_replicas(obj, findings)
    strategy = spec.setdefault("strategy", {})
    kind = strategy.setdefault("type", "RollingUpdate")
    if kind == "RollingUpdate":
        rolling = strategy["rollingUpdate"] = {**_ROLLING, **(strategy.get("rollingUpdate") or {})}
        for field in _ROLLING:
            amount(f"spec.strategy.rollingUpdate.{field}", rolling[field], findings)
        if all(str(rolling[field]) in ("0", "0%") for field in _ROLLING):
            findings.bad("spec.strategy.rollingUpdate.maxUnavailable", rolling["maxUnavailable"],
                         "may not be 0 when `maxSurge` is 0")  # fmt: skip
    elif kind != "Recreate":
        findings.bad("spec.strategy.type", kind, "must be RollingUpdate or Recreate")
    elif strategy.get("rollingUpdate"):
        findings.add("spec.strategy.rollingUpdate", "Forbidden: may not be specified when strategy "
                     "`type` is 'Recreate'")  # fmt: skip
    findings.count("spec.revisionHistoryLimit", spec.setdefault("revisionHistoryLimit", 10))
    deadline = spec.setdefault("progressDeadlineSeconds", 600)
    findings.count("spec.progressDeadlineSeconds", deadline)
    if isinstance(deadline, int) and deadline <= spec.get("minReadySeconds", 0):
        findings.bad("spec.progressDeadlineSeconds", deadline, "must be greater than "
                     "minReadySeconds")  # fmt: skip
    obj.setdefault("status", {})


def replicaset(obj: Object, findings: Findings) -> None:
    """Default and check a ReplicaSet."""
    _check_replicas(obj, findings)
    obj.setdefault("status", {"replicas": 0})


def replication_controller(obj: Object, findings: Findings) -> None:
    """Default and check a ReplicationController, whose selector is a plain map."""
    spec = obj.setdefault("spec", {})
    labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels") or {}
    if labels and not spec.get("selector"):
        spec["selector"] = dict(labels)
    if labels and not obj["metadata"].get("labels"):
        obj["metadata"]["labels"] = dict(labels)
    findings.count("spec.replicas", spec.setdefault("replicas", 1))
    template(spec, findings)
    wanted = spec.get("selector") or {}
    if not wanted:
        findings.require("spec.selector")
    elif any(labels.get(key) != value for key, value in wanted.items()):
        why = "`selector` does not match template `labels`"
        findings.bad("spec.template.metadata.labels", labels, why)
    _always(spec, findings)
    obj.setdefault("status", {"replicas": 0})


def statefulset(obj: Object, findings: Findings) -> None:
    """Default and check a StatefulSet."""
    spec = _check_replicas(obj, findings)
    policy = spec.setdefault("podManagementPolicy", "OrderedReady")
    if policy not in ("OrderedReady", "Parallel"):
        findings.add("spec.podManagementPolicy", f'Unsupported value: "{policy}": supported values:'
                     ' "OrderedReady", "Parallel"')  # fmt: skip
    strategy = spec.setdefault("updateStrategy", {})
    kind = strategy.setdefault("type", "RollingUpdate")
    if kind == "RollingUpdate":
        rolling = strategy.setdefault("rollingUpdate", {})
        path = "spec.updateStrategy.rollingUpdate.partition"
        findings.count(path, rolling.setdefault("partition", 0))
    elif kind != "OnDelete":
        findings.bad("spec.updateStrategy.type", kind, "must be 'RollingUpdate' or 'OnDelete'")
    spec.setdefault("revisionHistoryLimit", 10)
    spec.setdefault("serviceName", "")
    kept = spec.setdefault("persistentVolumeClaimRetentionPolicy", {})
    for when in ("whenDeleted", "whenScaled"):
        kept.setdefault(when, "Retain")
    for entry in spec.get("volumeClaimTemplates") or ():
        entry |= {"apiVersion": "v1", "kind": "PersistentVolumeClaim"}
        entry.setdefault("spec", {}).setdefault("volumeMode", "Filesystem")
        entry.setdefault("status", {"phase": "Pending"})
    obj.setdefault("status", {"replicas": 0, "availableReplicas": 0})


def daemonset(obj: Object, findings: Findings) -> None:
    """Default and check a DaemonSet."""
    spec = obj.setdefault("spec", {})
    _of_template(spec, findings)
    strategy = spec.setdefault("updateStrategy", {})
    kind = strategy.setdefault("type", "RollingUpdate")
    if kind == "RollingUpdate":
        rolling = strategy.setdefault("rollingUpdate", {})
        for field, value in (("maxUnavailable", 1), ("maxSurge", 0)):
            path = f"spec.updateStrategy.rollingUpdate.{field}"
            amount(path, rolling.setdefault(field, value), findings)
    elif kind != "OnDelete":
        findings.bad("spec.updateStrategy.type", kind, "must be 'RollingUpdate' or 'OnDelete'")
    spec.setdefault("revisionHistoryLimit", 10)
    annotations = obj["metadata"].setdefault("annotations", {})
    annotations.setdefault("deprecated.daemonset.template.generation", "1")
    counts = ("currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled",
              "numberReady")  # fmt: skip
    obj.setdefault("status", dict.fromkeys(counts, 0))


def job(obj: Object, findings: Findings) -> None:
    """Default and check a Job."""
    spec = obj.setdefault("spec", {})
    name = obj["metadata"].get("name", "")
    job_spec(spec, findings, "spec")
    if isinstance(spec.get("template"), dict):
        labels = spec["template"].setdefault("metadata", {}).setdefault("labels", {})
        labels.setdefault("batch.kubernetes.io/job-name", name[:63].rstrip("-."))
        labels.setdefault("job-name", name[:63].rstrip("-."))
        spec.setdefault("manualSelector", False)
        failing = "Failed" if spec.get("podFailurePolicy") else "TerminatingOrFailed"
        spec.setdefault("podReplacementPolicy", failing)
        if not spec["manualSelector"] and "selector" not in spec:
            uid = obj["metadata"].get("uid", "")
            labels.setdefault("batch.kubernetes.io/controller-uid", uid)
            labels.setdefault("controller-uid", uid)
            marker = {"batch.kubernetes.io/controller-uid": uid}
            spec["selector"] = {"matchLabels": marker}
        if not obj["metadata"].get("labels"):
            obj["metadata"]["labels"] = dict(labels)
    obj.setdefault("status", {})


def job_spec(spec: Object, findings: Findings, path: str) -> None:
    """Default and check the spec of a Job or of a CronJob's template."""
    findings.count(f"{path}.parallelism", spec.setdefault("parallelism", 1))
    if spec.get("completions") is not None:
        findings.count(f"{path}.completions", spec["completions"])
    elif spec["parallelism"] == 1:
        spec["completions"] = 1
    findings.count(f"{path}.backoffLimit", spec.setdefault("backoffLimit", 6))
    mode = spec.setdefault("completionMode", "NonIndexed")
    if mode not in ("NonIndexed", "Indexed"):
        findings.add(f"{path}.completionMode", f'Unsupported value: "{mode}": supported values: '
                     '"NonIndexed", "Indexed"')  # fmt: skip
    elif mode == "Indexed" and spec.get("completions") is None:
        findings.add(f"{path}.completions", "Required value: when completion mode is Indexed")
    spec.setdefault("suspend", False)
    for field in ("ttlSecondsAfterFinished", "activeDeadlineSeconds"):
        if spec.get(field) is not None:
            findings.count(f"{path}.{field}", spec[field])
    template(spec, findings, f"{path}.template")
    policy = ((spec.get("template") or {}).get("spec") or {}).get("restartPolicy")
    if policy == "Always":
        findings.add(f"{path}.template.spec.restartPolicy",
                     'Required value: valid values: "OnFailure", "Never"')  # fmt: skip


def cronjob(obj: Object, findings: Findings) -> None:
    """Default and check a CronJob."""
    spec = obj.setdefault("spec", {})
    if len(obj["metadata"].get("name", "")) > _CRON_NAME_MAX:
        findings.bad("metadata.name", obj["metadata"]["name"], "must be no more than "
                     f"{_CRON_NAME_MAX} characters")  # fmt: skip
    if not spec.get("schedule"):
        findings.require("spec.schedule")
    else:
        _check("spec.schedule", spec["schedule"], parse_schedule, findings)
    if spec.get("timeZone") is not None:
        _check("spec.timeZone", spec["timeZone"], zone_of, findings)
    policy = spec.setdefault("concurrencyPolicy", "Allow")
    if policy not in ("Allow", "Forbid", "Replace"):
        findings.add("spec.concurrencyPolicy", f'Unsupported value: "{policy}": supported values: '
                     '"Allow", "Forbid", "Replace"')  # fmt: skip
    spec.setdefault("suspend", False)
    for field, value in (("successfulJobsHistoryLimit", 3), ("failedJobsHistoryLimit", 1)):
        findings.count(f"spec.{field}", spec.setdefault(field, value))
    if spec.get("startingDeadlineSeconds") is not None:
        findings.count("spec.startingDeadlineSeconds", spec["startingDeadlineSeconds"])
    pattern = spec.setdefault("jobTemplate", {})
    pattern.setdefault("metadata", {})
    inner = copy.deepcopy(pattern.setdefault("spec", {}))
    job_spec(inner, findings, "spec.jobTemplate.spec")
    if "template" in inner:  # what the Job itself leaves out is filled in when it is made
        pattern["spec"]["template"] = inner["template"]
    obj.setdefault("status", {})


def _check(path: str, value: object, read: object, findings: Findings) -> None:
    assert callable(read)
    try:
        read(str(value))
    except ValueError as error:
        findings.bad(path, value, str(error))


def autoscaler(obj: Object, findings: Findings) -> None:
    """Default and check a HorizontalPodAutoscaler."""
    spec = obj.setdefault("spec", {})
    target = spec.setdefault("scaleTargetRef", {})
    for field in ("kind", "name"):
        if not target.get(field):
            findings.require(f"spec.scaleTargetRef.{field}")
    findings.count("spec.minReplicas", spec.setdefault("minReplicas", 1), 1)
    findings.count("spec.maxReplicas", spec.get("maxReplicas", 0), 1)
    if not findings.causes and spec["maxReplicas"] < spec["minReplicas"]:
        findings.bad("spec.maxReplicas", spec["maxReplicas"], "must be greater than or equal to "
                     "`minReplicas`")  # fmt: skip
    if not spec.get("metrics"):
        spec["metrics"] = [copy.deepcopy(_CPU_80)]
    for index, metric in enumerate(spec["metrics"]):
        _metric(f"spec.metrics[{index}]", metric, findings)
    behavior = spec.get("behavior")
    if behavior is not None:
        behavior["scaleUp"] = _rules("scaleUp", behavior.get("scaleUp"), _UP, findings)
        behavior["scaleDown"] = _rules("scaleDown", behavior.get("scaleDown"), _DOWN, findings)
    obj.setdefault("status", {"desiredReplicas": 0, "currentMetrics": None})


def _metric(path: str, metric: Object, findings: Findings) -> None:
    kinds = {
        "Resource": "resource",
        "ContainerResource": "containerResource",
        "Pods": "pods",
        "Object": "object",
        "External": "external",
    }
    field = kinds.get(metric.get("type", ""))
    if field is None or not isinstance(metric.get(field), dict):
        findings.require(f"{path}.{field or 'type'}")
        return
    target = metric[field].get("target") or {}
    where = f"{path}.{field}.target"
    if field == "resource" and not metric[field].get("name"):
        findings.require(f"{path}.{field}.name")
    if field in ("pods", "object", "external"):
        if not (metric[field].get("metric") or {}).get("name"):
            findings.require(f"{path}.{field}.metric.name")
        if field == "object" and not (metric[field].get("describedObject") or {}).get("name"):
            findings.require(f"{path}.{field}.describedObject.name")
    if target.get("averageUtilization") is not None:
        findings.count(f"{where}.averageUtilization", target["averageUtilization"], 1)
    elif target.get("averageValue") is not None or target.get("value") is not None:
        quantities = {name: target[name] for name in ("averageValue", "value") if name in target}
        findings.quantities(where, quantities)
    else:
        findings.add(where, "Required value: must set either a target raw value or a target "
                     "utilization")  # fmt: skip


def _rules(name: str, stated: Object | None, defaults: Object, findings: Findings) -> Object:
    rules = {**copy.deepcopy(defaults), **(stated or {})}
    path = f"spec.behavior.{name}"
    if rules["selectPolicy"] not in ("Max", "Min", "Disabled"):
        findings.add(f"{path}.selectPolicy", f'Unsupported value: "{rules["selectPolicy"]}": '
                     'supported values: "Disabled", "Max", "Min"')  # fmt: skip
    if not rules["policies"]:
        findings.add(f"{path}.policies", "Required value: must specify at least one Policy")
    for index, policy in enumerate(rules["policies"]):
        where = f"{path}.policies[{index}]"
        if policy.get("type") not in ("Pods", "Percent"):
            findings.add(f"{where}.type", f'Unsupported value: "{policy.get("type", "")}": '
                         'supported values: "Percent", "Pods"')  # fmt: skip
        findings.count(f"{where}.value", policy.get("value"), 1)
        findings.count(f"{where}.periodSeconds", policy.get("periodSeconds"), 1)
    return rules
