"""Custom resources checked by the schema of their definition, in the words of a real API server.

Unknown fields are dropped (pruned), and said to clients that ask for it. Types, lists of allowed values, patterns and
minima are checked; the answer names each field and its value. Numeric formats are not, as on a real server.
Sources: custom-resource-definitions.md of kubernetes/website; the words are those that servers answered, in
issues #1572 of cloudnative-pg/cloudnative-pg and #8308 of kubernetes/autoscaler.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from twin.admission.findings import Findings

QUANTITY = (
    r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))"
    r"(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$"
)


@dataclass(frozen=True, slots=True)
class Schema:
    """What a value has to be."""

    type: str
    """string, integer, object, array, or `integer,string` for either."""
    fields: Mapping[str, Schema] = field(default_factory=dict)
    """Of an object with named fields."""
    required: tuple[str, ...] = ()
    element: Schema | None = None
    """Of an array's items, or of an object's values under any name."""
    choices: tuple[str, ...] = ()
    minimum: int | None = None
    pattern: str = ""


STRING = Schema("string")
INTEGER = Schema("integer")
AMOUNT = Schema("integer,string", pattern=QUANTITY)
AMOUNTS = Schema("object", element=AMOUNT)


def choice(*values: str) -> Schema:
    """Return a text that is one of some."""
    return Schema("string", choices=values)


def record(required: tuple[str, ...] = (), **fields: Schema) -> Schema:
    """Return an object with these fields."""
    return Schema("object", fields=fields, required=required)


def rows(element: Schema) -> Schema:
    """Return a list."""
    return Schema("array", element=element)


def prune(value: Any, schema: Schema, path: str) -> Iterator[str]:
    """Take out what the schema has no place for, in place; yield the paths of it."""
    if isinstance(value, dict) and schema.type == "object":
        if schema.element is None:
            for name in [name for name in value if name not in schema.fields]:
                del value[name]
                yield f"{path}.{name}"
        for name, each in value.items():
            yield from prune(each, schema.element or schema.fields[name], f"{path}.{name}")
    elif isinstance(value, list) and schema.type == "array" and schema.element is not None:
        for index, each in enumerate(value):
            yield from prune(each, schema.element, f"{path}[{index}]")


def check(value: Any, schema: Schema, findings: Findings, path: str) -> None:
    """Note everything that is wrong with a value."""
    stated_type = _type_of(value)
    if stated_type not in schema.type.split(","):
        _mismatch(stated_type, schema, findings, path)
    elif isinstance(value, dict):
        for name in schema.required:
            if name not in value:
                findings.require(f"{path}.{name}")
        for name, each in value.items():
            inner = schema.element or schema.fields.get(name)
            if inner is not None:
                check(each, inner, findings, f"{path}.{name}")
    elif isinstance(value, list):
        assert schema.element is not None
        for index, each in enumerate(value):
            check(each, schema.element, findings, f"{path}[{index}]")
    elif schema.choices and value not in schema.choices:
        known = ", ".join(f'"{one}"' for one in schema.choices)
        findings.add(path, f'Unsupported value: "{value}": supported values: {known}')
    elif schema.minimum is not None and value < schema.minimum:
        why = f"{path} in body should be greater than or equal to {schema.minimum}"
        findings.bad(path, value, why)
    elif schema.pattern and isinstance(value, str) and not re.search(schema.pattern, value):
        findings.bad(path, value, f"{path} in body should match '{schema.pattern}'")


def _mismatch(stated_type: str, schema: Schema, findings: Findings, path: str) -> None:
    """Note a wrong type; a value that may have two is refused three times, as by a real server."""
    why = f'{path} in body must be of type {{}}: "{stated_type}"'
    findings.bad(path, stated_type, why.format(schema.type))
    if "," in schema.type:
        findings.add(
            "<nil>", f'Invalid value: "": "{path}" must validate at least one schema (anyOf)'
        )
        findings.bad(path, stated_type, why.format(schema.type.partition(",")[0]))


def _type_of(value: Any) -> str:
    if isinstance(value, bool):
        return "boolean"
    names = {str: "string", int: "integer", float: "number", list: "array", dict: "object"}
    return names.get(type(value), "null")
