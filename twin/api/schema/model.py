"""Fields and messages, read from the tables.

A line that starts at the margin names a message, with `atomic` when it merges as a whole. A line
below it is a field: name, protobuf number, type, marks. A type is `*` (absent differs from zero),
`[]` (list) or `{}` (map with string keys), then a scalar or a message. Marks:

    map=a,b   a list whose items are told apart by these fields   set        a list of unique values
    atomic    replaced as a whole                                 required   has to be there
    merge=a   strategic merge goes by this field                  merge      ... by value
    retainKeys  a patch may name all members that stay            inline     members stand in the parent
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Literal, Self

Shape = Literal["", "[]", "{}"]
SCALARS = frozenset({"string", "int32", "int64", "bool", "bytes", "double"})
SPECIAL = frozenset({"Quantity", "Time", "MicroTime", "Duration", "IntOrString", "FieldsV1", "Raw",
                     "Extra", "Any"})  # fmt: skip
"""Types that are one value in JSON, whatever they are in protobuf."""


KEY_DEFAULTS: Mapping[str, str] = {"protocol": "TCP"}
"""Key fields that an item may leave out, and what is meant then."""


@dataclass(frozen=True)
class Field:
    """One member of a message, or one place for a value."""

    name: str
    number: int
    type: str
    """A scalar, a special type, or the full name of a message such as `core.v1.PodSpec`."""
    shape: Shape = ""
    pointer: bool = False
    keys: tuple[str, ...] = ()
    is_set: bool = False
    atomic: bool = False
    merges: bool = False
    merge_key: str = ""
    retain_keys: bool = False
    inline: bool = False
    required: bool = False

    @classmethod
    def read(cls, line: str, package: str) -> Self:
        """Read one line of a table."""
        name, number, kind, *marks = line.split()
        values = {mark: value for mark, _, value in (each.partition("=") for each in marks)}
        pointer, kind = kind.startswith("*"), kind.removeprefix("*")
        shape: Shape = "[]" if kind[:2] == "[]" else "{}" if kind[:2] == "{}" else ""
        kind = kind[len(shape) :]
        plain = kind in SCALARS or kind in SPECIAL or "." in kind
        return cls(
            name=name,
            number=int(number),
            type=kind if plain else f"{package}.{kind}",
            shape=shape,
            pointer=pointer,
            keys=tuple(filter(None, values.get("map", "").split(","))),
            is_set="set" in values,
            atomic="atomic" in values,
            merges="merge" in values,
            merge_key=values.get("merge", ""),
            retain_keys="retainKeys" in values,
            inline="inline" in values,
            required="required" in values,
        )

    @cached_property
    def element(self) -> Field:
        """The place of one item of this list or map."""
        return Field(self.name, self.number, self.type, pointer=True)

    @cached_property
    def message(self) -> Message | None:
        """The message at this place (in a list or map: of each item); None for plain values."""
        return None if self.type in SCALARS or self.type in SPECIAL else message(self.type)

    @cached_property
    def whole(self) -> bool:
        """Whether a value here merges as a whole: no part of it has an owner of its own."""
        if self.atomic:
            return True
        if self.shape == "[]":
            return not (self.keys or self.is_set)
        if self.shape == "{}" or self.type == "Any":
            return False
        return self.message is None or self.message.atomic

    @cached_property
    def always_there(self) -> bool:
        """Whether an object cannot be without it, be it empty: so who writes into it does not own it.

        A struct that is no pointer, and a list that has to be there, as Go writes both.
        """
        if self.whole:
            return False
        if self.shape == "[]":
            return self.required
        return self.shape == "" and not self.pointer and self.message is not None

    def is_zero(self, value: Any) -> bool:
        """Say whether a value is what stands here in an object that says nothing."""
        if value is None and self.type != "Any":
            return True
        return not (self.pointer or self.shape) and value in ({}, "", 0)

    def key_default(self, key: str) -> Any:
        """Return what is meant where an item of this list leaves out a field that names it."""
        return KEY_DEFAULTS.get(key)

    def child(self, name: str) -> Field:
        """Return the place of a member of the object at this place."""
        if self.shape == "{}":
            return self.element
        if self.message is not None:
            return self.message.fields.get(name, ANY)
        return ANY


ANY = Field("", 0, "Any", pointer=True)
"""A place about which nothing is known: objects merge by member, lists as a whole."""


@dataclass(frozen=True)
class Message:
    """One type of object."""

    name: str
    atomic: bool
    own: tuple[Field, ...]

    @cached_property
    def numbers(self) -> dict[int, Field]:
        """Fields by protobuf number."""
        return {field.number: field for field in self.own}

    @cached_property
    def fields(self) -> dict[str, Field]:
        """Fields by their name in JSON, those of inlined messages included."""
        return {field.name: field for field in self._flat()}

    @cached_property
    def typed(self) -> bool:
        """Whether it is a top-level object, which may carry `kind` and `apiVersion`."""
        part = self.name.endswith(("TemplateSpec", "VolumeClaimTemplate"))
        alone = "metadata" in self.fields and not part
        return alone or self.name == "meta.v1.DeleteOptions"

    @property
    def kind(self) -> str:
        """The name without its package."""
        return self.name.rpartition(".")[2]

    def _flat(self) -> Iterator[Field]:
        for field in self.own:
            if field.inline and field.message is not None:
                yield from field.message.fields.values()
            else:
                yield field


def message(name: str) -> Message:
    """Return a message by its full name; raises KeyError."""
    return _tables()[name]


def root_of(group: str, version: str, kind: str) -> Field | None:
    """Return the root place of a kind; None for a kind without a table."""
    package, _, domain = (group or "core").partition(".")
    if domain and not domain.endswith("k8s.io"):
        return None
    name = f"{package}.{version}.{kind}"
    return Field("", 0, name, pointer=True) if name in _tables() else None


@cache
def _tables() -> dict[str, Message]:
    messages: dict[str, Message] = {}
    for path in sorted(Path(__file__).parent.glob("*.txt")):
        package = path.stem
        current: Message | None = None
        for line in path.read_text(encoding="utf-8").splitlines():
            if line.startswith(" "):
                assert current is not None, f"{path.name}: a field without a message"
                current = replace(current, own=(*current.own, Field.read(line, package)))
                messages[current.name] = current
            else:
                name, *marks = line.split()
                current = Message(f"{package}.{name}", "atomic" in marks, ())
                messages[current.name] = current
    return messages
