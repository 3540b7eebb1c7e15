"""Rows that any of several masks holds."""

from __future__ import annotations

from collections.abc import Iterable

from twin.scheduling.node_table import Flags


def either(masks: Iterable[Flags]) -> Flags:
    """Return where any of the masks is set; there has to be one."""
    found = iter(masks)
    total = next(found).copy()
    for mask in found:
        total |= mask
    return total
