"""Label and field selectors of list and watch, in every form that kubectl writes."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from twin.errors import bad_request

Labels = Mapping[str, str]
Requirement = Callable[[Labels], bool]

_SET = re.compile(r"^(\S+)\s+(in|notin)\s+\(([^)]*)\)$")
_EQUALITY = re.compile(r"^([^\s!=]+)\s*(==|=|!=)\s*(\S*)$")
_NAME = re.compile(r"^!?[A-Za-z0-9][A-Za-z0-9._/-]*$")

COMMON_FIELDS = ("metadata.name", "metadata.namespace")
FIELDS: Mapping[str, tuple[str, ...]] = {
    "pods": (
        "spec.nodeName",
        "status.phase",
        "spec.schedulerName",
        "spec.restartPolicy",
        "status.podIP",
    ),
    "nodes": ("spec.unschedulable",),
    "events": (
        "involvedObject.kind",
        "involvedObject.name",
        "involvedObject.namespace",
        "involvedObject.uid",
        "reason",
        "type",
    ),
    "jobs": ("status.successful",),
    "namespaces": ("status.phase",),
}
"""Fields that a real server can select on, by resource."""


def label_requirements(text: str) -> list[Requirement]:
    """Read a label selector; raises ApiError 400 when it cannot be read."""
    return [_requirement(part.strip()) for part in _split(text) if part.strip()]


def labels_match(requirements: list[Requirement], labels: Labels) -> bool:
    """Say whether labels meet all requirements."""
    return all(requirement(labels) for requirement in requirements)


def field_requirements(text: str, resource: str) -> list[tuple[str, str, bool]]:
    """Read a field selector as (field, value, equal); raises ApiError 400 for an unknown field."""
    known = (*COMMON_FIELDS, *FIELDS.get(resource, ()))
    found = []
    for part in filter(None, (part.strip() for part in text.split(","))):
        match = _EQUALITY.match(part)
        if match is None:
            raise bad_request(f"invalid selector: '{text}'; can't understand '{part}'")
        name, sign, value = match.groups()
        if name not in known:
            raise bad_request(
                f'field label not supported: {name}; "{resource}" knows {", ".join(known)}'
            )
        found.append((name, value, sign != "!="))
    return found


def fields_match(requirements: list[tuple[str, str, bool]], obj: Mapping[str, Any]) -> bool:
    """Say whether an object's fields meet all requirements."""
    return all((_text(obj, name) == value) is equal for name, value, equal in requirements)


def _text(obj: Any, path: str) -> str:
    for part in path.split("."):
        obj = obj.get(part, "") if isinstance(obj, Mapping) else ""
    return str(obj).lower() if isinstance(obj, bool) else str(obj)


def _split(text: str) -> list[str]:
    """Split at commas that are not within parentheses."""
    return re.split(r",(?![^(]*\))", text)


def _requirement(part: str) -> Requirement:
    found = _SET.match(part)
    if found is not None:
        name, operator, listed = found.groups()
        values = {value.strip() for value in listed.split(",")}
        if operator == "in":
            return lambda labels: labels.get(name) in values
        return lambda labels: labels.get(name) not in values
    found = _EQUALITY.match(part)
    if found is not None:
        name, sign, value = found.groups()
        if sign == "!=":
            return lambda labels: labels.get(name) != value
        return lambda labels: labels.get(name) == value
    if _NAME.match(part) is None:
        raise bad_request(f"unable to parse requirement: {part!r}")
    if part.startswith("!"):
        return lambda labels: part[1:] not in labels
    return lambda labels: part in labels
