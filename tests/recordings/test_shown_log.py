"""What a page's questions are computed over: the newest part of a long log, one question at a time."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from pathlib import Path

import pytest

from bus.errors import InputError
from bus.port import LogInfo
from bus.recording import open_recording
from bus.recording.bus import RecordingBus
from foresail.log_copy import copy_log, first_taken
from foresail.shown_log import OneAtATime
from schemas.identity import Origin
from tests.patience import HANGS_SECONDS

MOST = 80


@pytest.mark.parametrize(
    ("messages", "size", "limits", "expected"),
    [
        (100, 1_000, (100, 1_000), 11),
        (100, 1_000, (40, 1_000), 71),
        (100, 1_000, (100, 250), 86),
        (100, 1_000, (100, 3), 110),
        (0, 0, (40, 1_000), 71),
    ],
    ids=["all of it", "so many", "so many bytes", "one at least", "of unknown size"],
)
def test_the_newest_part_that_the_limits_allow_is_taken(
    messages: int, size: int, limits: tuple[int, int], expected: int
) -> None:
    """Whichever of the two limits is met first, counted by the log's mean size, never before its first position."""
    info = LogInfo(11, 110, messages, size, -1, 0.0)

    assert first_taken(info, 110, *limits) == expected


async def test_a_copy_of_a_long_log_has_its_newest_part_and_says_so(
    run_file: Path, tmp_path: Path
) -> None:
    """It ends where it was asked to, holds every message from its beginning on, and is not said to be whole."""
    bus = RecordingBus(run_file)
    info = await bus.info()
    until_seq = info.last_seq - 10
    origin = Origin(str(bus.header["cluster"]), str(bus.header["incarnation"]))

    async def copy(name: str, most_messages: int) -> tuple[dict[str, object], list[int]]:
        path = tmp_path / name
        copied = await copy_log(bus, origin, path, until_seq, most_messages=most_messages)
        return copied, [message.seq for message in open_recording(path)]

    part, taken = await copy("part.fslog", MOST)
    whole, everything = await copy("whole.fslog", info.messages)
    async with aclosing(bus.history([">"], end_seq=until_seq)) as stored:
        known = [message.seq async for message in stored]

    assert (whole["whole"], everything) == (True, known)
    assert (part["whole"], part["from_seq"]) == (False, until_seq - MOST + 1)
    assert part["last_seq"] == until_seq == taken[-1]
    assert info.first_seq < int(str(part["first_seq"])) <= until_seq - MOST + 1
    first = int(str(part["first_seq"]))
    assert [seq for seq in taken if seq >= first] == [seq for seq in known if seq >= first]


async def test_one_question_is_computed_and_so_many_wait() -> None:
    """One more is refused with what it asked; when one has ended there is room for it."""
    turns, ended, running = OneAtATime(most_waiting=2), asyncio.Event(), 0

    async def ask() -> None:
        nonlocal running
        async with turns.turn("set", "agents.safety.replicate=0.9"):
            running += 1
            assert running == 1
            await ended.wait()
            running -= 1

    asked = [asyncio.create_task(ask()) for _ in range(3)]
    await asyncio.sleep(0)
    with pytest.raises(
        InputError, match=r"agents.safety.replicate=0.9.*3 questions .* ask again later"
    ):
        await asyncio.wait_for(ask(), HANGS_SECONDS)
    assert running == 1
    ended.set()
    await asyncio.gather(*asked, ask())
    assert running == 0
