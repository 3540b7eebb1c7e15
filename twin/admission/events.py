"""Events as clients write them: what the API server fills in and refuses.

Upstream: pkg/apis/core/validation/events.go of kubernetes/kubernetes.
"""

from __future__ import annotations

from twin.admission import rules
from twin.admission.findings import Findings
from twin.records import Object

_MOST_TEXT = 128
_MOST_MESSAGE = 1_024


def event(obj: Object, findings: Findings) -> None:
    """Fill in what an Event shows even when it says nothing, and check what it is about."""
    for name in ("eventTime", "firstTimestamp", "lastTimestamp"):
        obj.setdefault(name, None)
    for name in ("reportingComponent", "reportingInstance"):
        obj.setdefault(name, "")
    obj.setdefault("source", {})
    about = obj.setdefault("involvedObject", {})
    home = obj["metadata"].get("namespace", "")
    stated = about.get("namespace", "")
    if stated != home and not (stated == "" and home == "default"):
        why = "does not match event.namespace"
        findings.bad("involvedObject.namespace", stated, why)
    if obj["eventTime"] is not None:
        _check_new_form(obj, findings)


def _check_new_form(obj: Object, findings: Findings) -> None:
    """Check what has to be said since events have an eventTime."""
    _check_told(obj, "reportingComponent", "message", findings)


def check_shown(obj: Object, findings: Findings) -> None:
    """Check an Event that is written in the form of events.k8s.io/v1."""
    if not obj.get("eventTime"):
        findings.require("eventTime")
    _check_told(obj, "reportingController", "note", findings)
    if obj.get("type") not in ("Normal", "Warning"):
        findings.bad("type", "", f"has invalid value: {obj.get('type') or ''}")
    series = obj.get("series")
    if series is not None:
        if series.get("count", 0) <= 1:
            findings.bad("series.count", "", "should be at least 2")
        if not series.get("lastObservedTime"):
            findings.require("series.lastObservedTime")
    for field in ("deprecatedCount", "deprecatedFirstTimestamp", "deprecatedLastTimestamp"):
        if obj.get(field):
            name = field.removeprefix("deprecated")
            findings.bad(name[0].lower() + name[1:], "", "needs to be unset")


def _check_told(obj: Object, reporter_field: str, text_field: str, findings: Findings) -> None:
    reporter = obj.get(reporter_field) or ""
    if not reporter:
        findings.require(reporter_field)
    rules.qualified_name(reporter_field, reporter, findings)
    for field in ("reportingInstance", "action", "reason"):
        text = obj.get(field) or ""
        if not text:
            findings.require(field)
        elif len(text) > _MOST_TEXT:
            findings.bad(field, "", f"can have at most {_MOST_TEXT} characters")
    if len(obj.get(text_field) or "") > _MOST_MESSAGE:
        findings.bad("message", "", f"can have at most {_MOST_MESSAGE} characters")
