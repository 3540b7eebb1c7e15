"""Large states are stored less often, small ones as often as asked for."""

from __future__ import annotations

import pytest

from bus.clock import SystemClock
from bus.follow import CHECKPOINT_BYTES_A_CYCLE, Follower, Publisher
from bus.memory_adapter import MemoryBus, MemoryLog
from schemas.identity import Origin
from services.inference.service import build
from services.inference.settings import InferenceSettings


@pytest.mark.parametrize(("state_bytes", "cycles"), [(0, 20), (80_000, 20), (600_000, 150)])
def test_a_checkpoint_costs_a_bounded_number_of_bytes_a_cycle(
    state_bytes: int, cycles: int
) -> None:
    """The spacing is the one asked for until the state costs more than its bytes a cycle."""
    origin = Origin("bench", "1")
    bus = MemoryBus(MemoryLog(), origin.cluster)
    handler = build(InferenceSettings(), origin)
    publisher = Publisher(bus, origin, handler.name)
    follower = Follower(handler, bus, SystemClock(), publisher, checkpoint_cycles=20)
    follower._set_spacing(state_bytes)
    assert follower._spacing == cycles
    assert state_bytes / follower._spacing <= CHECKPOINT_BYTES_A_CYCLE
