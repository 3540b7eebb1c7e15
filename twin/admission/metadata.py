"""Names, labels and owner references."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from twin.admission.findings import Findings
from twin.records import Object

_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
SUBDOMAIN = re.compile(rf"{_LABEL}(\.{_LABEL})*\Z")
LABEL_VALUE = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?\Z")
MAX_LABEL = 63
ANNOTATIONS_BYTES = 256 << 10
"""Of all keys and values of an object's annotations together, as on a real server."""
_NAME_PART = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?\Z")
_MAX_NAME = 253
_DNS_LABEL = re.compile(rf"{_LABEL}\Z")
_SEGMENT = re.compile(r"(?!\.{1,2}\Z)[^/%]+\Z")
_SUBDOMAIN_RULE = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used "
    "for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
_LABEL_RULE = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and "
    "must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used "
    "for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
_SEGMENT_RULE = "may not be '.' or '..' and may not contain '/' or '%'"
_VALUE_RULE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  "
    "or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
_KEY_RULE = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end "
    "with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
    "validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
_Rule = tuple[re.Pattern[str], int, str]
_SEGMENTS: _Rule = (_SEGMENT, 10_000, _SEGMENT_RULE)
_NAMES: dict[str, _Rule] = {
    "namespaces": (_DNS_LABEL, MAX_LABEL, _LABEL_RULE),
    "services": (_DNS_LABEL, MAX_LABEL, _LABEL_RULE),
    **dict.fromkeys(("roles", "rolebindings", "clusterroles", "clusterrolebindings"), _SEGMENTS),
}
"""Rules of names that are not subdomains, by resource."""


def check(metadata: Object, findings: Findings, resource: str = "") -> None:
    """Check name, labels and annotations of an object that is written."""
    pattern, longest, rule = _NAMES.get(resource, (SUBDOMAIN, _MAX_NAME, _SUBDOMAIN_RULE))
    name = metadata.get("name", "")
    if isinstance(name, str) and len(name) > longest:
        findings.bad("metadata.name", name, f"must be no more than {longest} characters")
    elif name and not (isinstance(name, str) and pattern.match(name)):
        findings.bad("metadata.name", name, rule)
    check_labels("metadata.labels", metadata.get("labels"), findings)
    size = 0
    for key, value in _pairs("metadata.annotations", metadata.get("annotations"), findings):
        if isinstance(value, str):
            size += len(key.encode()) + len(value.encode())
        else:
            findings.bad(f"metadata.annotations[{key}]", value, "must be a string")
    if size > ANNOTATIONS_BYTES:
        sentence = f"Too long: may not be more than {ANNOTATIONS_BYTES} bytes"
        findings.add("metadata.annotations", sentence)
    for index, finalizer in enumerate(metadata.get("finalizers") or ()):
        if not (isinstance(finalizer, str) and is_label_key(finalizer)):
            findings.bad(f"metadata.finalizers[{index}]", finalizer, _KEY_RULE)
    for index, owner in enumerate(metadata.get("ownerReferences") or ()):
        for field in ("apiVersion", "kind", "name", "uid"):
            if not owner.get(field):
                path = f"metadata.ownerReferences[{index}].{field}"
                findings.bad(path, owner.get(field, ""), "must not be empty")


def check_labels(path: str, labels: object, findings: Findings) -> None:
    """Check label keys and values."""
    for _, value in _pairs(path, labels, findings):
        if isinstance(value, str) and len(value) > MAX_LABEL:
            findings.bad(path, value, f"must be no more than {MAX_LABEL} bytes")
        elif not isinstance(value, str) or not LABEL_VALUE.match(value):
            findings.bad(path, value, _VALUE_RULE)


def check_subdomain(path: str, name: str, findings: Findings) -> None:
    """Check a reference to an object whose name is a subdomain."""
    if len(name) > _MAX_NAME:
        findings.bad(path, name, f"must be no more than {_MAX_NAME} characters")
    elif not SUBDOMAIN.match(name):
        findings.bad(path, name, _SUBDOMAIN_RULE)


def path_segment_problem(name: str) -> str:
    """Return why a name cannot stand in a path; empty when it can."""
    return "" if _SEGMENT.match(name) else _SEGMENT_RULE


def is_label_key(key: str) -> bool:
    """Say whether a text is a qualified name: a name, or a subdomain, a slash and a name."""
    prefix, slash, name = key.rpartition("/")
    if slash and not (len(prefix) <= _MAX_NAME and SUBDOMAIN.match(prefix)):
        return False
    return len(name) <= MAX_LABEL and _NAME_PART.match(name) is not None


def _pairs(path: str, pairs: object, findings: Findings) -> list[tuple[str, Any]]:
    if not pairs:
        return []
    if not isinstance(pairs, dict):
        findings.bad(path, pairs, "must be an object of strings")
        return []
    for key in pairs:
        fault = _key_problem(key)
        if fault:
            findings.bad(path, key, fault)
    return list(pairs.items())


@lru_cache(maxsize=4_096)  # the same few keys on every object
def _key_problem(key: str) -> str:
    """Return what is wrong with the key of a label or annotation; empty when nothing is."""
    prefix, _, name = key.rpartition("/")
    if len(name) > MAX_LABEL or not _NAME_PART.match(name):
        return _KEY_RULE
    if prefix and not SUBDOMAIN.match(prefix):
        return f"prefix part {_SUBDOMAIN_RULE}"
    return ""


def check_unchanged(old: Object, new: Object, findings: Findings) -> None:
    """Check that identity stays, and fill what a client may leave out."""
    for field in ("name", "namespace"):
        value = new.setdefault(field, old.get(field, ""))
        if value != old.get(field, ""):
            findings.bad(f"metadata.{field}", value, "field is immutable")
    if "deletionTimestamp" in old:
        known = old.get("finalizers") or ()
        added = [finalizer for finalizer in new.get("finalizers") or () if finalizer not in known]
        if added:
            listed = ", ".join(f'"{finalizer}"' for finalizer in added)
            why = "no new finalizers can be added if the object is being deleted, found new "
            sentence = f"Forbidden: {why}finalizers []string{{{listed}}}"
            findings.add("metadata.finalizers", sentence)
