"""Defaults and checks of Jobs and CronJobs.

The defaults are those of kubernetes/kubernetes pkg/apis/batch/v1/defaults.go, the checks those of
pkg/apis/batch/validation/validation.go.
"""

from __future__ import annotations

import copy

from twin.admission import metadata, rules
from twin.admission.findings import Findings
from twin.admission.job_policies import check_failure_policy, check_success_policy
from twin.admission.workloads import template
from twin.cron_schedule import parse_schedule, zone_of
from twin.records import Object
from twin.selectors import matches

_CRON_NAME_MAX = 52  # a Job's name adds a dash and ten digits, and labels end at 63
_MOST_INDEXED_PARALLEL = 100_000
_JOB_NAME = ("batch.kubernetes.io/job-name", "job-name")
_JOB_UID = ("batch.kubernetes.io/controller-uid", "controller-uid")


def job(obj: Object, findings: Findings) -> None:
    """Default and check a Job."""
    spec = obj.setdefault("spec", {})
    job_spec(spec, findings, "spec")
    labels = spec["template"]["metadata"].setdefault("labels", {})
    failing = "Failed" if spec.get("podFailurePolicy") else "TerminatingOrFailed"
    policy = spec.setdefault("podReplacementPolicy", failing)
    words = ("Failed",) if spec.get("podFailurePolicy") else ("Failed", "TerminatingOrFailed")
    rules.one_of("spec.podReplacementPolicy", policy, words, findings)
    if spec.setdefault("manualSelector", False):
        if spec.get("selector") is None:
            findings.require("spec.selector")
        if not matches(spec.get("selector"), labels):
            why = "`selector` does not match template `labels`"
            findings.bad("spec.template.metadata.labels", labels, why)
    else:
        _select_own_pods(obj, spec, labels, findings)
    if not obj["metadata"].get("labels"):
        obj["metadata"]["labels"] = dict(labels)
    obj.setdefault("status", {})


def _select_own_pods(obj: Object, spec: Object, labels: Object, findings: Findings) -> None:
    """Select pods by the Job's own uid, which a client can neither choose nor leave out.

    Without a uid the Job is on its way to changing webhooks, and those see none of this.
    """
    uid = obj["metadata"].get("uid")
    if not uid:
        return
    # a real server refuses longer names; rows of a workload may have them
    name = obj["metadata"].get("name", "")[: metadata.MAX_LABEL].rstrip("-.")
    for key in _JOB_NAME:
        if labels.setdefault(key, name) != name:
            where = f"spec.template.metadata.labels[{key}]"
            findings.bad(where, labels, f"must be '{name}'")
    if spec.get("selector") is None:
        for key in _JOB_UID:
            labels.setdefault(key, uid)
        spec["selector"] = {"matchLabels": {_JOB_UID[0]: uid}}
    elif not any(spec["selector"] == {"matchLabels": {key: uid}} for key in _JOB_UID):
        findings.bad("spec.selector", spec["selector"], "`selector` not auto-generated")


def job_spec(spec: Object, findings: Findings, path: str) -> None:
    """Default and check the spec of a Job or of a CronJob's template."""
    if path == "spec" and spec.get("parallelism") is None and spec.get("completions") is None:
        spec["completions"] = 1
    findings.count(f"{path}.parallelism", spec.setdefault("parallelism", 1))
    rules.not_negative(f"{path}.completions", spec.get("completions"), findings)
    per_index = spec.get("backoffLimitPerIndex")
    backoff = 6 if per_index is None else rules.MOST_INT32
    findings.count(f"{path}.backoffLimit", spec.setdefault("backoffLimit", backoff))
    _check_mode(spec, findings, path)
    spec.setdefault("suspend", False)
    for field in ("ttlSecondsAfterFinished", "activeDeadlineSeconds", "backoffLimitPerIndex",
                  "maxFailedIndexes"):  # fmt: skip
        rules.not_negative(f"{path}.{field}", spec.get(field), findings)
    manager = spec.get("managedBy")
    if manager is not None and "/" not in manager:
        why = 'must be a domain-prefixed path (such as "acme.io/foo")'
        findings.bad(f"{path}.managedBy", manager, why)
    inner = template(spec, findings, f"{path}.template")["spec"]
    where = f"{path}.template.spec.restartPolicy"
    if inner["restartPolicy"] == "Always":
        findings.require(where, 'valid values: "OnFailure", "Never"')
    elif spec.get("podFailurePolicy") is not None and inner["restartPolicy"] != "Never":
        why = 'only "Never" is supported when podFailurePolicy is specified'
        findings.bad(where, inner["restartPolicy"], why)
    if spec.get("podFailurePolicy") is not None:
        check_failure_policy(spec, findings, f"{path}.podFailurePolicy")
    if spec.get("successPolicy") is not None:
        check_success_policy(spec, findings, f"{path}.successPolicy")


