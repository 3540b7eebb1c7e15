"""`replay`: the same events in the same order at the asked pace, and nobody acts on them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from bus.clock import LoopClock
from bus.memory_adapter import MemoryBus, MemoryLog
from bus.port import Message, StoredMessage
from bus.recording import open_recording
from bus.recording.window import cycle_of_message
from bus.virtual_loop import run_virtual
from foresail.replay.player import MOST_AT_ONCE, MOST_BYTES, Player
from foresail.replay_place import RECORDED
from schemas.identity import Origin
from schemas.outcome import ExecutionPhase, OutcomeExecution
from schemas.reasons import Reason
from schemas.registry import decode
from services.executor.service import run as run_executor
from services.executor.settings import ExecutorSettings
from services.twin_transport import TwinTransport
from twin.port.api import InProcessTwin
from twin.port.engine import Engine
from twin.port.settings import TwinConfig

CLUSTER = "replay-test"
START_NS = 1_767_225_600_000_000_000
TIMES = (0.0, 0.5, 1.0, 4.0, 4.5, 6.0)
CYCLES = (1, 1, 1, 2, 2, 3)


def messages() -> list[StoredMessage]:
    """Return six messages of three cycles over six seconds."""
    return [
        StoredMessage(
            seq,
            START_NS + round(1e9 * seconds),
            "foresail.c.decision",
            {"ce-id": str(seq), "ce-correlationid": f"c/i1/{cycle}", "Nats-Msg-Id": str(seq)},
            b"{}",
        )
        for seq, (seconds, cycle) in enumerate(zip(TIMES, CYCLES, strict=True), start=1)
    ]


class Room:
    """A log in memory on virtual time, and a player on it."""

    def __init__(self, speed: float | None = 1.0, **options: bool) -> None:
        self.clock = LoopClock(START_NS)
        self.log = MemoryLog(wall_ns=self.clock.wall_ns)
        bus = MemoryBus(self.log, CLUSTER)
        self.player = Player(bus, CLUSTER, self.clock, speed=speed, **options)

    def begin(self, from_seq: int = 1) -> asyncio.Task[None]:
        """Begin to play."""
        return asyncio.create_task(self.player.play(messages(), from_seq))

    def stored(self) -> list[str]:
        """Return the ids that are in the log."""
        return [message.headers["ce-id"] for message in self.log.messages]

    def seconds(self) -> list[float]:
        """Return when they were stored."""
        return [(message.time_ns - START_NS) / 1e9 for message in self.log.messages]


@pytest.mark.parametrize(
    ("speed", "expected"), [(1.0, TIMES), (4.0, [t / 4 for t in TIMES]), (None, [0.0] * 6)]
)
def test_the_pace_is_the_one_asked_for(speed: float | None, expected: Sequence[float]) -> None:
    """Original pace, four times as fast, or as fast as possible: to the microsecond."""

    async def play() -> None:
        room = Room(speed)
        await room.begin()
        assert room.seconds() == pytest.approx(list(expected), abs=1e-6)

    run_virtual(play)


def test_what_comes_before_the_wanted_beginning_is_there_at_once() -> None:
    """Checkpoints and keyframes are published without pause; the pace counts from the beginning."""

    async def play() -> None:
        room = Room()
        await room.begin(from_seq=4)
        assert room.seconds() == pytest.approx([0.0, 0.0, 0.0, 0.0, 0.5, 2.0], abs=1e-6)

    run_virtual(play)


def test_a_replayed_event_is_the_same_event() -> None:
    """Id, headers and data are kept; the subject names the replay; a header names the old place."""

    async def play() -> None:
        room = Room(None)
        await room.begin()
        for before, after in zip(messages(), room.log.messages, strict=True):
            assert f"foresail.{CLUSTER}.decision" == after.subject
            assert before.data == after.data
            assert after.headers[RECORDED].split()[0] == str(before.seq)
            assert {**after.headers, RECORDED: ""} == {**before.headers, RECORDED: ""}

    run_virtual(play)


def test_a_pause_holds_and_a_step_plays_one_cycle() -> None:
    """Paused, nothing is published; each step publishes one cycle; going on plays the rest."""

    async def play() -> None:
        room = Room(paused=True)
        playing = room.begin()
        await asyncio.sleep(50)
        assert [] == room.stored()
        room.player.step()
        await asyncio.sleep(50)
        assert ["1", "2", "3"] == room.stored()
        room.player.step()
        await asyncio.sleep(50)
        assert ["1", "2", "3", "4", "5"] == room.stored()
        room.player.pause()
        await playing
        assert 6 == len(room.stored())

    run_virtual(play)


def test_stepping_pauses_before_each_cycle() -> None:
    """With `--step` a cycle is played at its pace, then the next waits for a key."""

    async def play() -> None:
        room = Room(stepping=True)
        playing = room.begin()
        room.player.step()
        await asyncio.sleep(50)
        assert ["1", "2", "3"] == room.stored()
        assert room.player.played.paused
        playing.cancel()
        with suppress(asyncio.CancelledError):
            await playing

    run_virtual(play)


def test_another_speed_holds_from_now_on() -> None:
    """Made faster in the middle, the rest comes at the new pace."""

    async def play() -> None:
        room = Room()
        playing = room.begin()
        await asyncio.sleep(2.0)
        room.player.set_speed(100.0)
        await playing
        assert room.seconds()[-1] == pytest.approx(2.0 + 5.0 / 100, abs=1e-6)

    run_virtual(play)


class SlowBus(MemoryBus):
    """Takes a second for each publish, and counts the messages of each."""

    def __init__(self, log: MemoryLog) -> None:
        super().__init__(log, CLUSTER)
        self.batches: list[int] = []

    async def publish(self, messages: Sequence[Message]) -> tuple[int, ...]:
        """Publish after a second."""
        self.batches.append(len(messages))
        await asyncio.sleep(1.0)
        return await super().publish(messages)


class SlowRoom(Room):
    """A room whose log is slower than the pace, with a recording of 100 messages and 10 cycles in a second."""

    def __init__(self, speed: float | None = 1.0, **options: bool) -> None:
        super().__init__(speed, **options)
        self.bus = SlowBus(self.log)
        self.player = Player(self.bus, CLUSTER, self.clock, speed=speed, **options)
        self.messages = [
            replace(
                messages()[0], seq=seq, time_ns=START_NS + seq * 10_000_000, headers=headers_of(seq)
            )
            for seq in range(1, 101)
        ]

    def begin(self, from_seq: int = 1) -> asyncio.Task[None]:
        """Begin to play."""
        return asyncio.create_task(self.player.play(self.messages, from_seq))


def headers_of(seq: int) -> dict[str, str]:
    """Return the headers of the message at a position, of which ten are one cycle's."""
    identity = str(seq)
    return {
        "ce-id": identity,
        "ce-correlationid": f"c/i1/{(seq + 9) // 10}",
        "Nats-Msg-Id": identity,
    }


