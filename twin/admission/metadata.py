"""Names, labels and owner references."""

from __future__ import annotations

import re
from typing import Any

from twin.admission.findings import Findings
from twin.records import Object

SUBDOMAIN = re.compile(r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$")
_LABEL_VALUE = re.compile(r"^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$")
_NAME_PART = re.compile(r"^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$")
_MAX_NAME, _MAX_LABEL = 253, 63
_SUBDOMAIN_RULE = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    "'.', and must start and end with an alphanumeric character"
)


def check(metadata: Object, findings: Findings) -> None:
    """Check name, labels and annotations of an object that is written."""
    name = metadata.get("name", "")
    if name and not (isinstance(name, str) and len(name) <= _MAX_NAME and SUBDOMAIN.match(name)):
        findings.bad("metadata.name", name, _SUBDOMAIN_RULE)
    check_labels("metadata.labels", metadata.get("labels"), findings)
    for key, value in _pairs("metadata.annotations", metadata.get("annotations"), findings):
        if not isinstance(value, str):
            findings.bad(f"metadata.annotations[{key}]", value, "must be a string")


def check_labels(path: str, labels: object, findings: Findings) -> None:
    """Check label keys and values."""
    for _, value in _pairs(path, labels, findings):
        if not (isinstance(value, str) and len(value) <= _MAX_LABEL and _LABEL_VALUE.match(value)):
            findings.bad(path, value, "a valid label must be at most 63 of A-Z a-z 0-9 - _ .")


def _pairs(path: str, pairs: object, findings: Findings) -> list[tuple[str, Any]]:
    if not pairs:
        return []
    if not isinstance(pairs, dict):
        findings.bad(path, pairs, "must be an object of strings")
        return []
    for key in pairs:
        prefix, _, name = key.rpartition("/")
        if len(name) > _MAX_LABEL or not _NAME_PART.match(name):
            findings.bad(path, key, "a qualified name is needed (e.g. 'example.com/MyName')")
        elif prefix and not SUBDOMAIN.match(prefix):
            findings.bad(path, key, f"prefix part {_SUBDOMAIN_RULE}")
    return list(pairs.items())


def check_unchanged(old: Object, new: Object, findings: Findings) -> None:
    """Check that identity stays, and fill what a client may leave out."""
    for field in ("name", "namespace"):
        value = new.setdefault(field, old.get(field, ""))
        if value != old.get(field, ""):
            findings.bad(f"metadata.{field}", value, "field is immutable")
