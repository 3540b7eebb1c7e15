"""What a definition says about one version of a custom kind, and how versions are ordered."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from twin.custom.schema import Node

Convert = Callable[[dict[str, Any]], dict[str, Any]]
_KUBE_LIKE = re.compile(r"v([1-9][0-9]*)(?:(alpha|beta)([1-9][0-9]*))?")
_STABILITY = {"alpha": 0, "beta": 1, None: 2}


@dataclass(frozen=True, slots=True)
class Column:
    """One of `additionalPrinterColumns`."""

    name: str
    type: str
    path: str
    format: str = ""
    description: str = ""
    priority: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class ServedVersion:
    """One version of a custom kind; equal only to itself, so a changed definition is another one."""

    list_kind: str
    singular: str
    short_names: tuple[str, ...]
    categories: tuple[str, ...]
    schema: Node
    has_status: bool
    scale: Mapping[str, str] | None
    """The three paths of the scale subresource; None without one."""
    columns: tuple[Column, ...]
    selectable: tuple[str, ...]
    """Paths of fields to select on, without the first dot."""
    warning: str
    """What a client of a deprecated version is told; empty otherwise."""
    to_kept: Convert | None = None
    """Turns an object into the version that objects are kept in; None: its name alone differs."""
    from_kept: Convert | None = None
    """The way back."""
    kept: str = ""
    """The version that objects are kept in."""
    reread: Convert | None = None
    """Fills in defaults of the kept version and takes out what this one does not have, on an object that nobody
    else holds; None: what is kept was written by this very schema."""

    def show(self, obj: dict[str, Any], api_version: str) -> dict[str, Any]:
        """Return a kept object in this version, which is called `api_version`."""
        if self.from_kept is not None and obj.get("apiVersion") != api_version:
            return self.from_kept(obj)
        shown = {**obj, "apiVersion": api_version}
        return shown if self.reread is None else self.reread(shown)


def version_rank(name: str) -> tuple[Any, ...]:
    """Return what versions are ordered by: v2, v1, v1beta1, v1alpha1, then other names."""
    match = _KUBE_LIKE.fullmatch(name)
    if match is None:
        return (1, name)
    return (0, -_STABILITY[match[2]], -int(match[1]), -int(match[3] or 0), name)


def stability(name: str) -> int:
    """Return 2 for a version such as v1, 1 for beta, 0 for alpha, -1 for any other name."""
    match = _KUBE_LIKE.fullmatch(name)
    return -1 if match is None else _STABILITY[match[2]]
