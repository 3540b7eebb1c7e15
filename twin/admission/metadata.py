"""Names, labels and owner references."""

from __future__ import annotations

import re
from collections.abc import Sequence
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
MAX_NAME = 253
DNS_LABEL = re.compile(rf"{_LABEL}\Z")
_SEGMENT = re.compile(r"(?!\.{1,2}\Z)[^/%]+\Z")
SUBDOMAIN_RULE = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used "
    "for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
LABEL_RULE = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and "
    "must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used "
    "for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
_SEGMENT_RULE = "may not be '.' or '..' and may not contain '/' or '%'"
VALUE_RULE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  "
    "or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
_KEY_RULE = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end "
    "with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
    "validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
_QUALIFIED_RULE = (
    "a valid label key must consist of alphanumeric characters, '-', '_' or '.', and must start "
    "and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex "
    "used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS "
    "subdomain prefix and '/' (e.g. 'example.com/MyName')"
)
_STANDARD_FINALIZERS = frozenset({"kubernetes", "orphan", "foregroundDeletion"})
_ANY_FINALIZER = frozenset(
    {
        *("customresourcedefinitions", "nodepools", "nodeclaims", "kwoknodeclasses"),
        *("mutatingwebhookconfigurations", "validatingwebhookconfigurations"),
        "verticalpodautoscalers",
    }
)
"""Resources whose finalizers need no prefix."""
_Rule = tuple[re.Pattern[str], int, str]
_SEGMENTS: _Rule = (_SEGMENT, 10_000, _SEGMENT_RULE)
_NAMES: dict[str, _Rule] = {
    "namespaces": (DNS_LABEL, MAX_LABEL, LABEL_RULE),
    "services": (DNS_LABEL, MAX_LABEL, LABEL_RULE),
    **dict.fromkeys(
        (
            "apiservices",
            "events",
            "roles",
            "rolebindings",
            "clusterroles",
            "clusterrolebindings",
        ),
        _SEGMENTS,
    ),
}
"""Rules of names that are not subdomains, by resource."""


def check(metadata: Object, findings: Findings, resource: str = "") -> None:
    """Check name, labels and annotations of an object that is written."""
    _check_name(metadata, findings, _NAMES.get(resource, (SUBDOMAIN, MAX_NAME, SUBDOMAIN_RULE)))
    check_labels("metadata.labels", metadata.get("labels"), findings)
    check_annotations("metadata.annotations", metadata.get("annotations"), findings)
    _check_finalizers(metadata.get("finalizers") or (), resource, findings)
    _check_owners(metadata.get("ownerReferences") or (), findings)


def check_annotations(path: str, annotations: object, findings: Findings) -> None:
    """Check annotation keys, and how much all annotations hold."""
    size = 0
    for key, value in _pairs(path, annotations, findings):
        if isinstance(value, str):
            size += len(key.encode()) + len(value.encode())
        else:
            findings.bad(f"{path}[{key}]", value, "must be a string")
    if size > ANNOTATIONS_BYTES:
        findings.add(path, f"Too long: may not be more than {ANNOTATIONS_BYTES} bytes")


def _check_name(metadata: Object, findings: Findings, rule: _Rule) -> None:
    """Check a name, and what it is generated from."""
    name, prefix = metadata.get("name", ""), metadata.get("generateName") or ""
    if prefix:
        stem = f"{prefix[:-1]}a" if prefix.endswith("-") and rule is not _SEGMENTS else prefix
        _check_text("metadata.generateName", prefix, stem, rule, findings)
    if name:
        _check_text("metadata.name", name, name, rule, findings)


def _check_text(path: str, shown: object, text: object, rule: _Rule, findings: Findings) -> None:
    pattern, longest, sentence = rule
    if isinstance(text, str) and len(text) > longest:
        findings.bad(path, shown, f"must be no more than {longest} characters")
    elif not (isinstance(text, str) and pattern.match(text)):
        findings.bad(path, shown, sentence)


def _check_finalizers(finalizers: Sequence[object], resource: str, findings: Findings) -> None:
    path = "metadata.finalizers"
    for index, finalizer in enumerate(finalizers):
        problem = key_problem(finalizer) if isinstance(finalizer, str) else _KEY_RULE
        if problem:
            findings.bad(path, finalizer, problem)
        elif (
            "/" not in str(finalizer)
            and finalizer not in _STANDARD_FINALIZERS
            and resource not in _ANY_FINALIZER
        ):
            why = "name is neither a standard finalizer name nor is it fully qualified"
            findings.bad(f"{path}[{index}]", finalizer, why)


