"""Defaults and checks of Deployments and sets, and of the pod templates that all workloads have.

The defaults are those of kubernetes/kubernetes pkg/apis/apps/*/defaults.go, the checks those of
pkg/apis/apps/validation/validation.go.
"""

from __future__ import annotations

import re

from twin.admission import metadata, pods, rules
from twin.admission.findings import Findings
from twin.admission.placement import check_selector
from twin.admission.volumes import check_claim_spec
from twin.records import Object
from twin.selectors import matches

TEMPLATE_GENERATION = "deprecated.daemonset.template.generation"
"""Annotation in which apps/v1 shows spec.templateGeneration of a DaemonSet."""
_ROLLING: Object = {"maxSurge": "25%", "maxUnavailable": "25%"}
_PERCENT = re.compile(r"[0-9]+%")
_ALL_PERCENT = 100


def template(spec: Object, findings: Findings, path: str = "spec.template") -> Object:
    """Default and check the pod template in `spec`, an absent one as an empty one; return it."""
    pod_template: Object = spec.setdefault("template", {})
    head = pod_template.setdefault("metadata", {})
    metadata.check_labels(f"{path}.labels", head.get("labels"), findings)
    metadata.check_annotations(f"{path}.annotations", head.get("annotations"), findings)
    inner = pod_template.setdefault("spec", {})
    claims = spec.get("volumeClaimTemplates") or ()
    claimed = {str((claim.get("metadata") or {}).get("name", "")) for claim in claims}
    pods.admit_template(inner, findings, f"{path}.spec", claimed)
    if inner.get("ephemeralContainers"):
        why = "ephemeral containers not allowed in pod template"
        findings.forbid(f"{path}.spec.ephemeralContainers", why)
    return pod_template


def _labels_of(spec: Object) -> Object | None:
    labels: Object | None = ((spec.get("template") or {}).get("metadata") or {}).get("labels")
    return labels


def _does_not_match(spec: Object, findings: Findings) -> None:
    why = "`selector` does not match template `labels`"
    findings.bad("spec.template.metadata.labels", _labels_of(spec), why)


def selector(spec: Object, findings: Findings, kind: str) -> None:
    """Check that the selector of a `kind` is there and selects the template."""
    stated = spec.get("selector")
    if stated is None:
        if kind != "daemonset":
            findings.require("spec.selector")
        _does_not_match(spec, findings)
        return
    before = len(findings.causes)
    check_selector(stated, findings, "spec.selector")
    if not stated.get("matchLabels") and not stated.get("matchExpressions"):
        findings.bad("spec.selector", stated, f"empty selector is invalid for {kind}")
    elif len(findings.causes) == before:
        if not matches(stated, _labels_of(spec) or {}):
            _does_not_match(spec, findings)
    elif kind != "daemonset":
        findings.bad("spec.selector", stated, "invalid label selector")


def amount(path: str, value: object, findings: Findings, *, bounded: bool = False) -> None:
    """Check a count or a percentage; a `bounded` one is no more than all."""
    if not isinstance(value, str):
        findings.count(path, value)
    elif not _PERCENT.fullmatch(value):
        findings.bad(path, value, "a valid percent string must be a numeric string followed by "
                     "an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')")  # fmt: skip
    elif bounded and int(value[:-1]) > _ALL_PERCENT:
        findings.bad(path, value, "must not be greater than 100%")


def _is_none(value: object) -> bool:
    return str(value) == "0" or re.fullmatch(r"0+%", str(value)) is not None


def _always(spec: Object, findings: Findings, kind: str) -> None:
    inner = spec["template"]["spec"]
    if inner["restartPolicy"] != "Always":
        findings.unsupported(
            "spec.template.spec.restartPolicy", inner["restartPolicy"], ("Always",)
        )
    if inner.get("activeDeadlineSeconds") is not None:
        why = f"activeDeadlineSeconds in {kind} is not Supported"
        findings.forbid("spec.template.spec.activeDeadlineSeconds", why)


def _check_replicas(obj: Object, findings: Findings, kind: str, made: str) -> Object:
    """Check what Deployments, ReplicaSets and StatefulSets share; `made` makes the pods of a `kind`."""
    spec: Object = obj.setdefault("spec", {})
    findings.count("spec.replicas", spec.setdefault("replicas", 1))
    _of_template(spec, findings, kind, made)
    return spec


