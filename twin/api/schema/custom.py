"""Custom resources in the form of the tables, so that owners of fields follow their schemas, too."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from twin.api.schema.model import ANY, Field, root_of
from twin.custom.schema import LIST_TYPE, MAP_TYPE, Node
from twin.kinds import Kind

_METADATA = Field("metadata", 0, "meta.v1.ObjectMeta")


class CustomField(Field):
    """One place of a structural schema."""

    node: Node

    @classmethod
    def of(cls, node: Node, name: str = "") -> CustomField:
        """Return the place that a schema describes."""
        field = cls(
            name=name,
            number=0,
            type="Any",
            shape="[]" if node.type == "array" else "",
            pointer=True,
            keys=node.keys,
            is_set=node.is_set,
            atomic=node.source.get(MAP_TYPE) == "atomic" or node.source.get(LIST_TYPE) == "atomic",
        )
        object.__setattr__(field, "node", node)
        return field

    @cached_property
    def element(self) -> Field:
        """The place of one item of this list."""
        return ANY if self.node.items is None else CustomField.of(self.node.items, self.name)

    def child(self, name: str) -> Field:
        """Return the place of a member of the object at this place."""
        if name == "metadata" and (self.node.root or self.node.embedded):
            return _METADATA
        below = self.node.member(name)
        return ANY if below is None else CustomField.of(below, name)

    def key_default(self, key: str) -> Any:
        """Return what is meant where an item of this list leaves out a field that names it."""
        items = self.node.items
        below = None if items is None else items.properties.get(key)
        return None if below is None else below.source.get("default")


def root_field(kind: Kind) -> Field | None:
    """Return the root place of a kind; None for a built-in kind without a table."""
    if kind.custom is not None:
        return CustomField.of(kind.custom.schema)
    return root_of(kind.group, kind.version, kind.kind)
