"""Checkpoints of a follower: what they cover, how a start goes on from one, and which are ignored."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from bus.checkpoint_state import stored_state
from schemas.checkpoint import Checkpoint
from schemas.decision import Decision
from schemas.registry import to_json
from tests.bus.followed import (
    DEADLINE_SECONDS,
    Tally,
    TallyHandler,
    World,
    checkpoint_state,
    in_virtual_time,
)


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
