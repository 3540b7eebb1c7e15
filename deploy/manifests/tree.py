"""Trees of objects that are written twice: as they are for kustomize, as templates for Helm.

A tree is what YAML holds, with three kinds of places in it: a value that Helm fills in, list items that are
there under a condition, and a document for each of several names. Each knows both its Go template and what it is
under the values at hand, so one function makes an object for both.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import yaml

Tree = Any
"""What YAML can hold, with `Filled` and `When` in it."""
WIDTH = 200


@dataclass(frozen=True, slots=True)
class Filled:
    """A value that Helm fills in."""

    go: str
    """A Go template's expression; its result is written as JSON."""
    value: Any


@dataclass(frozen=True, slots=True)
class When:
    """Items of a list that are there under a condition."""

    go: str
    holds: bool
    items: tuple[Tree, ...]


@dataclass(frozen=True, slots=True)
class Document:
    """One object, or one for each of several names, or none."""

    file: str
    """Name of the file that it is written to, without its ending."""
    tree: Tree
    condition: str = ""
    """Go template's condition; empty: it is always there."""
    holds: bool = True
    each: str = ""
    """Go template's list of names; `tree` is then a function of the name."""
    names: tuple[str, ...] = ()


def plain(tree: Tree) -> Tree:
    """Return a tree as it is under the values at hand."""
    if isinstance(tree, Filled):
        return tree.value
    if isinstance(tree, dict):
        return {key: plain(value) for key, value in tree.items()}
    if isinstance(tree, list | tuple):
        items: list[Tree] = []
        for item in tree:
            if not isinstance(item, When):
                items.append(plain(item))
            elif item.holds:
                items.extend(plain(one) for one in item.items)
        return items
    return tree


def plain_documents(documents: Sequence[Document]) -> list[tuple[str, dict[str, Any]]]:
    """Return each object that is there under the values at hand, with its file."""
    found = []
    for one in documents:
        if not one.holds:
            continue
        trees = [one.tree(Filled(".", name)) for name in one.names] if one.each else [one.tree]
        found += [(one.file, plain(tree)) for tree in trees]
    return found


def template(document: Document) -> str:
    """Return a document as Helm's template of it."""
    tree = document.tree(Filled(".", "")) if document.each else document.tree
    holes: list[str] = []
    text = yaml.safe_dump(_with_holes(tree, holes), sort_keys=False, width=WIDTH)
    # Template words of the data, such as Prometheus' own, are not Helm's.
    text = text.replace("{{", '{{ "{{" }}')
    text = re.sub(r"^ *- HOLE(\d+)L$", lambda hole: holes[int(hole[1])], text, flags=re.MULTILINE)
    text = re.sub(r"HOLE(\d+)E", lambda hole: holes[int(hole[1])], text)
    text = (
        f"{{{{- range {document.each} }}}}\n---\n{text}{{{{- end }}}}\n"
        if document.each
        else f"---\n{text}"
    )
    return (
        f"{{{{- if {document.condition} }}}}\n{text}{{{{- end }}}}\n"
        if document.condition
        else text
    )


def _with_holes(tree: Tree, holes: list[str]) -> Tree:
    """Return a tree with words in the places that templates fill, whose text goes to `holes`."""

    def hole(text: str, form: str) -> str:
        holes.append(text)
        return f"HOLE{len(holes) - 1}{form}"

    if isinstance(tree, Filled):
        return hole(f"{{{{ toJson ({tree.go}) }}}}", "E")
    if isinstance(tree, dict):
        return {key: _with_holes(value, holes) for key, value in tree.items()}
    if isinstance(tree, list | tuple):
        items: list[Tree] = []
        for item in tree:
            if isinstance(item, When):
                items.append(hole(f"{{{{- if {item.go} }}}}", "L"))
                items += [_with_holes(one, holes) for one in item.items]
                items.append(hole("{{- end }}", "L"))
            else:
                items.append(_with_holes(item, holes))
        return items
    return tree


def json_text(value: Any) -> str:
    """Return JSON as Go's `toJson` writes it: keys sorted, no spaces."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
