"""Defaults and checks of CustomResourceDefinitions themselves.

What all versions have in common is checked and named once (`spec.validation`), as a real server does,
which keeps it in one place. Source: k8s.io/apiextensions-apiserver pkg/apis/apiextensions/validation; the
sentences are the answers of kube-apiserver 1.36.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from twin.admission.custom import structural
from twin.admission.findings import Findings
from twin.admission.metadata import SUBDOMAIN
from twin.custom.json_paths import read_path
from twin.custom.schema import Node

Object = dict[str, Any]
LABEL = re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?\Z")
LABEL_RULE = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic "
    "character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for "
    "validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
)
_SUBDOMAIN_RULE = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must "
    "start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
_COLUMN_TYPES = ("boolean", "date", "integer", "number", "string")
_APPROVAL = "api-approved.kubernetes.io"
_APPROVAL_RULE = (
    f'Required value: protected groups must have approval annotation "{_APPROVAL}", see '
    "https://github.com/kubernetes/enhancements/pull/1111"
)


def admit(obj: Object, findings: Findings) -> None:
    """Default and check a definition in place."""
    spec = obj.setdefault("spec", {})
    names = spec.setdefault("names", {})
    if names.get("kind"):
        names.setdefault("singular", names["kind"].lower())
        names.setdefault("listKind", f"{names['kind']}List")
    spec.setdefault("conversion", {"strategy": "None"}).setdefault("strategy", "None")
    versions = spec.setdefault("versions", [])
    for version in versions:
        version.setdefault("name", "")
        version.setdefault("served", False)
        version.setdefault("storage", False)
    required = f"{names.get('plural', '')}.{spec.get('group', '')}"
    if obj["metadata"].get("name") not in (None, "", required):
        why = 'must be spec.names.plural+"."+spec.group'
        findings.bad("metadata.name", obj["metadata"].get("name", ""), why)
    _check_group(obj, spec, findings)
    _check_scope(spec, findings)
    _check_versions(versions, findings)
    _check_names(names, findings)
    _check_conversion(spec["conversion"], findings)
    for field, place, check in _SHARED:
        _check_shared(versions, field, place, check, findings)


def begin_status(obj: Object) -> None:
    """Set the status of a new definition: nothing is served yet."""
    stored = [version["name"] for version in obj["spec"]["versions"] if version["storage"]]
    accepted = {"plural": "", "kind": ""}
    obj["status"] = {"conditions": None, "acceptedNames": accepted, "storedVersions": stored}


def check_unchanged(old: Object, new: Object, findings: Findings) -> None:
    """Check what cannot change, and that no version that objects were stored in goes."""
    before, after = old["spec"], new["spec"]
    for path in ("group", "names.plural", "scope", "names.kind"):
        value, was = _at(after, path), _at(before, path)
        if value != was:
            findings.bad(f"spec.{path}", value, "field is immutable")
    names = {version["name"] for version in after["versions"]}
    stored = list(old["status"].get("storedVersions") or ())
    stored += [each["name"] for each in after["versions"] if each["storage"]]
    new["status"] = {**old["status"], "storedVersions": list(dict.fromkeys(stored))}
    for index, name in enumerate(old["status"].get("storedVersions") or ()):
        if name not in names:
            path = f"status.storedVersions[{index}]"
            why = (
                f"missing from spec.versions; {name} was previously a storage version, and must remain in "
                "spec.versions until a storage migration ensures no data remains persisted in "
                f"{name} and removes {name} from status.storedVersions"
            )
            findings.bad(path, name, why)


def _at(value: Any, path: str) -> Any:
    for part in path.split("."):
        value = (value or {}).get(part)
    return value


def _check_group(obj: Object, spec: Object, findings: Findings) -> None:
    group = spec.get("group", "")
    if not group:
        findings.require("spec.group")
    elif not SUBDOMAIN.match(group):
        findings.bad("spec.group", group, _SUBDOMAIN_RULE)
    elif "." not in group:
        findings.bad("spec.group", group, "should be a domain with at least one dot")
    protected = group.endswith((".k8s.io", ".kubernetes.io")) or group in (
        "k8s.io",
        "kubernetes.io",
    )
    if protected and not (obj["metadata"].get("annotations") or {}).get(_APPROVAL):
        findings.add(f"metadata.annotations[{_APPROVAL}]", _APPROVAL_RULE)


def _check_scope(spec: Object, findings: Findings) -> None:
    scope = spec.get("scope", "")
    if not scope:
        findings.require("spec.scope")
    elif scope not in ("Cluster", "Namespaced"):
        known = 'supported values: "Cluster", "Namespaced"'
        findings.add("spec.scope", f'Unsupported value: "{scope}": {known}')
    if spec.get("preserveUnknownFields"):
        why = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"
        findings.add("spec.preserveUnknownFields", f"Invalid value: true: {why}")


def _check_versions(versions: list[Object], findings: Findings) -> None:
    for index, version in enumerate(versions):
        path = f"spec.versions[{index}]"
        if not LABEL.match(version["name"]):
            findings.bad(f"{path}.name", version["name"], LABEL_RULE)
        if version.get("deprecationWarning") is not None and not version.get("deprecated"):
            why = "can only be set for deprecated versions"
            findings.bad(f"{path}.deprecationWarning", version["deprecationWarning"], why)
        if (version.get("schema") or {}).get("openAPIV3Schema") is None:
            findings.require(f"{path}.schema.openAPIV3Schema")
    names = [version["name"] for version in versions]
    shown = json.dumps(names or None)
    if len(set(names)) < len(names):
        findings.add("spec.versions", f"Invalid value: {shown}: must contain unique version names")
    if sum(bool(version["storage"]) for version in versions) != 1:
        why = "must have exactly one version marked as storage version"
        findings.add("spec.versions", f"Invalid value: {shown}: {why}")
    if not any(version["storage"] for version in versions):
        why = "must have at least one stored version"
        findings.add("status.storedVersions", f"Invalid value: null: {why}")


def _check_names(names: Object, findings: Findings) -> None:
    for field in ("plural", "singular", "kind", "listKind"):
        path, name = f"spec.names.{field}", names.get(field, "")
        mixed = field.lower().endswith("kind")
        if not name:
            findings.require(path)
        elif not LABEL.match(name.lower() if mixed else name):
            rule = "may have mixed case, but should otherwise match: " if mixed else ""
            findings.bad(path, name, rule + LABEL_RULE)
    for field in ("shortNames", "categories"):
        for index, name in enumerate(names.get(field) or ()):
            if not LABEL.match(name):
                findings.bad(f"spec.names.{field}[{index}]", name, LABEL_RULE)
    if names.get("kind") and names.get("kind") == names.get("listKind"):
        why = "kind and listKind may not be the same"
        findings.bad("spec.names.listKind", names["listKind"], why)


def _check_conversion(conversion: Object, findings: Findings) -> None:
    """Check how versions are to be converted; webhooks are taken note of, and never called."""
    strategy, webhook = conversion["strategy"], conversion.get("webhook")
    service = ((webhook or {}).get("clientConfig") or {}).get("service")
    if service:
        service.setdefault("port", 443)
    if strategy == "Webhook":
        if not (webhook or {}).get("clientConfig"):
            why = "Required value: required when strategy is set to Webhook"
            findings.add("spec.conversion.webhookClientConfig", why)
        if not (webhook or {}).get("conversionReviewVersions"):
            findings.require("spec.conversion.conversionReviewVersions")
    elif strategy != "None":
        known = 'supported values: "None", "Webhook"'
        findings.add("spec.conversion.strategy", f'Unsupported value: "{strategy}": {known}')
    elif webhook:
        why = "should not be set when strategy is not set to Webhook"
        findings.add("spec.conversion.webhookClientConfig", f"Forbidden: {why}")


def _check_shared(
    versions: list[Object],
    field: str,
    place: str,
    check: Callable[[Any, Object, Findings, str], None],
    findings: Findings,
) -> None:
    """Check a field of all versions, once where it is the same in all."""
    values = [version.get(field) for version in versions]
    if values and all(value == values[0] for value in values):
        if values[0] is not None:
            check(values[0], versions[0], findings, f"spec.{place}")
        return
    for index, value in enumerate(values):
        if value is not None:
            check(value, versions[index], findings, f"spec.versions[{index}].{field}")


def _check_schema(value: Any, version: Object, findings: Findings, path: str) -> None:
    del version
    schema = value.get("openAPIV3Schema")
    if schema is not None:
        structural.check_root(schema, findings, f"{path}.openAPIV3Schema")


def _check_subresources(value: Any, version: Object, findings: Findings, path: str) -> None:
    del version
    scale = value.get("scale")
    if scale is None:
        return
    rules = (("specReplicasPath", (".spec.",)), ("statusReplicasPath", (".status.",)),
             ("labelSelectorPath", (".spec.", ".status.")))  # fmt: skip
    for name, roots in rules:
        place, given = f"{path}.scale.{name}", scale.get(name, "")
        if not given:
            if name != "labelSelectorPath":
                findings.require(place)
        elif not _is_simple(given, items=False):
            findings.bad(place, given, "must be a simple json path starting with .")
        elif not given.startswith(roots):
            where = " or ".join(root.rstrip(".") for root in reversed(roots))
            findings.bad(place, given, f"should be a json path under {where}")


def _check_columns(value: Any, version: Object, findings: Findings, path: str) -> None:
    del version
    for index, column in enumerate(value):
        place = f"{path}[{index}]"
        if not column.get("name"):
            findings.require(f"{place}.name")
        if not column.get("type"):
            known = ",".join(_COLUMN_TYPES)
            findings.add(f"{place}.type", f"Required value: must be one of {known}")
        elif column["type"] not in _COLUMN_TYPES:
            findings.bad(
                f"{place}.type", column["type"], f"must be one of {','.join(_COLUMN_TYPES)}"
            )
        given = column.get("jsonPath", "")
        if not given:
            findings.require(f"{place}.JSONPath")
        elif not _is_simple(given, items=True):
            findings.bad(f"{place}.JSONPath", given, "must be a simple json path starting with .")


def _check_selectable(value: Any, version: Object, findings: Findings, path: str) -> None:
    schema = (version.get("schema") or {}).get("openAPIV3Schema")
    if len(value) > MOST_SELECTABLE:
        findings.add(path, f"Too many: {len(value)}: must have at most {MOST_SELECTABLE} items")
    for index, field in enumerate(value):
        place, given = f"{path}[{index}].jsonPath", field.get("jsonPath", "")
        node: Node | None = None if schema is None else Node(schema, root=True)
        for part in given.lstrip(".").split("."):
            node = None if node is None else node.properties.get(part)
        if not given:
            findings.require(place)
        elif not given.startswith(".") or node is None:
            findings.bad(place, given, "is an invalid path: does not refer to a valid field")
        elif node.type not in ("string", "boolean", "integer"):
            why = (
                "must point to a field of type string, boolean or integer. Enum string fields and "
            )
            findings.bad(place, given, f"{why}strings with formats are allowed")


MOST_SELECTABLE = 8
"""Selectable fields of a version, as on a real server."""
_SHARED: tuple[tuple[str, str, Callable[[Any, Object, Findings, str], None]], ...] = (
    ("schema", "validation", _check_schema),
    ("subresources", "subresources", _check_subresources),
    ("additionalPrinterColumns", "additionalPrinterColumns", _check_columns),
    ("selectableFields", "selectableFields", _check_selectable),
)


def _is_simple(path: str, *, items: bool) -> bool:
    if not path.startswith(".") or ("[" in path and not items):
        return False
    try:
        read_path(path)
    except ValueError:
        return False
    return True
