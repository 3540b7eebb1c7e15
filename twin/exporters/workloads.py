"""Deployments, autoscalers, Jobs and the other kept kinds as kube-state-metrics shows them
(docs/metrics/workload/*.md, docs/metrics/policy/*.md).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from inputs.quantities import parse_quantity
from twin.exporters.family import Family, ObjectFamilies, Row
from twin.exporters.pods import TARGET
from twin.records import ObjectRecord, Record
from twin.timestamps import unix

Read = Callable[[ObjectRecord], Iterator[tuple[str, tuple[str, ...], float]]]
Counts = Mapping[str, tuple[str, str, str]]
"""Ending of a family's name to the part of the object, its field, and a help text."""
_TRUTHS = ("true", "false", "unknown")

_DEPLOYMENT: Counts = {
    "spec_replicas": ("spec", "replicas", "Replicas wanted."),
    "status_replicas": ("status", "replicas", "Replicas that exist."),
    "status_replicas_ready": ("status", "readyReplicas", "Replicas that are ready."),
    "status_replicas_available": ("status", "availableReplicas", "Replicas that are available."),
    "status_replicas_unavailable": ("status", "unavailableReplicas", "Replicas that are not."),
    "status_replicas_updated": ("status", "updatedReplicas", "Replicas of the newest template."),
    "status_observed_generation": ("status", "observedGeneration", "Generation that was seen."),
}
_REPLICASET: Counts = {
    "spec_replicas": ("spec", "replicas", "Replicas wanted."),
    "status_replicas": ("status", "replicas", "Replicas that exist."),
    "status_ready_replicas": ("status", "readyReplicas", "Replicas that are ready."),
}
_STATEFULSET: Counts = {
    "replicas": ("spec", "replicas", "Replicas wanted."),
    "status_replicas": ("status", "replicas", "Replicas that exist."),
    "status_replicas_ready": ("status", "readyReplicas", "Replicas that are ready."),
    "status_replicas_current": ("status", "currentReplicas", "Replicas of the current revision."),
    "status_replicas_updated": ("status", "updatedReplicas", "Replicas of the newest revision."),
}
_DAEMONSET: Counts = {
    "status_desired_number_scheduled": ("status", "desiredNumberScheduled", "Nodes that should."),
    "status_current_number_scheduled": ("status", "currentNumberScheduled", "Nodes that do."),
    "status_number_ready": ("status", "numberReady", "Nodes whose pod is ready."),
    "status_number_available": ("status", "numberAvailable", "Nodes whose pod is available."),
    "status_number_misscheduled": ("status", "numberMisscheduled", "Nodes that should not."),
    "status_updated_number_scheduled": ("status", "updatedNumberScheduled", "Nodes up to date."),
}
_AUTOSCALER: Counts = {
    "spec_min_replicas": ("spec", "minReplicas", "Fewest replicas."),
    "spec_max_replicas": ("spec", "maxReplicas", "Most replicas."),
    "status_current_replicas": ("status", "currentReplicas", "Replicas there are."),
    "status_desired_replicas": ("status", "desiredReplicas", "Replicas it wants."),
}
_JOB: Counts = {
    "spec_parallelism": ("spec", "parallelism", "Pods at a time."),
    "spec_completions": ("spec", "completions", "Pods that have to succeed."),
    "status_active": ("status", "active", "Pods that run."),
    "status_succeeded": ("status", "succeeded", "Pods that have succeeded."),
    "status_failed": ("status", "failed", "Pods that have failed."),
}
_BUDGET: Counts = {
    "status_current_healthy": ("status", "currentHealthy", "Healthy pods."),
    "status_desired_healthy": ("status", "desiredHealthy", "Healthy pods wanted."),
    "status_pod_disruptions_allowed": ("status", "disruptionsAllowed", "Evictions that may be."),
    "status_expected_pods": ("status", "expectedPods", "Pods it counts."),
}
DEFAULT_ONE = frozenset({"parallelism", "completions", "minReplicas"})
"""Fields of which an API server fills in 1."""