def _of_template(spec: Object, findings: Findings, kind: str, made: str) -> None:
    selector(spec, findings, kind)
    template(spec, findings)
    _always(spec, findings, made)
    rules.not_negative("spec.minReadySeconds", spec.get("minReadySeconds"), findings)


def deployment(obj: Object, findings: Findings) -> None:
    """Default and check a Deployment."""
    spec = _check_replicas(obj, findings, "deployment", "ReplicaSet")
    strategy = spec.setdefault("strategy", {})
    kind = strategy["type"] = strategy.get("type") or "RollingUpdate"
    if kind == "RollingUpdate":
        rolling = strategy["rollingUpdate"] = {**_ROLLING, **(strategy.get("rollingUpdate") or {})}
        for field in _ROLLING:
            bounded = field == "maxUnavailable"
            where = f"spec.strategy.rollingUpdate.{field}"
            amount(where, rolling[field], findings, bounded=bounded)
        if all(_is_none(rolling[field]) for field in _ROLLING):
            findings.bad("spec.strategy.rollingUpdate.maxUnavailable", rolling["maxUnavailable"],
                         "may not be 0 when `maxSurge` is 0")  # fmt: skip
    elif kind != "Recreate":
        findings.unsupported("spec.strategy", strategy, ("Recreate", "RollingUpdate"))
    elif strategy.get("rollingUpdate"):
        why = "may not be specified when strategy `type` is 'Recreate'"
        findings.forbid("spec.strategy.rollingUpdate", why)
    findings.count("spec.revisionHistoryLimit", spec.setdefault("revisionHistoryLimit", 10))
    deadline = spec.setdefault("progressDeadlineSeconds", 600)
    findings.count("spec.progressDeadlineSeconds", deadline)
    if isinstance(deadline, int) and deadline <= spec.get("minReadySeconds", 0):
        findings.bad("spec.progressDeadlineSeconds", deadline, "must be greater than "
                     "minReadySeconds")  # fmt: skip
    obj.setdefault("status", {})


def replicaset(obj: Object, findings: Findings) -> None:
    """Default and check a ReplicaSet."""
    _check_replicas(obj, findings, "deployment", "ReplicaSet")
    obj.setdefault("status", {"replicas": 0})


def replication_controller(obj: Object, findings: Findings) -> None:
    """Default and check a ReplicationController, whose selector is a plain map."""
    spec = obj.setdefault("spec", {})
    labels = _labels_of(spec) or {}
    if labels and not spec.get("selector"):
        spec["selector"] = dict(labels)
    if labels and not obj["metadata"].get("labels"):
        obj["metadata"]["labels"] = dict(labels)
        metadata.check_labels("metadata.labels", labels, findings)
    findings.count("spec.replicas", spec.setdefault("replicas", 1))
    rules.not_negative("spec.minReadySeconds", spec.get("minReadySeconds"), findings)
    wanted = spec.get("selector") or {}
    if not wanted:
        findings.require("spec.selector")
    if spec.get("template") is None:
        findings.require("spec.template")
        return
    template(spec, findings)
    if wanted and not matches({"matchLabels": wanted}, labels):
        _does_not_match(spec, findings)
    _always(spec, findings, "ReplicationController")
    obj.setdefault("status", {"replicas": 0})


