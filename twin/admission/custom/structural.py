"""Whether a schema is structural: typed throughout, without what a server cannot prune and merge by.

Sources: k8s.io/apiextensions-apiserver pkg/apiserver/schema (validation.go) and the answers of kube-apiserver
1.36 to the rows of twin/tests/custom/cases.py.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from twin.admission.custom import checking, pruning, rules
from twin.admission.findings import Findings
from twin.copying import copy_object
from twin.custom.schema import (
    EMBEDDED,
    INT_OR_STRING,
    LIST_TYPE,
    MAP_KEYS,
    MAP_TYPE,
    PRESERVE,
    RULES,
    Node,
)

Schema = Mapping[str, Any]
TYPES = ("array", "boolean", "integer", "number", "object", "string")
FIELDS = frozenset({
    "additionalItems", "additionalProperties", "allOf", "anyOf", "default", "definitions", "dependencies",
    "description", "enum", "example", "exclusiveMaximum", "exclusiveMinimum", "externalDocs", "format",
    "id", "items", "maxItems", "maxLength", "maxProperties", "maximum", "minItems", "minLength",
    "minProperties", "minimum", "multipleOf", "not", "nullable", "oneOf", "pattern", "patternProperties",
    "properties", "required", "title", "type", "uniqueItems", "$ref", "$schema",
    EMBEDDED, INT_OR_STRING, LIST_TYPE, MAP_KEYS, MAP_TYPE, PRESERVE, RULES,
})  # fmt: skip
"""What a schema may say; anything else is an unknown field of the definition."""
_FORBIDDEN = ("$ref", "definitions", "dependencies", "patternProperties", "additionalItems", "id")
_EMPTY_INSIDE = ("type", "title", "description")
_UNDEFINED_INSIDE = ("default", "additionalProperties", "nullable", PRESERVE, EMBEDDED, LIST_TYPE,
                     MAP_TYPE, RULES)  # fmt: skip
_NUMBERS = {"maximum", "minimum", "multipleOf"}
_COUNTS = {"maxItems", "maxLength", "maxProperties", "minItems", "minLength", "minProperties"}
_FLAGS = {
    "exclusiveMaximum",
    "exclusiveMinimum",
    "nullable",
    "uniqueItems",
    INT_OR_STRING,
    EMBEDDED,
    PRESERVE,
}
_LISTS = {"required", "enum", "anyOf", "oneOf", "allOf", MAP_KEYS, RULES}
_TEXTS = {
    "type",
    "format",
    "pattern",
    "title",
    "description",
    "$ref",
    "$schema",
    "id",
    LIST_TYPE,
    MAP_TYPE,
}


def clean(schema: Any, path: str, depth: int = 0) -> tuple[list[str], str]:
    """Drop unknown fields and nulls of a schema in place; return their paths, and the path of the
    first field of a wrong type (empty: none is).
    """
    if not isinstance(schema, dict) or depth > 64:
        return [], path
    unknown = []
    for name in list(schema):
        value = schema[name]
        if name not in FIELDS:
            unknown.append(f"{path}.{name}")
            del schema[name]
        elif value is None:
            del schema[name]
        elif not _fits(name, value):
            return unknown, f"{path}.{name}"
    for inner, below in _parts(schema):
        more, wrong = clean(below, f"{path}.{inner}", depth + 1)
        unknown += more
        if wrong:
            return unknown, wrong
    return unknown, ""


def _fits(name: str, value: Any) -> bool:
    whole = isinstance(value, int) and not isinstance(value, bool)
    if name in _COUNTS:
        return whole
    if name in _NUMBERS:
        return whole or isinstance(value, float)
    if name in _FLAGS:
        return isinstance(value, bool)
    if name in _TEXTS:
        return isinstance(value, str)
    if name in _LISTS:
        return isinstance(value, list)
    if name in ("properties", "definitions", "patternProperties", "not"):
        return isinstance(value, dict)
    return name not in ("additionalProperties", "additionalItems") or isinstance(value, bool | dict)


def _parts(schema: Schema) -> list[tuple[str, Any]]:
    """Return the schemas directly within a schema, each with its place."""
    parts: list[tuple[str, Any]] = []
    for name in ("properties", "patternProperties", "definitions"):
        parts += [(f"{name}[{key}]", each) for key, each in (schema.get(name) or {}).items()]
    for name in ("additionalProperties", "additionalItems", "not", "items"):
        value = schema.get(name)
        if value is not None and not isinstance(value, bool | list):
            parts.append((name, value))
    for name in ("anyOf", "oneOf", "allOf"):
        parts += [(f"{name}[{index}]", each) for index, each in enumerate(schema.get(name) or ())]
    return parts


def check_root(schema: Schema, findings: Findings, path: str) -> None:
    """Check the schema of a version; `path` is where it stands."""
    kind = schema.get("type")
    if not kind:
        findings.add(f"{path}.type", "Required value: must not be empty at the root")
    elif kind in TYPES and kind != "object":
        findings.bad(f"{path}.type", kind, "must be object at the root")
    if schema.get("nullable"):
        findings.add(f"{path}.nullable", "Forbidden: nullable cannot be true at the root")
    metadata = (schema.get("properties") or {}).get("metadata")
    if metadata is not None:
        _check_metadata(metadata, findings, f"{path}.properties[metadata]")
    before = len(findings.causes)
    _check(schema, findings, path, root=True)
    if len(findings.causes) == before:
        _check_defaults(schema, findings, path)
    if len(findings.causes) == before:
        rules.check_rules(Node(schema, root=True), findings, path)


def _check_metadata(schema: Schema, findings: Findings, path: str) -> None:
    allowed = {"type", "properties", "description"}
    names = set(schema.get("properties") or ())
    if not names <= {"name", "generateName"} or not set(schema) <= allowed:
        why = "must not specify anything other than name and generateName, but metadata is implicitly specified"
        findings.add(path, f"Forbidden: {why}")


def _check(schema: Schema, findings: Findings, path: str, *, root: bool = False) -> None:
    """Check one place of a structural schema and all below it."""
    _check_type(schema, findings, path, root=root)
    _check_words(schema, findings, path)
    _check_extensions(schema, findings, path)
    _check_lists(schema, findings, path)
    additional = schema.get("additionalProperties")
    if additional is not None and additional is not True and schema.get("properties"):
        why = "additionalProperties and properties are mutual exclusive"
        findings.add(f"{path}.additionalProperties", f"Forbidden: {why}")
    for name, below in (schema.get("properties") or {}).items():
        if root and name == "metadata":
            continue
        _check(below, findings, f"{path}.properties[{name}]")
    if isinstance(additional, dict):
        if root:
            findings.add(f"{path}.additionalProperties", "Forbidden: must not be used at the root")
        _check(additional, findings, f"{path}.additionalProperties")
    items = schema.get("items")
    if isinstance(items, list):
        findings.add(f"{path}.items", "Forbidden: items must be a schema object and not an array")
    elif items is not None:
        _check(items, findings, f"{path}.items")
    elif schema.get("type") == "array":
        findings.add(f"{path}.items", "Required value: must be specified")
    for name in ("anyOf", "oneOf", "allOf"):
        for index, each in enumerate(schema.get(name) or ()):
            _check_inside(each, findings, f"{path}.{name}[{index}]", schema, name)
    if schema.get("not") is not None:
        _check_inside(schema["not"], findings, f"{path}.not", schema, "not")


def _check_type(schema: Schema, findings: Findings, path: str, *, root: bool) -> None:
    kind = schema.get("type", "")
    if kind and kind not in TYPES:
        known = ", ".join(f'"{one}"' for one in TYPES)
        findings.add(f"{path}.type", f'Unsupported value: "{kind}": supported values: {known}')
    untyped = schema.get(INT_OR_STRING) or schema.get(PRESERVE)
    if not kind and not untyped and not root and "$ref" not in schema:
        place = "array items" if path.endswith(".items") else "object fields"
        why = f"must not be empty for specified {place}"
        findings.add(f"{path}.type", f"Required value: {why}")


def _check_words(schema: Schema, findings: Findings, path: str) -> None:
    for name in _FORBIDDEN:
        if schema.get(name) is not None:
            findings.add(f"{path}.{name}", f"Forbidden: {name} is not supported")
    if schema.get("uniqueItems"):
        why = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        findings.add(f"{path}.uniqueItems", f"Forbidden: {why}")
    pattern = schema.get("pattern")
    if pattern and checking.compiled_pattern(pattern) is None:
        why = "must be a valid regular expression, but isn't: error parsing regexp"
        findings.bad(f"{path}.pattern", pattern, why)


def _check_extensions(schema: Schema, findings: Findings, path: str) -> None:
    if schema.get(PRESERVE) is False:
        findings.add(f"{path}.{PRESERVE}", "Invalid value: false: must be true or undefined")
    kind = schema.get("type", "")
    if schema.get(EMBEDDED):
        if not schema.get("properties") and not schema.get(PRESERVE):
            why = f"must not be empty if {EMBEDDED} is true without {PRESERVE}"
            findings.add(f"{path}.properties", f"Required value: {why}")
        if kind != "object":
            findings.bad(f"{path}.type", kind, f"must be object if {EMBEDDED} is true")
    form = schema.get(MAP_TYPE)
    if form is not None:
        if kind != "object":
            findings.bad(f"{path}.type", kind, f"must be object if {MAP_TYPE} is specified")
        if form not in ("atomic", "granular"):
            known = 'supported values: "atomic", "granular"'
            findings.add(f"{path}.{MAP_TYPE}", f"Unsupported value: {json.dumps(form)}: {known}")


def _check_lists(schema: Schema, findings: Findings, path: str) -> None:
    form, keys = schema.get(LIST_TYPE), schema.get(MAP_KEYS) or []
    if form is None:
        if keys:
            why = f"must be map if {MAP_KEYS} is non-empty"
            findings.add(f"{path}.{LIST_TYPE}", f"Required value: {why}")
        return
    kind = schema.get("type", "")
    if kind != "array":
        findings.bad(f"{path}.type", kind, f"must be array if {LIST_TYPE} is specified")
    if form not in ("atomic", "set", "map"):
        known = 'supported values: "atomic", "set", "map"'
        findings.add(f"{path}.{LIST_TYPE}", f"Unsupported value: {json.dumps(form)}: {known}")
    items = schema.get("items")
    if not isinstance(items, dict):
        return
    if form == "map":
        _check_map_list(items, keys, findings, path)
    elif keys:
        why = f"must be map if {MAP_KEYS} is non-empty"
        findings.bad(f"{path}.{LIST_TYPE}", form, why)
    if form == "set":
        _check_set_items(items, findings, f"{path}.items")


def _check_map_list(items: Schema, keys: list[str], findings: Findings, path: str) -> None:
    place = f"{path}.{MAP_KEYS}"
    if not keys:
        findings.add(place, f"Required value: must not be empty if {LIST_TYPE} is map")
    kind = items.get("type", "")
    if kind != "object":
        why = f"must be object if parent array's {LIST_TYPE} is map"
        findings.bad(f"{path}.items.type", kind, why)
        return
    properties = items.get("properties") or {}
    if any(key not in properties for key in keys):
        why = "entries must all be names of item properties"
        findings.add(place, f"Invalid value: {json.dumps(keys, separators=(',', ':'))}: {why}")
    if len(set(keys)) < len(keys):
        findings.add(place, f"Invalid value: {json.dumps(keys)}: must not contain duplicates")
    for key in keys:
        below = properties.get(key)
        if below is None:
            continue
        inner = f"{path}.items.properties[{key}]"
        if below.get("type") in ("object", "array"):
            why = f"must be a scalar type if parent array's {LIST_TYPE} is map"
            findings.bad(f"{inner}.type", below["type"], why)
        if "default" not in below and key not in (items.get("required") or ()):
            why = f"this property is in {MAP_KEYS}, so it must have a default or be a required property"
            findings.add(f"{inner}.default", f"Required value: {why}")


def _check_set_items(items: Schema, findings: Findings, path: str) -> None:
    rule = f"as item of a list with {LIST_TYPE}=set"
    if items.get("nullable"):
        findings.add(f"{path}.nullable", f"Forbidden: cannot be nullable when {LIST_TYPE} is set")
    if items.get("type") == "object" and items.get(MAP_TYPE) != "atomic":
        stated = json.dumps(items.get(MAP_TYPE))
        findings.add(f"{path}.{MAP_TYPE}", f"Invalid value: {stated}: must be atomic {rule}")
    if items.get("type") == "array" and items.get(LIST_TYPE) not in (None, "atomic"):
        stated = json.dumps(items.get(LIST_TYPE))
        findings.add(f"{path}.{LIST_TYPE}", f"Invalid value: {stated}: must be atomic {rule}")


def _check_inside(schema: Schema, findings: Findings, path: str, outer: Schema, how: str) -> None:
    """Check what stands within anyOf, oneOf, allOf or not: it checks values and defines nothing."""
    typed = schema.get("type") in ("integer", "string") and outer.get(INT_OR_STRING)
    for name in _EMPTY_INSIDE:
        if schema.get(name) and not (name == "type" and typed and how in ("anyOf", "allOf")):
            findings.add(f"{path}.{name}", "Forbidden: must be empty to be structural")
    for name in _UNDEFINED_INSIDE:
        if schema.get(name):
            findings.add(f"{path}.{name}", "Forbidden: must be undefined to be structural")
    for name in ("anyOf", "oneOf", "allOf"):
        for index, each in enumerate(schema.get(name) or ()):
            _check_inside(each, findings, f"{path}.{name}[{index}]", outer, name)
    if schema.get("not") is not None:
        _check_inside(schema["not"], findings, f"{path}.not", outer, "not")
    for name, below in (schema.get("properties") or {}).items():
        inside = (outer.get("properties") or {}).get(name) or {}
        _check_inside(below, findings, f"{path}.properties[{name}]", inside, how)
    items = schema.get("items")
    if isinstance(items, dict):
        _check_inside(items, findings, f"{path}.items", outer.get("items") or {}, how)


def _check_defaults(schema: Schema, findings: Findings, path: str) -> None:
    """Check that each default is a value of its own schema, unknown fields and all."""
    default = schema.get("default")
    if default is not None:
        node, copy = Node(schema), copy_object(default)
        place = f"{path}.default"
        if list(pruning.prune(copy, node)):
            shown = json.dumps(default, separators=(",", ":"), sort_keys=True)
            findings.add(place, f"Invalid value: {shown}: must not have unknown fields")
        pruning.fill(copy, node)
        found = Findings()
        checking.check(copy, node, found, "")
        for cause in found.causes:
            where = f"{place}.{cause[0]}" if cause[0] not in ("", "<nil>") else place
            findings.add(where, cause[1])
    for inner, below in _parts(schema):
        if isinstance(below, dict) and not inner.startswith(("anyOf", "oneOf", "allOf", "not")):
            _check_defaults(below, findings, f"{path}.{inner}")