def _counted(
    resource: str, word: str, label: str, counts: Counts, further: tuple[Family, ...] = (),
    read: Read | None = None,
) -> ObjectFamilies:  # fmt: skip
    labels = ("namespace", label)
    families = tuple(
        Family(f"kube_{word}_{ending}", "gauge", text, labels, TARGET)
        for ending, (_, _, text) in counts.items()
    )
    created = Family(
        f"kube_{word}_created", "gauge", "When it was created, unix seconds.", labels, TARGET
    )
    rows = partial(_rows, word, counts, read)
    return ObjectFamilies(resource, (*families, created, *further), rows)


def _rows(word: str, counts: Counts, read: Read | None, record: Record) -> Iterator[Row]:
    assert isinstance(record, ObjectRecord)
    key = (record.namespace, record.name)
    yield f"kube_{word}_created", key, float(int(record.created_at))
    for ending, (part, field, _) in counts.items():
        value = (record.body.get(part) or {}).get(field)
        if value is None:
            value = 1.0 if field in DEFAULT_ONE else 0.0
        yield f"kube_{word}_{ending}", key, float(value)
    if read is not None:
        for ending, values, amount in read(record):
            yield f"kube_{word}_{ending}", (*key, *values), amount


def _further(word: str, ending: str, text: str, label: str, *labels: str) -> Family:
    return Family(f"kube_{word}_{ending}", "gauge", text, ("namespace", label, *labels), TARGET)


def _conditions(record: ObjectRecord) -> Iterator[tuple[str, str, str]]:
    """Yield type, status in lower case, and reason."""
    for one in (record.body.get("status") or {}).get("conditions") or ():
        yield str(one["type"]), str(one["status"]).lower(), str(one.get("reason") or "")


def _of_deployment(record: ObjectRecord) -> Iterator[tuple[str, tuple[str, ...], float]]:
    yield "metadata_generation", (), float(record.generation)
    yield "spec_paused", (), float(bool((record.body.get("spec") or {}).get("paused")))
    for kind, held, reason in _conditions(record):
        for truth in _TRUTHS:
            yield "status_condition", (reason, kind, truth), float(held == truth)


def _of_replicaset(record: ObjectRecord) -> Iterator[tuple[str, tuple[str, ...], float]]:
    owner: Any = next((one for one in record.owners if one.get("controller")), None)
    words = ("", "", "") if owner is None else (str(owner["kind"]), str(owner["name"]), "true")
    yield "owner", words, 1.0


def _of_autoscaler(record: ObjectRecord) -> Iterator[tuple[str, tuple[str, ...], float]]:
    target = (record.body.get("spec") or {}).get("scaleTargetRef") or {}
    names = ("apiVersion", "kind", "name")
    yield "info", tuple(str(target.get(name, "")) for name in names), 1.0
    for kind, held, _ in _conditions(record):
        for truth in _TRUTHS:
            yield "status_condition", (kind, truth), float(held == truth)
    for part, field in (("spec", "metrics"), ("status", "currentMetrics")):
        for metric in (record.body.get(part) or {}).get(field) or ():
            source = metric.get(_camel(str(metric.get("type", "")))) or {}
            named = str(source.get("name") or (source.get("metric") or {}).get("name") or "")
            amounts = source.get("target" if part == "spec" else "current") or {}
            for key, word in _TARGETS.items():
                if amounts.get(key) is not None:
                    yield (
                        f"{part}_target_metric",
                        (named, word),
                        float(parse_quantity(amounts[key])),
                    )


_TARGETS = {"averageUtilization": "utilization", "averageValue": "average", "value": "value"}


def _camel(kind: str) -> str:
    return kind[:1].lower() + kind[1:]