def statefulset(obj: Object, findings: Findings) -> None:
    """Default and check a StatefulSet."""
    name = obj["metadata"].get("name") or ""
    if "." in name:
        findings.bad("metadata.name", name, "must not contain dots")
    elif len(name) > metadata.MAX_LABEL:
        why = f"must be no more than {metadata.MAX_LABEL} characters"
        findings.bad("metadata.name", name, why)
    spec = _check_replicas(obj, findings, "statefulset", "StatefulSet")
    policy = spec.setdefault("podManagementPolicy", "OrderedReady")
    if policy not in ("OrderedReady", "Parallel"):
        why = "must be 'OrderedReady' or 'Parallel'"
        findings.bad("spec.podManagementPolicy", policy, why)
    _check_update_strategy(spec, findings)
    spec.setdefault("revisionHistoryLimit", 10)
    if spec.setdefault("serviceName", ""):
        rules.dns_label("spec.serviceName", spec["serviceName"], findings)
    start = (spec.get("ordinals") or {}).get("start")
    rules.not_negative("spec.ordinals.start", start, findings)
    kept = spec.setdefault("persistentVolumeClaimRetentionPolicy", {})
    for when in ("whenDeleted", "whenScaled"):
        where = f"spec.persistentVolumeClaimRetentionPolicy.{when}"
        rules.one_of(where, kept.setdefault(when, "Retain"), ("Retain", "Delete"), findings)
    for index, entry in enumerate(spec.get("volumeClaimTemplates") or ()):
        entry |= {"apiVersion": "v1", "kind": "PersistentVolumeClaim"}
        claim = entry.setdefault("spec", {})
        claim.setdefault("volumeMode", "Filesystem")
        check_claim_spec(claim, findings, f"spec.volumeClaimTemplates[{index}].spec")
        entry.setdefault("status", {"phase": "Pending"})
    obj.setdefault("status", {"replicas": 0, "availableReplicas": 0})


def _check_update_strategy(spec: Object, findings: Findings) -> None:
    """Default and check how a StatefulSet is updated."""
    strategy = spec.setdefault("updateStrategy", {})
    kind, path = strategy.setdefault("type", "RollingUpdate"), "spec.updateStrategy"
    if kind == "RollingUpdate":
        rolling = strategy.setdefault("rollingUpdate", {})
        rolling.pop("maxUnavailable", None)  # behind a gate that is closed
        findings.count(f"{path}.rollingUpdate.partition", rolling.setdefault("partition", 0))
    elif kind != "OnDelete":
        findings.bad(path, strategy, "must be 'RollingUpdate' or 'OnDelete'")
    elif strategy.get("rollingUpdate") is not None:
        why = "only allowed for updateStrategy 'RollingUpdate'"
        findings.bad(f"{path}.rollingUpdate", strategy["rollingUpdate"], why)


def daemonset(obj: Object, findings: Findings) -> None:
    """Default and check a DaemonSet."""
    spec = obj.setdefault("spec", {})
    _of_template(spec, findings, "daemonset", "DaemonSet")
    strategy = spec.setdefault("updateStrategy", {})
    kind, path = strategy.setdefault("type", "RollingUpdate"), "spec.updateStrategy"
    if kind == "RollingUpdate":
        rolling = strategy.setdefault("rollingUpdate", {})
        for field, value in (("maxUnavailable", 1), ("maxSurge", 0)):
            where = f"{path}.rollingUpdate.{field}"
            amount(where, rolling.setdefault(field, value), findings, bounded=True)
        unavailable, surge = rolling["maxUnavailable"], rolling["maxSurge"]
        if _is_none(unavailable) and _is_none(surge):
            why = "cannot be 0 when maxSurge is 0"
            findings.require(f"{path}.rollingUpdate.maxUnavailable", why)
        elif not _is_none(unavailable) and not _is_none(surge):
            why = "may not be set when maxUnavailable is non-zero"
            findings.bad(f"{path}.rollingUpdate.maxSurge", surge, why)
    elif kind != "OnDelete":
        findings.unsupported(path, strategy, ("RollingUpdate", "OnDelete"))
    findings.count("spec.revisionHistoryLimit", spec.setdefault("revisionHistoryLimit", 10))
    annotations = obj["metadata"].setdefault("annotations", {})
    annotations.setdefault(TEMPLATE_GENERATION, "1")
    counts = ("currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled",
              "numberReady")  # fmt: skip
    obj.setdefault("status", dict.fromkeys(counts, 0))


def count_template(old: Object, new: Object) -> None:
    """Number the templates of a DaemonSet: its own number stays, and is one more for another template.

    kube-controller-manager takes pods of the present number for up to date, whatever their hash.
    """
    before = str((old["metadata"].get("annotations") or {}).get(TEMPLATE_GENERATION, ""))
    number = int(before) if before.isdigit() else 1
    changed = old["spec"]["template"] != new["spec"]["template"]
    new["metadata"]["annotations"][TEMPLATE_GENERATION] = str(number + changed)
