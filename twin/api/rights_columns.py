"""The columns of Roles and bindings (kubernetes pkg/printers/internalversion/printers.go)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Object = dict[str, Any]


def role_reference(obj: Object, _now: float) -> str:
    """Return what a binding binds, such as `ClusterRole/view`."""
    role = obj.get("roleRef") or {}
    return f"{role.get('kind', '')}/{role.get('name', '')}"


def subjects_of(kind: str) -> Callable[[Object, float], str]:
    """Return a reader of a binding's subjects of one kind; accounts stand behind their namespace."""

    def read(obj: Object, _now: float) -> str:
        return ", ".join(
            f"{one.get('namespace', '')}/{one['name']}"
            if kind == "ServiceAccount"
            else str(one["name"])
            for one in obj.get("subjects") or ()
            if one["kind"] == kind
        )

    return read
