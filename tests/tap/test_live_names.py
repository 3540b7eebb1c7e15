"""Names that a tap of a running stack asks for, held against what its log has now."""

from __future__ import annotations

from typing import Any

import pytest

from bus.errors import InputError
from bus.memory_adapter import MemoryBus, MemoryLog
from foresail.known_names import check_node
from foresail.log_source import LogSource
from schemas.envelope import Event
from schemas.registry import encode
from tests.tap.conftest import events_of_layers


async def source_of(events: list[Event[Any]]) -> LogSource:
    """Return a running stack's log that holds these events."""
    bus = MemoryBus(MemoryLog(), "test")
    for event in events:
        encoded = encode(event)
        await bus.publish([encoded])
    return LogSource(bus, "test", running=True, now_ns=0)


async def test_a_node_that_is_not_there_is_refused_with_the_near_one() -> None:
    """A live tap of a misspelt node would wait for ever."""
    source = await source_of(events_of_layers())

    await check_node(source, "node-1", now=True)
    with pytest.raises(InputError, match="did you mean node-1"):
        await check_node(source, "nod-1", now=True)


async def test_before_the_first_observation_every_node_may_come() -> None:
    """A stack that has only begun knows no node, so none is refused."""
    await check_node(await source_of([]), "node-1", now=True)
