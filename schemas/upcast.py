"""Upcasters: pure functions that turn an event's data of an old version into the next one, chained
until current.

An incompatible change makes a new type (`foresail.decision.v2`) and one function here, registered
under the old type. It gets and returns the data as decoded JSON and must not look at anything else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Upcaster = Callable[[dict[str, Any]], dict[str, Any]]

UPCASTERS: Mapping[str, tuple[str, Upcaster]] = {}
"""Old type to (new type, function)."""


def upcast(
    event_type: str,
    data: dict[str, Any],
    upcasters: Mapping[str, tuple[str, Upcaster]] = UPCASTERS,
) -> tuple[str, dict[str, Any]]:
    """Return type and data after every upcaster that applies.

    Raises:
        ValueError: the chain of upcasters runs in a circle.
    """
    seen = {event_type}
    while event_type in upcasters:
        event_type, step = upcasters[event_type]
        if event_type in seen:
            raise ValueError(f"upcasters of {event_type} run in a circle")
        seen.add(event_type)
        data = step(data)
    return event_type, data
