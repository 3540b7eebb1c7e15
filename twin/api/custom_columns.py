"""Columns of custom resources, as their definitions' `additionalPrinterColumns` describe them."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from twin.api.cells import duration
from twin.api.messages import Object
from twin.custom.json_paths import values_at
from twin.custom.version import Column, ServedVersion

_AGE = Column("Age", "date", ".metadata.creationTimestamp", description="Time since its creation")


def columns_of_version(served: ServedVersion) -> tuple[Column, ...]:
    """Return the columns behind the name; the age alone where the definition names none."""
    return served.columns or (_AGE,)


def custom_heads(served: ServedVersion) -> list[Object]:
    """Return the column definitions of a Table."""
    name = {
        "name": "Name",
        "type": "string",
        "format": "name",
        "description": "Name",
        "priority": 0,
    }
    heads: list[Object] = [name]
    heads += [
        {
            "name": column.name,
            "type": column.type,
            "format": column.format,
            "description": column.description
            or f"Custom resource definition column (in JSONPath format): {column.path}",
            "priority": column.priority,
        }
        for column in columns_of_version(served)
    ]
    return heads


def custom_cells(served: ServedVersion, obj: Object, now: float) -> list[Any]:
    """Return the cells of one object's row; None where it has no such value."""
    cells: list[Any] = [obj["metadata"]["name"]]
    for column in columns_of_version(served):
        values = values_at(obj, column.path)
        cells.append(_cell(column.type, values[0], now) if values else None)
    return cells


def _cell(kind: str, value: Any, now: float) -> Any:
    if kind == "string":
        return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))
    if kind == "boolean":
        return value if isinstance(value, bool) else None
    if kind in ("integer", "number"):
        if isinstance(value, bool) or not isinstance(value, int | float):
            return None
        return int(value) if kind == "integer" else value
    if not isinstance(value, str):
        return None
    try:
        return duration(now - datetime.fromisoformat(value).timestamp())
    except ValueError:
        return "<invalid>"
