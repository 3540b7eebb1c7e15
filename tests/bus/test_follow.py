"""How a service follows the log: silent while it catches up, acting only on the newest, never behind
itself, and going on exactly where a checkpoint left off.
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from bus.checkpoint_state import stored_state
from bus.errors import LogWentBack
from bus.memory_adapter import Faults
from bus.port import LogInfo
from schemas.checkpoint import Checkpoint
from schemas.decision import Decision
from schemas.registry import to_json
from tests.bus.followed import (
    DEADLINE_SECONDS,
    HeldBus,
    Tally,
    TallyHandler,
    World,
    in_virtual_time,
)


def test_catching_up_is_silent_and_the_first_question_is_about_the_newest() -> None:
    """What the log holds at the start is applied whole before anything is asked, said or done."""

    async def scenario(world: World) -> None:
        await world.observe(1, 2, 3)
        await world.decided(1, 2)
        await world.observe(4)
        handler = TallyHandler()
        async with world.following(handler, acts=True):
            await asyncio.sleep(1)

        first = handler.asked[0][1]
        assert (first.applied, first.open) == ((1, 2, 3, 4, 5, 6), (3, 4))
        assert world.acted[0] == first
        assert world.decisions() == [1, 2, 3, 4]
        assert world.progress[:2] == [("catching_up", 0), ("live", 6)]

    in_virtual_time(scenario)


def test_after_an_outage_a_service_acts_on_the_newest_alone() -> None:
    """Observations that arrive together are applied together; there is one question, not one each."""

    async def scenario(world: World) -> None:
        handler = TallyHandler(patient=True)
        async with world.following(handler, acts=True):
            asked = len(handler.asked)
            world.bus.release.clear()
            await world.decided(0)  # holds the feed as an outage does
            await world.observe(1, 2, 3, 4)
            await asyncio.sleep(1)
            assert len(handler.asked) == asked
            world.bus.release.set()
            await asyncio.sleep(1)

        assert handler.questions()[asked:] == [((1, 2, 3, 4), False)]
        assert [state.open for state in world.acted][asked:] == [(1, 2, 3, 4)]

    in_virtual_time(scenario)


def test_each_live_step_applies_publishes_then_acts() -> None:
    """One observation gives one decision; effects see the state that was decided upon, and what was
    said about it is stored by then.
    """

    async def scenario(world: World) -> None:
        handler = TallyHandler()
        async with world.following(handler, acts=True):
            await world.observe(1)
            await asyncio.sleep(1)
            await world.observe(2)
            await asyncio.sleep(1)

        assert handler.evolved == [1, 2, 3, 4]
        assert world.decisions() == [1, 2]
        assert [state.decided for state in world.acted] == [(), (), (1,), (1,), (1, 2)]
        assert world.stored_when_acting == [0, 2, 2, 4, 4]

    in_virtual_time(scenario)


def test_an_open_cycle_is_overdue_once_at_its_own_deadline() -> None:
    """Waiting ends exactly at the deadline, is not told again, and a newer cycle waits anew."""

    async def scenario(world: World) -> None:
        handler = TallyHandler(patient=True)
        async with world.following(handler):
            await world.observe(1)
            opened = asyncio.get_running_loop().time()
            await asyncio.sleep(3 * DEADLINE_SECONDS)

        assert [overdue for _, _, overdue in handler.asked if overdue] == [True]
        at, state, _ = next(one for one in handler.asked if one[2])
        assert at == pytest.approx(opened + DEADLINE_SECONDS, abs=1e-3)
        assert state.open == (1,)
        assert world.decisions() == [1]

    async def newer(world: World) -> None:
        handler = TallyHandler(patient=True)
        async with world.following(handler):
            await world.observe(1)
            await asyncio.sleep(DEADLINE_SECONDS - 1)
            await world.observe(2)
            opened = asyncio.get_running_loop().time()
            await asyncio.sleep(3 * DEADLINE_SECONDS)

        assert [(at, state.open) for at, state, overdue in handler.asked if overdue] == [
            (pytest.approx(opened + DEADLINE_SECONDS, abs=1e-3), (1, 2))
        ]

    in_virtual_time(scenario)
    in_virtual_time(newer)


def test_a_cycle_that_stays_open_is_told_overdue_once() -> None:
    """A handler that owes nothing even then is left in peace until something arrives."""

    class Silent(TallyHandler):
        def decide(self, state: Tally, *, overdue: bool) -> tuple[Any, ...]:
            """Note the question and owe nothing."""
            super().decide(state, overdue=overdue)
            return ()

    async def scenario(world: World) -> None:
        handler = Silent()
        async with world.following(handler):
            await world.observe(1)
            await asyncio.sleep(100 * DEADLINE_SECONDS)

        assert [overdue for _, overdue in handler.questions()] == [False, False, True]

    in_virtual_time(scenario)


def test_a_service_without_a_deadline_is_never_overdue() -> None:
    """Only a message wakes it."""

    async def scenario(world: World) -> None:
        handler = TallyHandler(patient=True, deadline_seconds=None)
        async with world.following(handler):
            await world.observe(1)
            await asyncio.sleep(100 * DEADLINE_SECONDS)

        assert handler.questions() == [((), False), ((1,), False)]

    in_virtual_time(scenario)


def test_nothing_is_decided_or_done_before_own_events_are_read() -> None:
    """An observation that stands before the own decision wakes a service that is behind itself: it
    applies, and waits until it has read what it said.
    """

    async def scenario(world: World) -> None:
        handler = TallyHandler()
        async with world.following(handler, acts=True):
            world.bus.release.clear()
            world.bus.before_publish = lambda: world.observe(2)
            await world.observe(1)
            await asyncio.sleep(100 * DEADLINE_SECONDS)
            assert world.decisions() == [1]
            assert handler.evolved == [1, 2]
            assert handler.questions() == [((), False), ((1,), False)]
            assert len(world.acted) == 2
            world.bus.release.set()
            await asyncio.sleep(1)

        assert handler.questions()[2] == ((2,), False)
        assert world.acted[2].decided == (1,)
        assert world.decisions() == [1, 2]

    in_virtual_time(scenario)


def test_own_events_that_are_not_read_do_not_hold_a_service_up() -> None:
    """A checkpoint is no event of the handler: the deadline of the cycle before it still counts."""

    async def scenario(world: World) -> None:
        handler = TallyHandler(patient=True)
        async with world.following(handler, checkpoint_cycles=1):
            await world.observe(1)
            await asyncio.sleep(2 * DEADLINE_SECONDS)

        assert [message.seq for message, _ in world.stored(Checkpoint)] == [2]
        assert handler.questions()[:3] == [((), False), ((1,), False), ((1,), True)]
        assert world.decisions() == [1]

    in_virtual_time(scenario)


def test_a_checkpoint_states_what_it_covers() -> None:
    """Every so many cycles the state is stored with the position up to which it was applied, not the
    checkpoint's own.
    """

    async def scenario(world: World) -> None:
        handler = TallyHandler(patient=True)
        async with world.following(handler, checkpoint_cycles=3):
            world.bus.before_publish = lambda: world.observe(4, 5)
            for cycle in (1, 2, 3):
                await world.observe(cycle)
                await asyncio.sleep(0.1)
            await asyncio.sleep(1)
            await world.observe(6)
            await asyncio.sleep(1)

        stored = world.stored(Checkpoint)
        assert [(message.seq, data.cycle, data.folded_seq) for message, data in stored] == [
            (6, 3, 3),
            (8, 6, 7),
        ]
        assert [Tally(**data.state).applied for _, data in stored] == [
            (1, 2, 3),
            (1, 2, 3, 4, 5, 7),
        ]

    in_virtual_time(scenario)


def test_a_late_event_of_an_old_cycle_does_not_turn_the_count_back() -> None:
    """Checkpoints count by the newest cycle, whatever is applied after it."""

    async def scenario(world: World) -> None:
        await world.observe(1, 2, 3)
        await world.decided(1)
        async with world.following(TallyHandler(patient=True), checkpoint_cycles=3):
            ((_, data),) = world.stored(Checkpoint)
        assert (data.cycle, data.folded_seq) == (3, 4)

    in_virtual_time(scenario)


def checkpoint_state(folded_seq: int = 2) -> dict[str, Any]:
    """Return the state after the first cycles as a checkpoint holds it."""
    return Tally(applied=tuple(range(1, folded_seq + 1)), decided=(1,)).model_dump(mode="json")


def test_a_restore_goes_on_exactly_behind_what_was_applied() -> None:
    """The checkpoint stands far behind the position it covers: what lies between is applied, once."""

    async def scenario(world: World) -> None:
        await world.observe(1)
        await world.decided(1)
        await world.observe(2, 3)
        await world.decided(2)
        await world.checkpoint(1, folded_seq=2, state=checkpoint_state())
        await world.observe(4)
        handler = TallyHandler(patient=True)
        async with world.following(handler):
            assert world.bus.history_starts == [3]
            assert handler.evolved == [3, 4, 5, 7]
            state = handler.asked[0][1]
            assert (state.applied, state.decided) == ((1, 2, 3, 4, 5, 7), (1, 2))
            assert state.open == (3, 4)
            await asyncio.sleep(2 * DEADLINE_SECONDS)
        assert world.decisions() == [1, 2, 3, 4]

    in_virtual_time(scenario)


def test_a_large_state_is_stored_packed_and_read_again() -> None:
    """It takes a fraction of its bytes, and a start goes on from it as from any other."""
    many = Tally(applied=(1, 2), decided=tuple(range(200_000)))
    stored, size = stored_state(many.model_dump(mode="json"))

    async def scenario(world: World) -> None:
        await world.observe(1)
        await world.decided(1)
        await world.observe(2)
        await world.checkpoint(1, folded_seq=2, state=stored)
        handler = TallyHandler(patient=True)
        async with world.following(handler):
            assert handler.evolved == [3]
            assert handler.asked[0][1].decided == many.decided

    assert stored.keys() == {"packed"}
    assert 2 * size < len(to_json(many.model_dump(mode="json")))
    in_virtual_time(scenario)


def test_a_state_that_does_not_fit_a_message_ends_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The service works on without a checkpoint; a start reads the log instead."""
    huge = {"packed": "x" * 2_000_000}
    monkeypatch.setattr("bus.follow.stored_state", lambda _: (huge, len(huge["packed"])))

    async def scenario(world: World) -> None:
        async with world.following(TallyHandler(), checkpoint_cycles=1):
            for cycle in (1, 2, 3):
                await world.observe(cycle)
                await asyncio.sleep(1)
        assert world.stored(Checkpoint) == []
        assert world.decisions() == [1, 2, 3]

    in_virtual_time(scenario)


