"""What a custom resource loses and gains on its way in: unknown fields, nulls, defaults.

Both work in place, on a copy that nobody else holds.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from twin.copying import copy_object
from twin.custom.schema import Node

_TYPED = frozenset({"apiVersion", "kind", "metadata"})


def prune(value: Any, node: Node, path: str = "") -> Iterator[str]:
    """Take out what the schema has no place for; yield the paths of it in order of name."""
    if isinstance(value, list):
        if node.items is not None:
            for index, each in enumerate(value):
                yield from prune(each, node.items, f"{path}[{index}]")
        return
    if not isinstance(value, dict):
        return
    whole = node.root or node.embedded
    for name in sorted(value):
        if whole and name in _TYPED:
            continue
        below = node.member(name)
        inner = f"{path}.{name}" if path else name
        if below is not None:
            yield from prune(value[name], below, inner)
        elif not node.preserves:
            del value[name]
            yield inner


def embedded_objects(
    value: Any, node: Node, path: str = ""
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield path and value of each whole object within a value."""
    if isinstance(value, list) and node.items is not None:
        for index, each in enumerate(value):
            yield from embedded_objects(each, node.items, f"{path}[{index}]")
    elif isinstance(value, dict):
        if node.embedded:
            yield path, value
        for name in value:
            below = node.member(name)
            if below is not None:
                inner = f"{path}.{name}" if path else name
                yield from embedded_objects(value[name], below, inner)


def fill(value: Any, node: Node) -> None:
    """Drop nulls where null is no value, then fill in defaults, to any depth."""
    if isinstance(value, list):
        if node.items is not None:
            for each in value:
                fill(each, node.items)
        return
    if not isinstance(value, dict):
        return
    for name in [name for name, each in value.items() if each is None]:
        below = node.member(name)
        if below is not None and not below.nullable and below.source:
            del value[name]
    if node.deep_defaults:
        _fill_members(value, node)
    for name, each in value.items():
        inner = node.member(name) if isinstance(each, dict | list) else None
        if inner is not None and not (node.root and name == "metadata"):
            fill(each, inner)


def _fill_members(value: dict[str, Any], node: Node) -> None:
    for name, below in node.properties.items():
        if name not in value and below.source.get("default") is not None:
            value[name] = copy_object(below.source["default"])
