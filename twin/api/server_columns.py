"""The columns of what API servers are configured by (kubernetes pkg/printers/internalversion/printers.go)."""

from __future__ import annotations

from twin.api.cells import Column, Object, path_cell, value_at


def _service(obj: Object, _now: float) -> str:
    service = value_at(obj, "spec.service")
    return "Local" if service is None else f"{service['namespace']}/{service['name']}"


def _available(obj: Object, _now: float) -> str:
    for row in value_at(obj, "status.conditions") or ():
        if row["type"] == "Available":
            return str(row["status"]) if row["status"] == "True" else f"False ({row['reason']})"
    return "Unknown"


SERVER: dict[str, tuple[Column, ...]] = {
    "apiservices": (
        Column("Service", _service),
        Column("Available", _available),
    ),
    "runtimeclasses": (Column("Handler", path_cell("handler")),),
}
