"""The columns of kinds that the cluster keeps and hardly acts on (upstream's printers.go)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from twin.api.cells import age_cell, name_cell, path_cell

Object = dict[str, Any]
Rows = tuple[tuple[str, Callable[[Object, float], Any]], ...]
NONE = "<none>"


def _containers(field: str) -> Callable[[Object, float], str]:
    def cell(obj: Object, _now: float) -> str:
        spec = (obj.get("template") or {}).get("spec") or {}
        return ",".join(str(each.get(field, "")) for each in spec.get("containers") or ())

    return cell


def _labels(obj: Object, _now: float) -> str:
    labels = ((obj.get("template") or {}).get("metadata") or {}).get("labels") or {}
    return ",".join(f"{key}={value}" for key, value in sorted(labels.items())) or NONE


def _parent(obj: Object, _now: float) -> str:
    parent = (obj.get("spec") or {}).get("parentRef") or {}
    parts = (parent.get("resource"), parent.get("group"))
    kind = ".".join(part for part in parts if part)
    return "/".join(part for part in (kind, parent.get("namespace"), parent.get("name")) if part)


def _ranges(obj: Object, _now: float) -> str:
    return ",".join((obj.get("spec") or {}).get("cidrs") or ())


PLAIN: dict[str, Rows] = {
    "podtemplates": (
        ("Name", name_cell),
        ("Containers", _containers("name")),
        ("Images", _containers("image")),
        ("Pod Labels", _labels),
    ),
    "ipaddresses": (
        ("Name", name_cell),
        ("ParentRef", _parent),
    ),
    "servicecidrs": (("Name", name_cell), ("CIDRs", _ranges), ("Age", age_cell)),
    "volumeattributesclasses": (
        ("Name", name_cell),
        ("DriverName", path_cell("driverName")),
        ("Age", age_cell),
    ),
}