def test_a_state_too_large_for_a_checkpoint_is_rebuilt_from_the_log() -> None:
    """Events that a handler names are applied again up to where the checkpoint stands, and nothing else is."""

    async def scenario(world: World) -> None:
        await world.observe(1)
        await world.decided(1)
        await world.observe(2)
        await world.checkpoint(1, folded_seq=2, state=checkpoint_state())
        handler = TallyHandler(patient=True)
        handler.rebuilt_from = (Decision.PATTERN,)
        async with world.following(handler):
            assert handler.evolved == [2, 3]

    in_virtual_time(scenario)


def test_a_restored_service_counts_on_to_its_next_checkpoint() -> None:
    """A start alone stores no checkpoint; the next one comes as many cycles later as ever."""

    async def scenario(world: World) -> None:
        await world.observe(1, 2, 3, 4)
        await world.checkpoint(4, folded_seq=4, state=checkpoint_state(4))
        async with world.following(TallyHandler(patient=True), checkpoint_cycles=3):
            for cycle, stored in ((5, 1), (6, 1), (7, 2)):
                await world.observe(cycle)
                await asyncio.sleep(0.1)
                assert len(world.stored(Checkpoint)) == stored

    in_virtual_time(scenario)


@pytest.mark.parametrize(
    "wrong",
    [
        {"version": 2},
        {"folded_seq": 3},
        {"folded_seq": 900},
        {"state": {"applied": "all of them"}},
        {"state": {"packed": "eJw="}},
    ],
    ids=[
        "another version of the state",
        "its own position",
        "a longer log",
        "no such state",
        "cut off",
    ],
)
def test_a_checkpoint_that_does_not_belong_here_is_ignored(wrong: dict[str, Any]) -> None:
    """Another state version, a log that went on further, or a state that does not read: the log is
    applied from its beginning.
    """

    async def scenario(world: World) -> None:
        await world.observe(1)
        await world.decided(1)
        await world.checkpoint(1, **{"folded_seq": 2, "state": checkpoint_state(), **wrong})
        await world.observe(2)
        handler = TallyHandler(patient=True)
        async with world.following(handler):
            assert handler.evolved == [1, 2, 4]
            assert handler.asked[0][1].decided == (1,)

    in_virtual_time(scenario)


