"""Label and field selectors of list and watch, in every form that clients write.

A selector looks at records, not at rendered objects, so a list that selects little costs little.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from twin.admission.metadata import LABEL_VALUE, MAX_LABEL, is_label_key
from twin.api.limits import LONGEST_NUMBER
from twin.errors import bad_request
from twin.intake import is_custom
from twin.kinds import Kind
from twin.records import NodeRecord, ObjectRecord, PodRecord, Record
from twin.render import render

Labels = Mapping[str, str]
Requirement = Callable[[Labels], bool]

_SET = re.compile(r"^(\S+)\s+(in|notin)\s*\(([^()]*)\)$")
_EQUALITY = re.compile(r"^([^\s!=<>]+)\s*(==|=|!=)\s*(\S*)$")
_NUMBER = re.compile(r"^([^\s!=<>]+)\s*([<>])\s*(-?\d+)$")
_PRESENCE = re.compile(r"^(!?)\s*([^\s!=<>(),]+)$")
_FIELD = re.compile(r"^([^\s!=]+?)(==|=|!=)((?:[^\\,=]|\\.)*)$")

_PIECES = re.compile(r"\([^()]*\)|[^,(]+|[,(]")
LONGEST = 16 << 10
"""Characters of a selector."""
SHOWN = 500
"""Characters of a malformed selector that a refusal repeats."""
MOST_TERMS = 100
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


def label_requirements(text: str) -> list[Requirement]:
    """Read a label selector; raises ApiError 400 when it cannot be read."""
    if not text.strip():
        return []
    _check_length(text)
    parts = _split(text)
    if len(parts) > MOST_TERMS:
        raise bad_request(f"unable to parse requirement: more than {MOST_TERMS} terms")
    return [_requirement(part.strip(), text) for part in parts]


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
        known_fields = (*COMMON_FIELDS, *selectable, *FIELDS.get(resource, {}))
        if name not in known_fields:
            if resource in FIELDS or is_custom(resource):
                raise bad_request(f"field label not supported: {name[:SHOWN]}")
            known = ", ".join(f'"{field}"' for field in COMMON_FIELDS)
            raise bad_request(f'"{name[:SHOWN]}" is not a known field selector: only {known}')
        requirements.append((name, re.sub(r"\\(.)", r"\1", value), sign != "!="))
    return requirements


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


def _split(text: str) -> list[str]:
    """Split at commas that are not within parentheses."""
    parts = [""]
    for piece in _PIECES.findall(text):
        if piece == ",":
            parts.append("")
        else:
            parts[-1] += piece
    return parts


def _check_length(text: str) -> None:
    if len(text) > LONGEST:
        raise bad_request(f"a selector has at most {LONGEST} characters, this one {len(text)}")


def _requirement(part: str, text: str) -> Requirement:
    match = _SET.match(part)
    if match is not None:
        return _membership_test(_key(match[1]), match[2] == "in", match[3])
    match = _EQUALITY.match(part)
    if match is not None:
        name, sign, value = _key(match[1]), match[2], _value(match[3])
        if sign == "!=":
            return lambda labels: labels.get(name) != value
        return lambda labels: labels.get(name) == value
    match = _NUMBER.match(part)
    if match is not None:
        return _comparison_test(_key(match[1]), match[2], _number(match[3]))
    match = _PRESENCE.match(part)
    if match is None:
        raise bad_request(
            f"unable to parse requirement: found {part[:SHOWN]!r} in {text[:SHOWN]!r}"
        )
    name = _key(match[2])
    if match[1]:
        return lambda labels: name not in labels
    return lambda labels: name in labels


def _membership_test(name: str, inside: bool, listed: str) -> Requirement:
    values = frozenset(_value(value.strip()) for value in listed.split(","))
    if inside:
        return lambda labels: labels.get(name) in values
    return lambda labels: labels.get(name) not in values


def _comparison_test(name: str, sign: str, limit: int) -> Requirement:
    def meets(labels: Labels) -> bool:
        label_value = labels.get(name, "")
        if not re.fullmatch(r"-?\d+", label_value):
            return False
        return int(label_value) > limit if sign == ">" else int(label_value) < limit

    return meets


def _number(text: str) -> int:
    if len(text) > LONGEST_NUMBER:
        raise bad_request(f"unable to parse requirement: {text[:SHOWN]!r} is out of range")
    return int(text)


def _key(name: str) -> str:
    if not is_label_key(name):
        raise bad_request(
            f'unable to parse requirement: <nil>: Invalid value: "{name[:SHOWN]}": name part must consist '
            "of alphanumeric characters, '-', '_' or '.', and must start and end with an "
            "alphanumeric character"
        )
    return name


def _value(value: str) -> str:
    if value.startswith("="):
        raise bad_request("unable to parse requirement: found '=', expected: identifier")
    if len(value) > MAX_LABEL or not LABEL_VALUE.match(value):
        raise bad_request(
            f'unable to parse requirement: values[0]: Invalid value: "{value[:SHOWN]}": a valid label must '
            "be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must "
            "start and end with an alphanumeric character"
        )
    return value
