"""Label and field selectors of list and watch, in every form that clients write.

A selector looks at records, not at rendered objects, so a list that selects little costs little.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from twin.api.label_selectors import LONGEST, Requirement, label_requirements
from twin.errors import bad_request
from twin.intake import is_custom
from twin.kinds import Kind
from twin.records import NodeRecord, ObjectRecord, PodRecord, Record
from twin.render import render

_ODD_ESCAPE = re.compile(r"\\[^\\,=]")
_FIELD = re.compile(r"^([^\s!=]*?)(==|=|!=)((?:[^\\,=]|\\.)*)$")

SHOWN = 500
"""Characters of a malformed selector that a refusal repeats."""
MOST_FIELD_TERMS = 16
"""Terms of a selector; each is looked at for every object that there is."""

COMMON_FIELDS = ("metadata.name", "metadata.namespace")
FIELDS: Mapping[str, Mapping[str, str]] = {
    "pods": {
        "spec.nodeName": "",
        "spec.restartPolicy": "",
        "spec.schedulerName": "",
        "spec.serviceAccountName": "",
        "spec.hostNetwork": "false",
        "status.phase": "",
        "status.podIP": "",
        "status.podIPs": "",
        "status.nominatedNodeName": "",
    },
    "nodes": {"spec.unschedulable": "false"},
    "events": {
        "involvedObject.kind": "",
        "involvedObject.namespace": "",
        "involvedObject.name": "",
        "involvedObject.uid": "",
        "involvedObject.apiVersion": "",
        "involvedObject.resourceVersion": "",
        "involvedObject.fieldPath": "",
        "reason": "",
        "reportingComponent": "",
        "source": "",
        "type": "",
    },
    "jobs": {"status.successful": "0"},
    "namespaces": {"status.phase": ""},
    "replicationcontrollers": {"status.replicas": "0"},
    "certificatesigningrequests": {"spec.signerName": ""},
    "ipaddresses": {"spec.parentRef.resource": ""},
    "resourceslices": {"spec.nodeName": "", "spec.driver": ""},
    "secrets": {"type": ""},
    "services": {"spec.clusterIP": "", "spec.type": ""},
}
"""Fields that a real server can select on, by resource, each with the text of an absent one."""
_ELSEWHERE = {
    ("events", "source"): "source.component",
    ("jobs", "status.successful"): "status.succeeded",
    ("pods", "status.podIPs"): "status.podIP",
}
"""Fields whose name in selectors is not their path."""


@dataclass(frozen=True, slots=True)
class Selector:
    """What a request selects of one kind."""

    resource: str
    labels: tuple[Requirement, ...] = ()
    fields: tuple[tuple[str, str, bool], ...] = ()

    @property
    def everything(self) -> bool:
        """Whether nothing is left out."""
        return not self.labels and not self.fields

    def matches(self, record: Record) -> bool:
        """Say whether a record is selected."""
        if self.labels:
            labels = record.labels
            if not all(requirement(labels) for requirement in self.labels):
                return False
        if not self.fields:
            return True
        whole: Any = None  # rendered once, if at all
        for name, value, equal in self.fields:
            text = quick_text(record, name)
            if text is None:
                if whole is None:
                    whole = _whole(self.resource, record)
                text = _text_in(self.resource, whole, name)
            if (text == value) is not equal:
                return False
        return True


def parse_selector(query: Mapping[str, str], kind: Kind) -> Selector:
    """Return what a request's query selects; raises ApiError 400."""
    return Selector(
        kind.resource,
        tuple(label_requirements(query.get("labelSelector", ""))),
        tuple(
            field_requirements(
                query.get("fieldSelector", ""),
                kind.resource,
                kind.custom.selectable if kind.custom is not None else (),
            )
        ),
    )


def field_requirements(
    text: str, resource: str, selectable: tuple[str, ...] = ()
) -> list[tuple[str, str, bool]]:
    """Read a field selector as (field, value, equal); raises ApiError 400 for an unknown field."""
    requirements = []
    _check_length(text)
    parts = [part for part in re.split(r"(?<!\\),", text) if part]
    if len(parts) > MOST_FIELD_TERMS:
        raise bad_request(f"invalid selector: more than {MOST_FIELD_TERMS} terms")
    for part in parts:
        match = _FIELD.match(part)
        if match is None:
            raise bad_request(
                f"invalid selector: '{text[:SHOWN]}'; can't understand '{part[:SHOWN]}'"
            )
        name, sign, value = match.groups()
        if escaped := _ODD_ESCAPE.search(value):
            why = f"invalid field selector: invalid escape sequence: {escaped[0]}"
            raise bad_request(why)
        known_fields = (*COMMON_FIELDS, *selectable, *FIELDS.get(resource, {}))
        if name not in known_fields:
            if resource == "jobs":
                raise bad_request(f'field label "{name[:SHOWN]}" not supported for Job')
            if resource == "resourceslices":
                which = "resource.k8s.io/v1, Kind=ResourceSlice"
                raise bad_request(f"field label not supported for {which}: {name[:SHOWN]}")
            if (resource in FIELDS and resource != "ipaddresses") or is_custom(resource):
                raise bad_request(f"field label not supported: {name[:SHOWN]}")
            known = ", ".join(f'"{field}"' for field in COMMON_FIELDS)
            raise bad_request(f'"{name[:SHOWN]}" is not a known field selector: only {known}')
        requirements.append((name, re.sub(r"\\(.)", r"\1", value), sign != "!="))
    return requirements


def field_text(resource: str, record: Record, name: str) -> str:
    """Return the text of a field that can be selected on."""
    text = quick_text(record, name)
    return _text_in(resource, _whole(resource, record), name) if text is None else text


def quick_text(record: Record, name: str) -> str | None:
    """Return the text of a field that a record has at hand; None for others."""
    if name == "metadata.name":
        return record.name
    if name == "metadata.namespace":
        return record.namespace
    if isinstance(record, PodRecord):
        if name == "spec.nodeName":
            return record.node_name
        if name == "status.phase":
            return record.phase
    if isinstance(record, NodeRecord) and name == "spec.unschedulable":
        return str(record.unschedulable).lower()
    return None


def _whole(resource: str, record: Record) -> Any:
    return record.body if isinstance(record, ObjectRecord) else render(resource, record)


def _text_in(resource: str, value: Any, name: str) -> str:
    for part in _ELSEWHERE.get((resource, name), name).split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    if value is None or value == "":
        return FIELDS.get(resource, {}).get(name, "")
    return str(value).lower() if isinstance(value, bool) else str(value)


def _check_length(text: str) -> None:
    if len(text) > LONGEST:
        raise bad_request(f"a selector has at most {LONGEST} characters, this one {len(text)}")
