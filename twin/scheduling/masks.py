"""Rows that any of several masks holds."""

from __future__ import annotations

from collections.abc import Iterable

from twin.scheduling.node_table import Flags


def either(masks: Iterable[Flags]) -> Flags:
    """Return where any of the masks is set; there has to be one."""
    remaining = iter(masks)
    total = next(remaining).copy()
    for mask in remaining:
        total |= mask
    return total
