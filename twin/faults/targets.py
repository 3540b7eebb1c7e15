"""Which nodes a fault hits: named, selected by label, or drawn by seed."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from random import Random

from twin.faults.scenario import Nodes, read_selector
from twin.store import Store


def targets(nodes: Nodes, store: Store, seeds: tuple[int, ...]) -> tuple[str, ...]:
    """Return the names of the nodes that are meant and exist now, in order of name."""
    every = not nodes.names and not nodes.selector
    found = [
        record.name
        for record in store.records("nodes")
        if every
        or record.name in nodes.names
        or (nodes.selector and selects(nodes.selector, record.labels))
    ]
    if nodes.pick is not None and nodes.pick < len(found):
        found = sorted(Random(draw_targets(*seeds)).sample(found, nodes.pick))
    return tuple(found)


def selects(selector: str, labels: Mapping[str, str]) -> bool:
    """Say whether labels meet every requirement of a selector."""
    for key, operator, value in read_selector(selector):
        held = labels.get(key)
        met = {
            "=": held == value,
            "!=": held != value,
            "exists": held is not None,
            "absent": held is None,
        }
        if not met[operator]:
            return False
    return True


def draw_targets(*parts: float | str) -> int:
    """Return a well mixed 64-bit number that the parts decide."""
    text = "/".join(repr(part) for part in parts)
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")
