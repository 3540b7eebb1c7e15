"""A structural schema as protobuf messages, against which the library of CEL checks the types in rules.

They serve the check of a definition alone; values are shown to rules as plain maps and lists.
"""

from __future__ import annotations

import re
from typing import Any

from twin.custom.cel import OLD, RuleError, bare, escape, extensions, with_optional_old
from twin.custom.schema import Node

_FILE, _PACKAGE = "schema.proto", "schema"
_ANYTHING = ".google.protobuf.Value"
_FORMS = {
    "date-time": ".google.protobuf.Timestamp",
    "date": ".google.protobuf.Timestamp",
    "duration": ".google.protobuf.Duration",
}
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NUMBERS = re.compile(r"'_[<>]=?_' applied to '\((?:int|uint|double), (?:int|uint|double)\)'")
"""Kubernetes lets numbers of different types be ordered; the library looks at that when it evaluates."""


class RuleTypes:
    """The types of one schema."""

    def __init__(self, root: Node) -> None:
        """Describe every object of a schema as a message. Raises ImportError without the library."""
        from google.protobuf import (  # noqa: PLC0415 - few worlds need it
            descriptor_pb2,
            descriptor_pool,
            duration_pb2,
            struct_pb2,
            timestamp_pb2,
        )

        self._field = descriptor_pb2.FieldDescriptorProto
        self._file = descriptor_pb2.FileDescriptorProto(
            name=_FILE, package=_PACKAGE, syntax="proto3"
        )
        self._messages: dict[Node, str] = {}
        self._environments: dict[tuple[str, bool], Any] = {}
        self._pool = descriptor_pool.DescriptorPool()
        for known in (struct_pb2, timestamp_pb2, duration_pb2):
            self._pool.AddSerializedFile(known.DESCRIPTOR.serialized_pb)
            self._file.dependency.append(known.DESCRIPTOR.name)
        self._describe(root)
        self._pool.Add(self._file)

    def check(self, text: str, node: Node, *, optional: bool) -> str:
        """Return the name of the type that an expression about a place has; raises RuleError."""
        source = with_optional_old(text) if optional else text
        try:
            return str(self._environment(node, optional).compile(source).return_type())
        except RuntimeError as error:
            said = bare(str(error))
            if _NUMBERS.search(said):
                return "DYN"
            raise RuleError(f"compilation failed: {said}") from error

    def _environment(self, node: Node, optional: bool) -> Any:
        from cel_expr_python import cel  # noqa: PLC0415

        key = (self._signature(node), optional)
        if key not in self._environments:
            own = self._type(node, cel)
            old = (
                {OLD: cel.Type.Map(cel.Type.STRING, cel.Type.DYN)} if optional else {"oldSelf": own}
            )
            self._environments[key] = cel.NewEnv(
                descriptor_pool=self._pool,
                variables={"self": own, **old},
                extensions=extensions(cel),
            )
        return self._environments[key]

    def _signature(self, node: Node) -> str:
        if node in self._messages:
            return self._messages[node]
        inner = node.items if node.type == "array" else node.additional
        mark = "[]" if node.type == "array" else "{}"
        return f"{mark}{node.source.get('format', '')}{node.type}" + (
            self._signature(inner) if inner is not None else ""
        )

    def _type(self, node: Node, cel: Any) -> Any:
        types = cel.Type
        if node in self._messages:
            return types(self._messages[node].lstrip("."))
        if node.int_or_string:
            return types.DYN
        if node.type == "array":
            return types.List(types.DYN if node.items is None else self._type(node.items, cel))
        if node.type == "object" and node.additional is not None:
            return types.Map(types.STRING, self._type(node.additional, cel))
        if node.type == "string":
            return {
                "date-time": types.TIMESTAMP, "date": types.TIMESTAMP, "duration": types.DURATION,
                "byte": types.BYTES,
            }.get(str(node.source.get("format")), types.STRING)  # fmt: skip
        plain = {"integer": types.INT, "number": types.DOUBLE, "boolean": types.BOOL}
        return plain.get(node.type, types.DYN)

    def _describe(self, node: Node | None) -> None:
        """Add the messages of a place and of all below it, the inner ones first."""
        if node is None:
            return
        for below in (node.items, node.additional, *node.properties.values()):
            self._describe(below)
        whole = node.root or node.embedded
        if node.type != "object" or node.additional is not None or not (node.properties or whole):
            return
        message = self._file.message_type.add(name=f"M{len(self._file.message_type)}")
        self._messages[node] = f".{_PACKAGE}.{message.name}"
        if whole:
            self._add_head(message)
        for name, below in node.properties.items():
            if _NAME.fullmatch(escape(name)) and not (whole and name in _HEAD):
                self._add(message, escape(name), below)

    def _add_head(self, message: Any) -> None:
        head = message.nested_type.add(name="Metadata")
        for name in ("name", "generateName"):
            self._plain(head, name, self._field.TYPE_STRING)
        for name in ("apiVersion", "kind"):
            self._plain(message, name, self._field.TYPE_STRING)
        where = f".{_PACKAGE}.{message.name}.{head.name}"
        self._plain(message, "metadata", self._field.TYPE_MESSAGE, where)

    def _add(self, message: Any, name: str, node: Node) -> None:
        inner = node.items if node.type == "array" else node.additional
        if node.type == "array" or (node.type == "object" and inner is not None):
            kind, named = self._of_value(inner)
            if node.type == "object":
                entry = message.nested_type.add(name=f"{_camel(name)}Entry")
                entry.options.map_entry = True
                self._plain(entry, "key", self._field.TYPE_STRING)
                self._plain(entry, "value", kind, named)
                kind = self._field.TYPE_MESSAGE
                named = f".{_PACKAGE}.{message.name}.{entry.name}"
            self._plain(message, name, kind, named, many=True)
            return
        self._plain(message, name, *self._of_value(node))

    def _of_value(self, node: Node | None) -> tuple[int, str]:
        """Return the field type of one value, and the message's name."""
        field = self._field
        if node is not None and node in self._messages:
            return field.TYPE_MESSAGE, self._messages[node]
        if node is None or node.int_or_string or node.type in ("array", "object", ""):
            return field.TYPE_MESSAGE, _ANYTHING
        form = str(node.source.get("format"))
        if node.type == "string" and form in _FORMS:
            return field.TYPE_MESSAGE, _FORMS[form]
        plain = {
            "string": field.TYPE_BYTES if form == "byte" else field.TYPE_STRING,
            "integer": field.TYPE_INT64, "number": field.TYPE_DOUBLE, "boolean": field.TYPE_BOOL,
        }  # fmt: skip
        return plain[node.type], ""

    def _plain(
        self, message: Any, name: str, kind: int, named: str = "", *, many: bool = False
    ) -> None:
        label = self._field.LABEL_REPEATED if many else self._field.LABEL_OPTIONAL
        field = message.field.add(name=name, number=len(message.field) + 1, type=kind, label=label)
        field.json_name = name
        if named:
            field.type_name = named


def _camel(name: str) -> str:
    """Return a field's name as protobuf has it in the name of a map's entry."""
    return "".join(part[:1].upper() + part[1:] for part in name.split("_"))


_HEAD = frozenset({"apiVersion", "kind", "metadata"})