def _check_mode(spec: Object, findings: Findings, path: str) -> None:
    """Default and check how completions are counted, and what only indexed ones can have."""
    mode, completions = spec.setdefault("completionMode", "NonIndexed"), spec.get("completions")
    per_index, most = spec.get("backoffLimitPerIndex"), spec.get("maxFailedIndexes")
    rules.one_of(f"{path}.completionMode", mode, ("NonIndexed", "Indexed"), findings)
    if mode == "Indexed":
        if completions is None:
            findings.require(f"{path}.completions", "when completion mode is Indexed")
        if spec["parallelism"] > _MOST_INDEXED_PARALLEL:
            why = "must be less than or equal to 100000 when completion mode is Indexed"
            findings.bad(f"{path}.parallelism", spec["parallelism"], why)
        if most is not None and completions is not None and most > completions:
            why = "must be less than or equal to completions"
            findings.bad(f"{path}.maxFailedIndexes", most, why)
    else:
        for field, value in (("backoffLimitPerIndex", per_index), ("maxFailedIndexes", most)):
            if value is not None:
                findings.bad(f"{path}.{field}", value, "requires indexed completion mode")
    if most is not None and per_index is None:
        findings.require(f"{path}.backoffLimitPerIndex", "when maxFailedIndexes is specified")


def cronjob(obj: Object, findings: Findings) -> None:
    """Default and check a CronJob."""
    spec = obj.setdefault("spec", {})
    if len(obj["metadata"].get("name", "")) > _CRON_NAME_MAX:
        findings.bad("metadata.name", obj["metadata"]["name"], "must be no more than "
                     f"{_CRON_NAME_MAX} characters")  # fmt: skip
    if not spec.get("schedule"):
        findings.require("spec.schedule")
    else:
        if "TZ" in spec["schedule"]:
            why = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"
            findings.bad("spec.schedule", spec["schedule"], why)
        else:
            _check("spec.schedule", spec["schedule"], parse_schedule, findings)
    if spec.get("timeZone") is not None:
        _check("spec.timeZone", spec["timeZone"], zone_of, findings)
    policy = spec.setdefault("concurrencyPolicy", "Allow")
    rules.one_of("spec.concurrencyPolicy", policy, ("Allow", "Forbid", "Replace"), findings)
    spec.setdefault("suspend", False)
    for field, value in (("successfulJobsHistoryLimit", 3), ("failedJobsHistoryLimit", 1)):
        findings.count(f"spec.{field}", spec.setdefault(field, value))
    deadline = spec.get("startingDeadlineSeconds")
    rules.not_negative("spec.startingDeadlineSeconds", deadline, findings)
    pattern = spec.setdefault("jobTemplate", {})
    pattern.setdefault("metadata", {})
    inner = copy.deepcopy(pattern.setdefault("spec", {}))
    _check_pattern(inner, findings)
    job_spec(inner, findings, "spec.jobTemplate.spec")
    # what the Job itself leaves out is filled in when it is made
    pattern["spec"]["template"] = inner["template"]
    obj.setdefault("status", {})


def _check_pattern(spec: Object, findings: Findings) -> None:
    """Check that a CronJob leaves to its Jobs what they select their pods by."""
    if spec.get("selector") is not None:
        why = "`selector` will be auto-generated"
        findings.bad("spec.jobTemplate.spec.selector", spec["selector"], why)
    if spec.get("manualSelector"):
        findings.unsupported("spec.jobTemplate.spec.manualSelector", True, ("nil", "false"))


def _check(path: str, value: object, read: object, findings: Findings) -> None:
    assert callable(read)
    try:
        read(str(value))
    except ValueError as error:
        findings.bad(path, value, str(error))
