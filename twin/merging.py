"""JSON merge patches (RFC 7396)."""

from __future__ import annotations

from typing import Any


def merge_patch(target: Any, change: Any) -> Any:
    """Merge by RFC 7396: null removes, objects merge, everything else is replaced."""
    if not isinstance(change, dict):
        return change
    result = dict(target) if isinstance(target, dict) else {}
    for name, value in change.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = merge_patch(result.get(name), value)
    return result
