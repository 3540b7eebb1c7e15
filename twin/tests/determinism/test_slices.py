"""An engine that is advanced a few events at a time comes to the same as one that is advanced at once."""

from twin.engine import Engine
from twin.workloads import open_workload

EVENTS = 7


def _begin() -> Engine:
    played = open_workload("google2011", nodes=20, seed=3)
    engine = Engine(seed=3)
    engine.add_nodes(played.nodes)
    engine.load(played.arrivals)
    return engine


def test_a_few_events_at_a_time_come_to_the_same() -> None:
    """No slice runs more events than asked for, none goes beyond its end, and the last stands there."""
    whole, sliced = _begin(), _begin()
    until = whole.now + 120.0
    whole.advance(until)
    slices, before = 0, sliced.clock.handled
    while not sliced.advance_some(until, EVENTS):
        assert sliced.clock.handled - before == EVENTS
        assert sliced.now <= until
        slices, before = slices + 1, sliced.clock.handled
    assert slices > 10
    assert (sliced.now, sliced.clock.handled) == (whole.now, whole.clock.handled)
    assert sliced.state_hash() == whole.state_hash()