def _check_owners(owners: Sequence[Object], findings: Findings) -> None:
    """Check the references to owners; of those at most one is the controller."""
    path, controller = "metadata.ownerReferences", ""
    for owner in owners:
        if not str(owner.get("apiVersion") or "").rpartition("/")[2]:
            value = owner.get("apiVersion") or ""
            findings.bad(f"{path}.apiVersion", value, "version must not be empty")
        for field in ("kind", "name", "uid"):
            if not owner.get(field):
                findings.bad(f"{path}.{field}", owner.get(field, ""), "must not be empty")
        if (owner.get("apiVersion"), owner.get("kind")) == ("v1", "Event"):
            why = "/v1, Kind=Event is disallowed from being an owner"
            findings.bad(path, owner, why)
        if owner.get("controller") is True and controller:
            why = 'Only one reference can have Controller set to true. Found "true" in references '
            findings.bad(path, owners, f"{why}for {controller} and {owner.get('name')}")
        elif owner.get("controller") is True:
            controller = str(owner.get("name"))


def check_labels(path: str, labels: object, findings: Findings) -> None:
    """Check label keys and values."""
    for _, value in _pairs(path, labels, findings):
        check_label_value(path, value, findings)


def check_label_value(path: str, value: object, findings: Findings) -> None:
    """Check the value of a label."""
    if isinstance(value, str) and len(value) > MAX_LABEL:
        findings.bad(path, value, f"must be no more than {MAX_LABEL} bytes")
    elif not isinstance(value, str) or not LABEL_VALUE.match(value):
        findings.bad(path, value, VALUE_RULE)


def check_subdomain(path: str, name: str, findings: Findings) -> None:
    """Check a reference to an object whose name is a subdomain."""
    if len(name) > MAX_NAME:
        findings.bad(path, name, f"must be no more than {MAX_NAME} characters")
    elif not SUBDOMAIN.match(name):
        findings.bad(path, name, SUBDOMAIN_RULE)


def path_segment_problem(name: str) -> str:
    """Return why a name cannot stand in a path; empty when it can."""
    return "" if _SEGMENT.match(name) else _SEGMENT_RULE


def is_label_key(key: str) -> bool:
    """Say whether a text is a qualified name: a name, or a subdomain, a slash and a name."""
    prefix, slash, name = key.rpartition("/")
    if slash and not (len(prefix) <= MAX_NAME and SUBDOMAIN.match(prefix)):
        return False
    return len(name) <= MAX_LABEL and _NAME_PART.match(name) is not None


def _pairs(path: str, pairs: object, findings: Findings) -> list[tuple[str, Any]]:
    if not pairs:
        return []
    if not isinstance(pairs, dict):
        findings.bad(path, pairs, "must be an object of strings")
        return []
    for key in pairs:
        fault = key_problem(key)
        if fault:
            findings.bad(path, key, fault)
    return list(pairs.items())


@lru_cache(maxsize=4_096)  # the same few keys on every object
def key_problem(key: str) -> str:
    """Return what is wrong with the key of a label or annotation; empty when nothing is."""
    if key.count("/") > 1:
        return _QUALIFIED_RULE
    prefix, slash, name = key.rpartition("/")
    if slash and not prefix:
        return "prefix part must be non-empty"
    if prefix and not SUBDOMAIN.match(prefix):
        return f"prefix part {SUBDOMAIN_RULE}"
    if not name:
        return "name part must be non-empty"
    if len(name) > MAX_LABEL:
        return f"name part must be no more than {MAX_LABEL} bytes"
    return "" if _NAME_PART.match(name) else _KEY_RULE


def check_unchanged(old: Object, new: Object, findings: Findings) -> None:
    """Check that identity stays, and fill what a client may leave out."""
    for field in ("name", "namespace"):
        value = new.setdefault(field, old.get(field, ""))
        if value != old.get(field, ""):
            findings.bad(f"metadata.{field}", value, "field is immutable")
    for field in ("deletionTimestamp", "deletionGracePeriodSeconds"):
        if new.get(field) not in (None, old.get(field)):
            findings.bad(f"metadata.{field}", new[field], "field is immutable")
    if "deletionTimestamp" in old:
        known = old.get("finalizers") or ()
        added = [finalizer for finalizer in new.get("finalizers") or () if finalizer not in known]
        if added:
            listed = ", ".join(f'"{finalizer}"' for finalizer in added)
            why = "no new finalizers can be added if the object is being deleted, found new "
            sentence = f"Forbidden: {why}finalizers []string{{{listed}}}"
            findings.add("metadata.finalizers", sentence)
