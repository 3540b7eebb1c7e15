"""Which nodes a fault hits: named, selected by label, or drawn by seed."""

from __future__ import annotations

from collections.abc import Mapping

from twin.chance import Draws, key_of
from twin.faults.scenario import Nodes, read_selector
from twin.store import Store


def targets(nodes: Nodes, store: Store, draws: Draws, key: int) -> tuple[str, ...]:
    """Return the names of the nodes that are meant and exist now, in order of name.

    Each node draws for itself (`key` stands for the fault), so one node more or less changes at
    most one of those that are picked.
    """
    every = not nodes.names and not nodes.selector
    names = [
        record.name
        for record in store.records("nodes")
        if every
        or record.name in nodes.names
        or (nodes.selector and selects(nodes.selector, record.labels))
    ]
    if nodes.pick is not None and nodes.pick < len(names):
        first = sorted(names, key=lambda name: draws.bits(key ^ key_of(name)))
        names = sorted(first[: nodes.pick])
    return tuple(names)


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