def _of_job(record: ObjectRecord) -> Iterator[tuple[str, tuple[str, ...], float]]:
    status = record.body.get("status") or {}
    for ending, field in (
        ("status_start_time", "startTime"),
        ("status_completion_time", "completionTime"),
    ):
        if status.get(field):
            yield ending, (), unix(status[field])
    for kind, held, _ in _conditions(record):
        if kind in ("Complete", "Failed"):
            for truth in _TRUTHS:
                yield kind.lower(), (truth,), float(held == truth)
    owner: Any = next((one for one in record.owners if one.get("controller")), None)
    words = ("", "", "") if owner is None else (str(owner["kind"]), str(owner["name"]), "true")
    yield "owner", words, 1.0


def _quota_rows(record: Record) -> Iterator[Row]:
    assert isinstance(record, ObjectRecord)
    status = record.body.get("status") or {}
    for kind in ("hard", "used"):
        for resource, amount in (status.get(kind) or {}).items():
            key = (record.namespace, record.name, str(resource), kind)
            yield "kube_resourcequota", key, float(parse_quantity(amount))


def _namespace_rows(record: Record) -> Iterator[Row]:
    for phase in ("Active", "Terminating"):
        held = (record.deletion_at is not None) is (phase == "Terminating")
        yield "kube_namespace_status_phase", (record.name, phase), float(held)


_OWNER = ("owner_kind", "owner_name", "owner_is_controller")
_HPA, _HPA_METRIC = "horizontalpodautoscaler", ("metric_name", "metric_target_type")
_SCALED = ("scaletargetref_api_version", "scaletargetref_kind", "scaletargetref_name")
WORKLOADS = (
    _counted(
        "deployments", "deployment", "deployment", _DEPLOYMENT,
        (
            _further("deployment", "metadata_generation", "Its generation.", "deployment"),
            _further("deployment", "spec_paused", "Whether it is paused.", "deployment"),
            _further("deployment", "status_condition", "Its conditions.", "deployment",
                     "reason", "condition", "status"),
        ),
        _of_deployment,
    ),
    _counted(
        "replicasets", "replicaset", "replicaset", _REPLICASET,
        (_further("replicaset", "owner", "Its owner.", "replicaset", *_OWNER),), _of_replicaset,
    ),
    _counted("statefulsets", "statefulset", "statefulset", _STATEFULSET),
    _counted("daemonsets", "daemonset", "daemonset", _DAEMONSET),
    _counted(
        "horizontalpodautoscalers", _HPA, _HPA, _AUTOSCALER,
        (
            _further(_HPA, "info", "What it scales.", _HPA, *_SCALED),
            _further(_HPA, "status_condition", "Its conditions.", _HPA, "condition", "status"),
            _further(_HPA, "spec_target_metric", "What it aims at.", _HPA, *_HPA_METRIC),
            _further(_HPA, "status_target_metric", "What it measures.", _HPA, *_HPA_METRIC),
        ),
        _of_autoscaler,
    ),
    _counted(
        "jobs", "job", "job_name", _JOB,
        (
            _further("job", "status_start_time", "When it began, unix seconds.", "job_name"),
            _further("job", "status_completion_time", "When it was done, unix seconds.", "job_name"),
            _further("job", "complete", "Whether it is done.", "job_name", "condition"),
            _further("job", "failed", "Whether it has failed.", "job_name", "condition"),
            _further("job", "owner", "Its owner.", "job_name", *_OWNER),
        ),
        _of_job,
    ),
    _counted("poddisruptionbudgets", "poddisruptionbudget", "poddisruptionbudget", _BUDGET),
    ObjectFamilies(
        "resourcequotas",
        (Family("kube_resourcequota", "gauge", "What a namespace may use, and uses.",
                ("namespace", "resourcequota", "resource", "type"), TARGET),),
        _quota_rows,
    ),
    ObjectFamilies(
        "namespaces",
        (Family("kube_namespace_status_phase", "gauge", "The phase of a namespace.",
                ("namespace", "phase"), TARGET),),
        _namespace_rows,
    ),
)  # fmt: skip
