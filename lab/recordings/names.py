"""Where names stand in events: which fields hold a name, which hold sentences with names in them.

A field's name means the same in every event, setting and checkpoint, so one table serves all.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, Protocol

from lab.recordings.free_text import OPEN_FIELDS, PATCH_FIELDS, STAYING_FIELDS

NODE_FIELDS = frozenset(
    (
        *("ids", "added", "removed", "exceptions", "modelled", "targets", "uncertain_targets"),
        *("node", "subject", "closed", "marked", "places"),
    )
)
"""Names of nodes, or `namespace/name`, `namespace/kind/name`, `node|namespace/kind/name`."""
NAME_FIELDS = NODE_FIELDS | frozenset(
    (
        *("workload", "workloads", "deployment", "service", "pod"),
        *("namespace", "namespaces", "protected_namespaces"),
    )
)
"""Fields that hold a name, alone or composed, or a list of them."""
FILE_FIELDS = frozenset(("workload", "scenario", "machines"))
"""Fields of a run's settings that hold a file, with its folder in recordings of earlier versions."""
OBJECT_FIELDS = frozenset(("object", "target"))
"""Fields that hold a name, or a word of ours such as `pods`."""
OUR_OBJECTS = frozenset(("", "pods"))
"""Words of ours that stand where a name could."""
MESSAGE_FIELDS = frozenset(("message", "status_message", "status_reason"))
"""What the API server said: names of any kind stand in quotes and braces, and anything may stand
elsewhere."""
TEXT_FIELDS = frozenset(("text", "rationale", "detail", *MESSAGE_FIELDS))
"""Sentences, ours or others'."""
KEYED_BY_NAME = frozenset(("waiting_omitted", "free_gpus"))
"""Objects whose keys are names."""
NODE, QUEUE = "node", "queue"
PARTS = re.compile(r"[/|]")
TOKEN = re.compile(r"[A-Za-z0-9](?:[-._A-Za-z0-9]*[A-Za-z0-9])?")
"""What can be one name in a sentence."""
_NEVER = frozenset(("", "*"))


class Handler(Protocol):
    """What is done with the texts of an event; each returns what takes their place."""

    def name(self, text: str, *, node: bool) -> str:
        """Take a name, alone or composed; one that is alone is a node's where `node`."""
        ...

    def perhaps(self, text: str) -> str:
        """Take what is a name where it is one elsewhere."""
        ...

    def file(self, text: str) -> str:
        """Take what names a file, or a workload of ours."""
        ...

    def text(self, text: str, *, foreign: bool) -> str:
        """Take a sentence; a `foreign` one is the API server's."""
        ...

    def patch(self, text: str) -> str:
        """Take a JSON merge patch."""
        ...

    def other(self, text: str) -> str:
        """Take any other text that may be read by anybody but for names in it."""
        ...

    def unknown(self, text: str) -> str:
        """Take a text that could say anything."""
        ...


_MACHINES = re.compile(r"nodes/(all|[0-9.]+-cores-[0-9.]+-gib)")
"""A series of machines of one size, or of all."""


def walk_names(
    value: Any, by: Handler, field: str = "", owner: str = "", *, strict: bool = False
) -> Any:
    """Return JSON with every text in it handed to `by`.

    Args:
        value: any JSON.
        by: what is done with texts.
        field: the name of the field that holds the value.
        owner: the name of the field that holds the object with that field.
        strict: whether texts in fields of which nothing is known could say anything.
    """
    strict = strict and field not in OPEN_FIELDS
    if isinstance(value, str):
        if owner == "run" and field in FILE_FIELDS:
            return by.file(value)
        return _handle_text(value, by, field, strict=strict)
    if isinstance(value, list):
        return [walk_names(inner, by, field, owner, strict=strict) for inner in value]
    if not isinstance(value, dict):
        return value
    if field in KEYED_BY_NAME:
        return {
            by.name(key, node=False): walk_names(inner, by, "", field)
            for key, inner in value.items()
        }
    column = field if owner == "cells" else ""
    names_object = _names_object(value, field)
    return {
        by.other(key): walk_names(
            inner,
            by,
            (column or ("node" if names_object and key == "name" else key)),
            field,
            strict=strict,
        )
        for key, inner in value.items()
    }


def parts_of(name: str) -> Iterator[str]:
    """Yield the names in a name, alone or composed; a kind is none."""
    node, bar, rest = name.rpartition("|")
    if bar:
        yield from parts_of(node)
    _, rest = _series_kind(rest)
    parts = rest.split("/") if rest else []
    if len(parts) == 3:
        del parts[1]
    for part in parts:
        if part not in _NEVER:
            yield part


def rename_parts(name: str, rename: Callable[[str], str]) -> str:
    """Return a name, alone or composed, with each name in it replaced."""
    node, bar, rest = name.rpartition("|")
    kind, rest = _series_kind(rest)
    if not rest:
        return kind
    parts = rest.split("/")
    for place, part in enumerate(parts):
        if part not in _NEVER and not (len(parts) == 3 and place == 1):
            parts[place] = rename(part)
    return (rename_parts(node, rename) if bar else "") + bar + kind + "/".join(parts)


def _series_kind(name: str) -> tuple[str, str]:
    """Return what a series of demand begins with, and the name of which it is one; all of it where it names nothing."""
    if _MACHINES.fullmatch(name):
        return name, ""
    first, _, rest = name.partition("/")
    parts = rest.split("/")
    if first == "service" and len(parts) == 2 and not parts[0][:1].isupper():
        return "service/", rest
    if first in ("cpu", "memory") and len(parts) == 3:
        return f"{first}/", rest
    return "", name


def _handle_text(value: str, by: Handler, field: str, *, strict: bool) -> str:
    if field in NAME_FIELDS or (field in OBJECT_FIELDS and "/" in value):
        return by.name(value, node=field in NODE_FIELDS)
    if field in OBJECT_FIELDS:
        other = by.perhaps(value)
        open_word = strict and other == value and value not in OUR_OBJECTS
        return by.unknown(value) if open_word else other
    if field in TEXT_FIELDS:
        return by.text(value, foreign=field in MESSAGE_FIELDS)
    if field in PATCH_FIELDS:
        return by.patch(value)
    return by.other(value) if not strict or field in STAYING_FIELDS else by.unknown(value)


def _names_object(value: dict[str, Any], field: str) -> bool:
    """Say whether the field `name` of this object is the name of something in the cluster."""
    if field == "target":
        return value.get("kind") == NODE
    return "resource" in value and "verb" in value
