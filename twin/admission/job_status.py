"""The status of a Job as somebody writes it who counts its pods: what has to fit together.

Upstream: validateJobStatus and ValidateJobStatusUpdate in pkg/apis/batch/validation/validation.go.
"""

from __future__ import annotations

from twin.admission.findings import Findings
from twin.records import Object
from twin.timestamps import unix

_COUNTS = ("active", "succeeded", "failed", "ready", "terminating")
_EXCLUDED = (("Complete", "Failed", "Failed=true"), ("Complete", "FailureTarget", "FailureTarget=true"),
             ("SuccessCriteriaMet", "Failed", "Failed=true"),
             ("SuccessCriteriaMet", "FailureTarget", "FailureTarget=true"))  # fmt: skip
_BEFORE = (("Failed", "FailureTarget"), ("Complete", "SuccessCriteriaMet"))
_LASTING = ("Complete", "Failed", "SuccessCriteriaMet", "FailureTarget")


def check_status(old: Object, new: Object, findings: Findings) -> None:
    """Check a status that replaces another."""
    before, after = old.get("status") or {}, new.get("status") or {}
    for name in _COUNTS:
        if after.get(name) is not None:
            findings.count(f"status.{name}", after[name])
    _check_conditions(before, after, findings)
    _check_end(after, findings)
    began = before.get("startTime")
    suspended = (new.get("spec") or {}).get("suspend")
    if began is not None and after.get("startTime") != began and not suspended:
        why = "field is immutable for unsuspended job once set"
        findings.bad("status.startTime", after.get("startTime"), why)
    for name in ("failed", "succeeded"):
        if (after.get(name) or 0) < (before.get(name) or 0):
            findings.bad(
                f"status.{name}", after.get(name) or 0, f"cannot decrease the {name} counter"
            )


def _true(status: Object) -> set[str]:
    return {
        each.get("type", "")
        for each in status.get("conditions") or ()
        if each.get("status") == "True"
    }


def _check_conditions(before: Object, after: Object, findings: Findings) -> None:
    kinds, path = _true(after), "status.conditions"
    for name in _LASTING:
        if name in _true(before) - kinds:
            findings.add(path, f"Invalid value: cannot disable the terminal {name}=True condition")
    for one, other, shown in _EXCLUDED:
        if {one, other} <= kinds:
            findings.add(path, f"Invalid value: cannot set {one}=True and {shown} conditions")
    for end, first in _BEFORE:
        if end in kinds and first not in kinds:
            why = f"cannot set {end}=True condition without the {first}=true condition"
            findings.add(path, f"Invalid value: {why}")


def _check_end(status: Object, findings: Findings) -> None:
    kinds = _true(status)
    began, ended = status.get("startTime"), status.get("completionTime")
    if "Complete" in kinds and ended is None:
        findings.require("status.completionTime", "completionTime is required for Complete jobs")
    if "Complete" not in kinds and ended is not None:
        why = "cannot set completionTime when there is no Complete=True condition"
        findings.bad("status.completionTime", ended, why)
    if began and ended and unix(ended) < unix(began):
        findings.bad("status.completionTime", ended, "must be equal to or after `startTime`")
    if {"Complete", "Failed"} & kinds:
        if began is None:
            findings.require("status.startTime", "startTime is required for finished job")
        for name in ("active", "terminating"):
            if (status.get(name) or 0) > 0:
                findings.bad(
                    f"status.{name}", status[name], f"{name}>0 is invalid for finished job"
                )
    if (status.get("ready") or 0) > (status.get("active") or 0):
        findings.bad("status.ready", status["ready"], "cannot set more ready pods than active")
