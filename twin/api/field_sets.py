"""Which fields of an object are meant: paths, their FieldsV1 form, and trees of typed values.

A path is a tuple of elements in the form that FieldsV1 uses: `f:name` for a member, `k:{...}` for
an item of a list by its keys, `v:...` for a value of a set. What merges as a whole is one leaf.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from twin.api.schema import Field
from twin.errors import ApiError

Path = tuple[str, ...]
Paths = frozenset[Path]
Trie = dict[str, Any]
_ITSELF = "."
_EMPTY: dict[str, Any] = {"": {}, "[]": []}


def children(value: Any, place: Field) -> dict[str, tuple[Any, Field]] | None:
    """Return the owned parts of a value by path element; None when it is one leaf."""
    if place.whole or not isinstance(value, dict | list):
        return None
    if isinstance(value, dict):
        return {f"f:{name}": (each, place.child(name)) for name, each in value.items()}
    if place.shape != "[]":
        return None
    element = place.element
    if place.is_set:
        return {f"v:{_compact(each)}": (each, element) for each in value}
    return {_item_key(each, place, index): (each, element) for index, each in enumerate(value)}


def _item_key(item: Any, place: Field, index: int) -> str:
    """Return the path element of an item of a list that has keys; without them, by its index."""
    key_fields = {}
    for key in place.keys:
        value = item.get(key, place.key_default(key)) if isinstance(item, dict) else None
        if value is not None:
            key_fields[key] = value
    return f"k:{_compact(key_fields)}" if place.keys[0] in key_fields else f"i:{index}"


def owned_paths(value: Any, place: Field, at: Path = ()) -> Iterator[Path]:
    """Yield the paths that a configuration owns: leaves, empty objects, items of lists.

    Raises:
        ApiError: 500, two items of a list have the same key.
    """
    parts = children(value, place)
    if isinstance(value, list) and parts is not None and len(parts) < len(value):
        raise ApiError(
            500, "", f"{path_text(at)}: duplicate entries for key {_repeated(value, place)}"
        )
    empty_list = isinstance(value, list) and parts is not None
    if at and ((not parts and not empty_list) or at[-1].startswith("k:")):
        yield at
    for element, (each, inner) in (parts or {}).items():
        yield from owned_paths(each, inner, (*at, element))


def _repeated(items: list[Any], place: Field) -> str:
    """Return the key that a list has twice."""
    seen: set[str] = set()
    for index, item in enumerate(items):
        key = f"v:{_compact(item)}" if place.is_set else _item_key(item, place, index)
        if key in seen:
            return path_text((key,))
        seen.add(key)
    return ""


def every_path(value: Any, place: Field, at: Path = ()) -> Iterator[Path]:
    """Yield the path of every part of a value, objects and lists themselves included."""
    if at:
        yield at
    for element, (each, inner) in (children(value, place) or {}).items():
        yield from every_path(each, inner, (*at, element))


class Difference:
    """What became different between two values of one place."""

    def __init__(self, old: Any, new: Any, place: Field, *, nulls: bool = False) -> None:
        """Compare; `nulls` that are new count as changes."""
        self._nulls = nulls
        self.changed: set[Path] = set()
        """Added, or with another value."""
        self.removed: set[Path] = set()
        self._compare(old, new, place, ())

    def _compare(self, old: Any, new: Any, place: Field, at: Path) -> None:
        before, after = children(old, place), children(new, place)
        if before is None or after is None:
            if old != new or type(old) is not type(new):
                self.changed.add(at)
            return
        for element, (value, inner) in after.items():
            known = before.get(element)
            if known is not None:
                self._compare(known[0], value, inner, (*at, element))
            elif inner.always_there:
                self._compare(_EMPTY[inner.shape], value, inner, (*at, element))
            elif (self._nulls and value is None) or not inner.is_zero(value):
                self.changed.update(every_path(value, inner, (*at, element)))
        for element, (value, inner) in before.items():
            if element in after:
                continue
            if inner.always_there:
                self._compare(value, _EMPTY[inner.shape], inner, (*at, element))
            else:
                self.removed.update(every_path(value, inner, (*at, element)))


def stated_paths(value: Any, place: Field) -> Paths:
    """Return what somebody who wrote all of an object owns."""
    return frozenset(Difference({}, value, place).changed)


def merge_given(live: Any, application: Any, place: Field) -> Any:
    """Return `live` with what `application` says; neither is changed."""
    before, after = children(live, place), children(application, place)
    if before and application is None:
        return live
    if before is None or after is None:
        return application
    together = {
        element: merge_given(value, after[element][0], inner) if element in after else value
        for element, (value, inner) in before.items()
    }
    together |= {element: each for element, (each, _) in after.items() if element not in before}
    if isinstance(live, list):
        return list(together.values())
    return {element[2:]: each for element, each in together.items()}


def remove_paths(value: Any, place: Field, removed: Trie) -> Any:
    """Return a value without the parts in a trie; objects that this empties go, too."""
    parts = children(value, place)
    if parts is None:
        return value
    left: dict[str, Any] = {}
    for element, (each, inner) in parts.items():
        below = removed.get(element)
        if below is None:
            left[element] = each
        elif _ITSELF not in below:
            rest = remove_paths(each, inner, below)
            if rest not in ({}, []):
                left[element] = rest
    if isinstance(value, list):
        return list(left.values())
    return {element[2:]: each for element, each in left.items()}


def build_trie(paths: Iterable[Path]) -> Trie:
    """Return paths as nested dicts; a path that is itself meant has a member `.`."""
    root: Trie = {}
    for path in paths:
        node = root
        for element in path:
            node = node.setdefault(element, {})
        node[_ITSELF] = {}
    return root


def to_fields(paths: Paths) -> Trie:
    """Return FieldsV1."""
    root: Trie = {}
    for path in sorted(paths):
        node = root
        for element in path:
            node = node.setdefault(element, {})
        node[_ITSELF] = {}
    return _strip_marks(root)


def _strip_marks(node: Trie) -> Trie:
    if set(node) == {_ITSELF}:
        return {}
    return {name: {} if name == _ITSELF else _strip_marks(below) for name, below in node.items()}


def from_fields(fields: Any, at: Path = ()) -> Iterator[Path]:
    """Yield the paths of FieldsV1; raises ValueError for what is none."""
    if not isinstance(fields, dict):
        raise ValueError("fieldsV1 must hold objects")
    if at and not fields:
        yield at
    for element, below in fields.items():
        if element == _ITSELF:
            yield at
        elif element[:2] in ("f:", "k:", "v:", "i:"):
            yield from from_fields(below, (*at, element))
        else:
            raise ValueError(f"{element!r} is no path element")


def path_text(path: Path) -> str:
    """Return `.spec.containers[name="a"].image`, as conflicts name a field."""
    text = ""
    for element in path:
        kind, rest = element[:2], element[2:]
        if kind == "k:":
            keys = json.loads(rest)
            text += f"[{','.join(f'{key}={_compact(value)}' for key, value in keys.items())}]"
        elif kind == "v:":
            text += f"[={rest}]"
        elif kind == "i:":
            text += f"[{rest}]"
        else:
            text += f".{rest}"
    return text


def _compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), sort_keys=True, ensure_ascii=False)
