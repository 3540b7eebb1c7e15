"""Events as clients write them: what the API server fills in and refuses.

Upstream: pkg/apis/core/validation/events.go of kubernetes/kubernetes.
"""

from __future__ import annotations

from dataclasses import dataclass

from twin.admission import rules
from twin.admission.findings import Findings
from twin.records import Object

_MOST_TEXT = 128
_MOST_MESSAGE = 1_024
_INNER = {
    "regarding": "involvedObject",
    "note": "message",
    "deprecatedSource": "source",
    "deprecatedFirstTimestamp": "firstTimestamp",
    "deprecatedLastTimestamp": "lastTimestamp",
    "deprecatedCount": "count",
}
"""What refusals call the fields of events.k8s.io/v1 that have another name in core/v1."""
_FIXED = (
    "regarding", "reason", "note", "deprecatedSource", "deprecatedFirstTimestamp", "deprecatedLastTimestamp",
    "deprecatedCount", "type", "eventTime", "action", "related", "reportingController", "reportingInstance",
)  # fmt: skip
"""What nobody changes through events.k8s.io/v1, in the order in which a refusal names it."""
_NULLABLE = frozenset({"eventTime", "deprecatedFirstTimestamp", "deprecatedLastTimestamp"})
_REFERENCE = (
    ("kind", "Kind"), ("namespace", "Namespace"), ("name", "Name"), ("uid", "UID"),
    ("apiVersion", "APIVersion"), ("resourceVersion", "ResourceVersion"), ("fieldPath", "FieldPath"),
)  # fmt: skip
_MEMBERS = {
    "regarding": _REFERENCE,
    "related": _REFERENCE,
    "deprecatedSource": (("component", "Component"), ("host", "Host")),
}


@dataclass(frozen=True, slots=True)
class _Form:
    """What two fields are called in a form of events."""

    reporter: str
    text: str


_KEPT = _Form("reportingComponent", "message")
_SHOWN = _Form("reportingController", "note")


def event(obj: Object, findings: Findings) -> None:
    """Fill in what an Event shows even when it says nothing, and check what it is about."""
    for name in ("eventTime", "firstTimestamp", "lastTimestamp"):
        obj.setdefault(name, None)
    for name in ("reportingComponent", "reportingInstance"):
        obj.setdefault(name, "")
    obj.setdefault("source", {})
    about = obj.setdefault("involvedObject", {})
    _check_told(obj, _KEPT, about, findings)


def check_shown(obj: Object, old: Object | None, findings: Findings) -> None:
    """Check an Event that is written in the form of events.k8s.io/v1, and what may not change any more."""
    _check_told(obj, _SHOWN, obj.get("regarding") or {}, findings)
    if old is None:
        _check_new(obj, findings)
        return
    if (series := obj.get("series")) and series != old.get("series"):
        _check_series(series, findings)
    for name in _FIXED:
        before, after = old.get(name) or None, obj.get(name) or None
        if before != after:
            findings.bad(_INNER.get(name, name), _shown_value(name, after), "field is immutable")


def _check_new(obj: Object, findings: Findings) -> None:
    if (series := obj.get("series")) is not None:
        _check_series(series, findings)
    if not obj.get("eventTime"):
        findings.require("eventTime")
    if obj.get("type") not in ("Normal", "Warning"):
        findings.bad("type", "", f"has invalid value: {obj.get('type') or ''}")
    for name in (
        "deprecatedFirstTimestamp",
        "deprecatedLastTimestamp",
        "deprecatedCount",
        "deprecatedSource",
    ):
        if obj.get(name):
            findings.bad(_INNER[name], "", "needs to be unset")


def _check_series(series: Object, findings: Findings) -> None:
    if series.get("count", 0) <= 1:
        findings.bad("series.count", "", "should be at least 2")
    if not series.get("lastObservedTime"):
        findings.require("series.lastObservedTime")


def _shown_value(name: str, value: object) -> object:
    """Return a refused value as a real server shows it: by the names of its own types."""
    members = _MEMBERS.get(name)
    if members is None:
        return value if name in _NULLABLE else value or ""
    if value is None and name == "related":
        return None
    given = value if isinstance(value, dict) else {}
    return {shown: given.get(member, "") for member, shown in members}


def _check_told(obj: Object, form: _Form, about: Object, findings: Findings) -> None:
    """Check what it is about and who tells it: since events have an eventTime, all of it has to be said."""
    home, stated = obj["metadata"].get("namespace", ""), about.get("namespace", "")
    told = bool(obj.get("eventTime"))
    anywhere = ("default", "kube-system") if told else ("default", "")
    agrees = home in anywhere if stated == "" else told or stated == home
    if not agrees:
        findings.bad("involvedObject.namespace", stated, "does not match event.namespace")
    if not told:
        return
    reporter = obj.get(form.reporter) or ""
    if not reporter:
        findings.require(form.reporter)
    rules.qualified_name(form.reporter, reporter, findings)
    for field in ("reportingInstance", "action", "reason"):
        text = obj.get(field) or ""
        if not text:
            findings.require(field)
        elif len(text) > _MOST_TEXT:
            findings.bad(field, "", f"can have at most {_MOST_TEXT} characters")
    if len(obj.get(form.text) or "") > _MOST_MESSAGE:
        findings.bad("message", "", f"can have at most {_MOST_MESSAGE} characters")
