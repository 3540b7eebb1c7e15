"""Structural schemas, compiled from a definition's `openAPIV3Schema` as far as they are looked at.

Source: "Specifying a structural schema" in custom-resource-definitions.md of kubernetes/website.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

Json = Any
PRESERVE = "x-kubernetes-preserve-unknown-fields"
INT_OR_STRING = "x-kubernetes-int-or-string"
EMBEDDED = "x-kubernetes-embedded-resource"
LIST_TYPE = "x-kubernetes-list-type"
MAP_TYPE = "x-kubernetes-map-type"
MAP_KEYS = "x-kubernetes-list-map-keys"
RULES = "x-kubernetes-validations"


class Node:
    """The schema of one place; parts are compiled when somebody first asks for them."""

    def __init__(self, source: Mapping[str, Json], *, root: bool = False) -> None:
        """Read a schema; the root is a whole object with `metadata`."""
        self.source = source
        self.root = root

    @cached_property
    def type(self) -> str:
        """The JSON type; empty where any is allowed, and for integers or strings."""
        return str(self.source.get("type") or "")

    @cached_property
    def int_or_string(self) -> bool:
        """Whether it is an integer or a string."""
        return self.source.get(INT_OR_STRING) is True

    @cached_property
    def preserves(self) -> bool:
        """Whether unknown fields stay."""
        return self.source.get(PRESERVE) is True

    @cached_property
    def embedded(self) -> bool:
        """Whether it is a whole Kubernetes object."""
        return self.source.get(EMBEDDED) is True

    @cached_property
    def nullable(self) -> bool:
        """Whether null is a value."""
        return self.source.get("nullable") is True

    @cached_property
    def properties(self) -> dict[str, Node]:
        """The named members."""
        return {name: Node(each) for name, each in (self.source.get("properties") or {}).items()}

    @cached_property
    def additional(self) -> Node | None:
        """The schema of members under any name; None where there are none of these."""
        given = self.source.get("additionalProperties")
        if isinstance(given, dict):
            return Node(given)
        return Node({PRESERVE: True}) if given is True else None

    @cached_property
    def items(self) -> Node | None:
        """The schema of a list's items."""
        given = self.source.get("items")
        return Node(given) if isinstance(given, dict) else None

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """The fields that tell items of a list apart; empty for other lists."""
        if self.source.get(LIST_TYPE) != "map":
            return ()
        return tuple(self.source.get(MAP_KEYS) or ())

    @cached_property
    def is_set(self) -> bool:
        """Whether it is a list of unique values."""
        return self.source.get(LIST_TYPE) == "set"

    @cached_property
    def rules(self) -> list[dict[str, Json]]:
        """The rules in CEL."""
        return list(self.source.get(RULES) or ())

    @cached_property
    def deep_rules(self) -> bool:
        """Whether there is a rule here or below."""
        if self.rules:
            return True
        below = [self.items, self.additional, *self.properties.values()]
        return any(node.deep_rules for node in below if node is not None)

    @cached_property
    def deep_defaults(self) -> bool:
        """Whether there is a default here or below."""
        if "default" in self.source:
            return True
        below = [self.items, self.additional, *self.properties.values()]
        return any(node.deep_defaults for node in below if node is not None)

    def member(self, name: str) -> Node | None:
        """Return the schema of a member; None where the schema says nothing about it."""
        return self.properties.get(name) or self.additional


OPEN = Node({"type": "object", PRESERVE: True}, root=True)
"""Of a version without a schema."""


def json_type(value: Json) -> str:
    """Return the JSON type of a value; a number without a fraction is an integer."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "integer"
    if isinstance(value, float):
        return "integer" if value.is_integer() else "number"
    if isinstance(value, str):
        return "string"
    return "array" if isinstance(value, list) else "object"