def test_what_is_due_together_is_published_together() -> None:
    """Behind its pace, a player publishes what is due as one batch; the order and the ids stay, nothing is early."""

    async def play() -> None:
        room = SlowRoom()
        await room.begin()
        assert [str(seq) for seq in range(1, 101)] == room.stored()
        assert [1, MOST_AT_ONCE, MOST_AT_ONCE, MOST_AT_ONCE, 3] == room.bus.batches
        due = [(message.time_ns - room.messages[0].time_ns) / 1e9 for message in room.messages]
        assert all(now >= then for now, then in zip(room.seconds(), due, strict=True))
        assert (100, 100, 10) == (
            room.player.played.messages,
            room.player.played.seq,
            room.player.played.cycle,
        )

    run_virtual(play)


def test_large_messages_go_alone() -> None:
    """A batch holds at most `MOST_BYTES`; what was not played yet is in no batch."""

    async def play() -> None:
        room = SlowRoom(None)
        room.messages = [
            replace(message, data=b" " * (MOST_BYTES // 2 if message.seq < 10 else MOST_BYTES + 1))
            for message in room.messages[:12]
        ]
        await room.begin()
        assert [2, 2, 2, 2, 1, 1, 1, 1] == room.bus.batches
        assert 12 == len(room.stored())

    run_virtual(play)


def test_a_pause_in_the_midst_of_a_batch_holds_after_it() -> None:
    """What was under way is stored, and no more; the position says so, and going on misses nothing."""

    async def play() -> None:
        room = SlowRoom(None)
        playing = room.begin()
        await asyncio.sleep(1.5)
        room.player.pause()
        await asyncio.sleep(50)
        assert 2 * MOST_AT_ONCE == len(room.stored()) == room.player.played.seq
        room.player.pause()
        await playing
        assert [str(seq) for seq in range(1, 101)] == room.stored()

    run_virtual(play)


def test_a_batch_ends_where_a_step_does() -> None:
    """Stepping, the cycles before the pause are published and no message of the next one."""

    async def play() -> None:
        room = SlowRoom(None, paused=True)
        playing = room.begin()
        for steps in (1, 2):
            room.player.step()
            await asyncio.sleep(50)
            assert 10 * steps == len(room.stored()) == room.player.played.seq
            assert steps == room.player.played.cycle
        assert [10, 10] == room.bus.batches
        playing.cancel()
        with suppress(asyncio.CancelledError):
            await playing

    run_virtual(play)


def test_what_was_recorded_twice_goes_alone() -> None:
    """A message with the id of another one of its batch, or of the newest of its subject, is in no batch: a log that
    takes each id once would refuse the batch, or take it for one that it holds.
    """

    async def play() -> None:
        for place, batches in ((10, [1] * 32 + [32, 32, 4]), (32, [32] + [1] * 32 + [32, 4])):
            room = SlowRoom(None)
            room.messages[place] = replace(room.messages[place], headers=headers_of(place))
            await room.begin()
            assert batches == room.bus.batches
            assert [str(seq) for seq in range(1, 101) if seq != place + 1] == room.stored()

    run_virtual(play)


class WatchedTwin(InProcessTwin):
    """A twin that counts who wants to write."""

    writes = 0

    def request(
        self,
        method: str,
        path: str,
        query: Mapping[str, str],
        body: bytes,
        content_type: str = "application/json",
    ) -> tuple[int, bytes]:
        """Answer one request."""
        self.writes += method != "GET"
        return super().request(method, path, query, body, content_type)


@pytest.mark.parametrize("allowed", [False, True])
def test_the_executor_refuses_a_replay(run_file: Path, allowed: bool) -> None:
    """The real executor, on a replay that ends with a decision it once executed, writes nothing and
    says why; only a setting for twins started for that lets it try.
    """
    recorded = list(open_recording(run_file))
    executed = {
        cycle_of_message(message)
        for message in recorded
        if message.subject.endswith("outcome.execution") and b'"phase":"started"' in message.data
    }
    end = next(
        index
        for index, message in enumerate(recorded, start=1)
        if message.subject.endswith(".decision") and cycle_of_message(message) in executed
    )

    async def play() -> None:
        clock = LoopClock(START_NS)
        log = MemoryLog(wall_ns=clock.wall_ns)
        await Player(MemoryBus(log, CLUSTER), CLUSTER, clock, speed=None).play(recorded[:end], 0)
        twin = WatchedTwin(Engine(TwinConfig(), 1), clock=clock)
        settings = ExecutorSettings(execute_replays=allowed)
        bus, origin = MemoryBus(log, CLUSTER), Origin(CLUSTER, "i1")
        executing = asyncio.create_task(
            run_executor(settings, bus, clock, origin, TwinTransport(twin))
        )
        await asyncio.sleep(30)
        executing.cancel()
        with suppress(asyncio.CancelledError):
            await executing
        said = [
            decode(message.subject, message.headers, message.data).data
            for message in log.messages[end:]
        ]
        outcomes = [one for one in said if isinstance(one, OutcomeExecution)]
        assert [ExecutionPhase.REFUSED] == [outcome.phase for outcome in outcomes]
        assert (outcomes[0].reason is Reason.REPLAYED_LOG) is not allowed
        assert 0 == twin.writes

    run_virtual(play)
