"""One error ends nothing: an item that raises is told and left out, and those after it are handled."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from bus.clock import LoopClock
from bus.errors import AnotherWriter, BusUnavailable, MessageTooLarge
from bus.follow import AnyEvent, Publisher
from bus.item_errors import FAILING_AFTER, ItemError, ItemErrors
from bus.link import LinkCounts
from bus.measured_bus import MeasuredBus
from bus.memory_adapter import MemoryBus, MemoryLog
from bus.metrics import ProcessMetrics
from bus.process import ProcessContext, Progress, health_state
from schemas.envelope import NewEvent
from schemas.run import RunError
from tests.builders import ORIGIN
from tests.bus.followed import NAME, Tally, TallyHandler, World, in_virtual_time


@dataclass
class Poisoned(TallyHandler):
    """A handler that some cycles are too much for."""

    cannot_read: tuple[int, ...] = ()
    cannot_decide: tuple[int, ...] = ()

    def evolve(self, state: Tally, event: AnyEvent) -> Tally:
        """Raise for a poisoned cycle."""
        if event.cycle in self.cannot_read:
            raise KeyError("poison")
        return super().evolve(state, event)

    def decide(self, state: Tally, *, overdue: bool) -> tuple[NewEvent, ...]:
        """Raise while a poisoned cycle is the newest that is open."""
        if max(state.open, default=0) in self.cannot_decide:
            raise KeyError("poison")
        return super().decide(state, overdue=overdue)


def told(world: World) -> list[tuple[int, str]]:
    """Return position and text of each error in the log."""
    return [(data.sequence, data.text) for _, data in world.stored(RunError)]


def test_an_event_that_cannot_be_read_is_left_out_and_told_once() -> None:
    """The others are decided; a restart meets it again, leaves it out again, and says nothing new."""

    async def scenario(world: World) -> None:
        await world.observe(1, 2, 3, 4)
        for _ in range(2):
            errors = ItemErrors(NAME)
            async with world.following(Poisoned(cannot_read=(2, 4)), errors=errors) as task:
                await asyncio.sleep(1.0)
                assert not task.done()
            assert 2 == errors.counts.total()
        assert [1, 3] == sorted(world.decisions())
        assert [2, 4] == [position for position, _ in told(world)]
        assert all("KeyError: 'poison'" in text for _, text in told(world))
        assert not errors.stopped

    in_virtual_time(scenario)


def test_what_the_log_says_already_is_not_even_sent_again() -> None:
    """However long ago that was: the server would know a repeated id for two minutes only."""

    async def scenario(world: World) -> None:
        sent: list[NewEvent] = []

        async def publish(new_events: Sequence[NewEvent]) -> None:
            sent.extend(new_events)
            await Publisher(world.bus, ORIGIN, NAME).publish(new_events)

        for positions in ((2, 4), (2, 4, 6)):
            errors = ItemErrors(NAME)
            errors.untold.extend(ItemError(position, "poison") for position in positions)
            await errors.tell(world.bus, ORIGIN, NAME, publish, 9, 0.0)
        assert [2, 4, 6] == [one.data.sequence for one in sent if isinstance(one.data, RunError)]

    in_virtual_time(scenario)


def test_what_nothing_replaces_stops_the_process_visibly() -> None:
    """Its own decision is not left out: it decides nothing more, lives on, is not ready, and says why once."""

    async def scenario(world: World) -> None:
        await world.observe(1, 2)
        await world.decided(1)
        errors = ItemErrors(NAME)
        handler = Poisoned(cannot_read=(1,))
        async with world.following(handler, errors=errors) as task:
            await world.observe(3)
            await asyncio.sleep(1.0)
            assert not task.done()
        assert [1] == world.decisions()
        assert "foresail.decision" in errors.trouble
        assert "nothing replaces it" in errors.trouble
        assert 1 <= len(told(world)) <= 2

    in_virtual_time(scenario)


def test_a_cycle_that_cannot_be_decided_is_superseded() -> None:
    """It costs that cycle's answer until the next; the handler is asked again, not for ever the same."""

    async def scenario(world: World) -> None:
        errors = ItemErrors(NAME)
        async with world.following(Poisoned(cannot_decide=(1,)), errors=errors):
            await world.observe(1)
            await asyncio.sleep(1.0)
            assert [] == world.decisions()
            await world.observe(2)
            await asyncio.sleep(1.0)
        assert [1, 2] == sorted(world.decisions())
        assert 1 == len(told(world))
        assert "" == errors.trouble

    in_virtual_time(scenario)


def test_an_effect_that_fails_costs_that_effect() -> None:
    """The follower goes on to publish, and acts on the next state."""

    async def scenario(world: World) -> None:
        errors = ItemErrors(NAME)
        world.fails_acting = 1
        async with world.following(TallyHandler(), acts=True, errors=errors):
            await world.observe(1)
            await asyncio.sleep(1.0)
        assert [1] == world.decisions()
        assert world.acted
        assert 1 == errors.counts["act"]

    in_virtual_time(scenario)


@pytest.mark.parametrize(
    "error",
    [AnotherWriter("s", "i"), BusUnavailable("away"), MemoryError(), asyncio.CancelledError()],
    ids=lambda error: type(error).__name__,
)
def test_what_no_other_item_would_survive_passes(error: BaseException) -> None:
    """A second writer, a lost log, no memory and cancellation end the process as ever."""
    with pytest.raises(type(error)), ItemErrors("p").item("loop", 1):
        raise error


def test_a_message_that_is_too_large_is_one_item() -> None:
    """It would be too large for ever, and the next one may not be."""
    errors = ItemErrors("p")
    with errors.item("publish", 1) as item:
        raise MessageTooLarge("s", 2, 1)

    assert item.failed
    assert 1 == errors.counts["publish"]


def test_a_rerun_ends_at_the_first_defect() -> None:
    """Where nobody counts errors, none is left out."""

    async def scenario(world: World) -> None:
        await world.observe(1)
        async with world.following(Poisoned(cannot_read=(1,))) as task:
            await asyncio.sleep(1.0)
            with pytest.raises(KeyError):
                task.result()

    in_virtual_time(scenario)


def test_errors_in_a_row_make_the_process_not_ready_until_one_succeeds() -> None:
    """Counted in the metrics, named in the health answer; another loop that works changes nothing of it."""
    metrics = ProcessMetrics("p", "c", "i1")
    errors = ItemErrors("p", count=lambda loop: metrics.item_errors.labels(loop).inc())
    bus = MeasuredBus(MemoryBus(MemoryLog(), ORIGIN.cluster), LinkCounts, metrics, LoopClock(0))
    context = ProcessContext("p", bus, LoopClock(0), ORIGIN, {}, Progress("live", 7), errors)
    ready = [health_state(context, bus).ready]

    for number in range(FAILING_AFTER):
        with errors.item("source nodes", number):
            raise KeyError(number)
        with errors.item("source pods", number):
            pass
        ready.append(health_state(context, bus).ready)
    said = health_state(context, bus).detail["trouble"]
    with errors.item("source nodes", FAILING_AFTER):
        pass

    assert [True, True, True, False] == ready
    assert "fails again and again: source nodes" == said
    assert health_state(context, bus).ready
    assert f'foresail_item_errors_total{{loop="source nodes"}} {FAILING_AFTER}.0' in shown(
        metrics.registry
    )


def shown(registry: CollectorRegistry) -> str:
    """Return the metrics as Prometheus reads them."""
    return generate_latest(registry).decode()