def test_messages_that_are_no_events_are_passed_over() -> None:
    """Neither history nor the live feed stops at one, and its position counts as applied."""

    async def scenario(world: World) -> None:
        await world.junk("old")
        handler = TallyHandler(patient=True)
        async with world.following(handler):
            assert world.progress[-1] == ("live", 1)
            await world.junk("new")
            await asyncio.sleep(1)
            assert world.progress[-1] == ("live", 2)
        assert handler.evolved == []

    in_virtual_time(scenario)


def test_a_log_shorter_than_the_checkpoint_stops_the_service() -> None:
    """The log lost its end between two questions to it: nothing is applied over that seam."""

    class Shorter(HeldBus):
        async def info(self) -> LogInfo:
            """Return a log that ends before what was applied."""
            return LogInfo(1, 2, 2, 0, -1, 0.0)

    async def scenario(world: World) -> None:
        await world.observe(1, 2, 3)
        await world.checkpoint(3, folded_seq=3, state=checkpoint_state(3))
        world.bus = Shorter(world.log)
        handler = TallyHandler()
        async with world.following(handler) as task:
            with pytest.raises(LogWentBack, match="position 3 was known here, and it ends at 2"):
                await asyncio.wait_for(task, timeout=10)
        assert (handler.asked, handler.evolved) == ([], [])

    in_virtual_time(scenario)


def test_a_log_that_went_back_under_a_live_service_stops_it() -> None:
    """What was read is gone: the service ends with the reason instead of acting on a lost past."""

    async def scenario(world: World) -> None:
        await world.observe(1, 2, 3)
        handler = TallyHandler(patient=True)
        world.bus = HeldBus(
            world.log, Faults(feed_messages=100)
        )  # asks for the log's end now and then
        async with world.following(handler) as task:
            del world.log.messages[1:]
            with pytest.raises(LogWentBack, match="position 3 was known here, and it ends at 1"):
                await asyncio.wait_for(task, timeout=10)
        assert not [overdue for _, overdue in handler.questions() if overdue]

    in_virtual_time(scenario)
