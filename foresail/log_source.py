"""Where a verb reads events from: the running stack's log, the last stack's log on disk, or a
recording.
"""

from __future__ import annotations

import argparse
import asyncio
import os
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from bus.clock import SystemClock
from bus.events import cycle_of_message
from bus.exit_codes import ExitCode, verdict
from bus.login import Login
from bus.logins import Logins, read_login, read_logins
from bus.port import Bus, Messages, StoredMessage
from bus.recording import Recording, open_recording
from bus.recording.footer import stated_messages
from foresail.flags import add_partial
from foresail.output import print_note
from foresail.remote import add_remote
from foresail.stack.state_folder import StackFile, StateFolder
from schemas import subjects
from schemas.wording import count_text

EVERYTHING = (">",)
OBSERVATION = ("observation",)
NANOSECONDS = 1_000_000_000
OnRead = Callable[[int], None]


def add_source(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of a verb that reads a log once: which one, how much of it, and as what it prints."""
    parser.add_argument(
        "--recording", metavar="FILE", help="read this recording instead of the running stack"
    )
    add_partial(parser)
    parser.add_argument(
        "--state",
        default=".foresail",
        metavar="FOLDER",
        help="state folder of the stack (default: %(default)s)",
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    add_remote(parser)


@dataclass(frozen=True, slots=True)
class Since:
    """How far back to begin: so many stored events, or so many seconds of recorded time."""

    events: int | None = None
    seconds: float | None = None


class Source(Protocol):
    """Something whose events can be read from the beginning, more than once."""

    cluster: str
    running: bool
    """Whether new events can come."""
    on_read: OnRead | None
    """Told how many messages a pass has gone over, for progress."""
    damage: str
    """Why reading ended early and how much was read, known once messages were read; empty when it
    did not.
    """

    def messages(
        self, patterns: Sequence[str] = EVERYTHING, *, start_seq: int = 1, follow: bool = False
    ) -> Messages:
        """Yield stored messages in order, up to the newest at the time of the call.

        Args:
            patterns: subjects after `foresail.<cluster>.`, with wildcards.
            start_seq: the first position wanted.
            follow: keep yielding what is stored later, without end.
        """
        ...

    async def length(self) -> int | None:
        """Return how many messages there are; None where that is not known."""
        ...

    async def start_of(self, since: Since) -> int:
        """Return the position where what `since` asks for begins."""
        ...

    async def start_of_cycle(self, cycle: int) -> int:
        """Return a position not behind the observation of a cycle, and near it where that is cheap."""
        ...

    async def newest(self, pattern: str) -> StoredMessage | None:
        """Return the newest message of one subject (after the cluster); None when there is none."""
        ...


class LogSource:
    """The log of a stack."""

    damage = ""

    def __init__(self, bus: Bus, cluster: str, *, running: bool, now_ns: int) -> None:
        """Read one cluster's subjects; `now_ns` is wall time, from which `since` counts."""
        self._bus = bus
        self._now_ns = now_ns
        self._first_seq = 0
        self.cluster = cluster
        self.running = running
        self.on_read: OnRead | None = None

    def messages(
        self, patterns: Sequence[str] = EVERYTHING, *, start_seq: int = 1, follow: bool = False
    ) -> Messages:
        """Yield stored messages in order; see `Source`."""
        full = [subjects.pattern(self.cluster, pattern.split(".")) for pattern in patterns]
        if follow and self.running:
            return self._bus.read(full, start_seq=start_seq)
        messages = self._bus.history(full, start_seq=start_seq)
        return messages if self.on_read is None else self._count(messages)

    async def _count(self, messages: Messages) -> Messages:
        async with aclosing(messages):
            async for message in messages:
                if self.on_read is not None:
                    self.on_read(message.seq - self._first_seq)
                yield message

    async def length(self) -> int | None:
        """Return how many messages are stored."""
        info = await self._bus.info()
        self._first_seq = info.first_seq
        return info.messages

    async def start_of(self, since: Since) -> int:
        """Return the position where what `since` asks for begins, by halving."""
        info = await self._bus.info()
        low, high = info.first_seq, info.last_seq + 1
        if since.events is not None:
            return max(low, high - since.events)
        newest = await self._time_ns(info.last_seq)
        end_ns = self._now_ns if self.running or newest is None else newest
        begin_ns = end_ns - round((since.seconds or 0.0) * NANOSECONDS)
        while low < high:
            middle = (low + high) // 2
            found_ns = await self._time_ns(middle)
            if found_ns is not None and found_ns < begin_ns:
                low = middle + 1
            else:
                high = middle
        return low

    async def start_of_cycle(self, cycle: int) -> int:
        """Return a position not behind the observation of a cycle, by halving."""
        info = await self._bus.info()
        low, high = info.first_seq, info.last_seq + 1
        while low < high:
            middle = (low + high) // 2
            message = await self._first(OBSERVATION, middle)
            if message is not None and cycle_of_message(message) < cycle:
                low = middle + 1
            else:
                high = middle
        return low

    async def newest(self, pattern: str) -> StoredMessage | None:
        """Return the newest message of one subject."""
        return await self._bus.last(subjects.build(self.cluster, pattern.split(".")))

    async def _time_ns(self, seq: int) -> int | None:
        message = await self._first(EVERYTHING, seq)
        return None if message is None else message.time_ns

    async def _first(self, pattern: Sequence[str], seq: int) -> StoredMessage | None:
        patterns = [subjects.pattern(self.cluster, pattern)]
        async with aclosing(self._bus.history(patterns, start_seq=seq)) as stream:
            async for message in stream:
                return message
        return None


class RecordingSource:
    """A recording."""

    running = False

    def __init__(self, path: Path) -> None:
        """Read this file.

        Raises:
            InputError: it is no recording.
        """
        self._path = path
        self.damage = ""
        self.on_read: OnRead | None = None
        self.cluster = str(open_recording(path).header.get("cluster", ""))

    async def messages(
        self, patterns: Sequence[str] = EVERYTHING, *, start_seq: int = 1, follow: bool = False
    ) -> Messages:
        """Yield recorded messages in order; see `Source`."""
        del follow  # a file has no tail
        full = [subjects.pattern(self.cluster, pattern.split(".")) for pattern in patterns]
        recording = open_recording(self._path)
        for content in recording.whole_frames():
            # Nothing here waits for anything else, and an interrupt is only heard between waits.
            await asyncio.sleep(0)
            for count, message in enumerate(content.messages, recording.messages_read + 1):
                if self.on_read is not None:
                    self.on_read(count - len(content.messages))
                is_selected = any(subjects.matches(one, message.subject) for one in full)
                if is_selected and message.seq >= start_seq:
                    yield message
        self.damage = damage_of(recording)

    async def length(self) -> int | None:
        """Return how many messages the footer states."""
        return stated_messages(self._path)

    async def start_of(self, since: Since) -> int:
        """Return the position where what `since` asks for begins."""
        if since.events is not None:
            newest: deque[int] = deque(maxlen=since.events)
            async for message in self.messages():
                newest.append(message.seq)
            return newest[0] if newest else 1
        end_ns = 0
        async for message in self.messages():
            end_ns = max(end_ns, message.time_ns)
        begin_ns = end_ns - round((since.seconds or 0.0) * NANOSECONDS)
        async with aclosing(self.messages()) as messages:
            async for message in messages:
                if message.time_ns >= begin_ns:
                    return message.seq
        return 1

    async def start_of_cycle(self, cycle: int) -> int:
        """Return the beginning: a file is read from there anyway."""
        del cycle
        return 1

    async def newest(self, pattern: str) -> StoredMessage | None:
        """Return the newest message of one subject."""
        newest = None
        async for message in self.messages((pattern,)):
            newest = message
        return newest


def damage_of(recording: Recording) -> str:
    """Return why reading a recording ended early and how much was read; empty when it did not."""
    if not recording.damage:
        return ""
    count, seq = recording.messages_read, recording.last_seq_read
    return f"{recording.damage}; {count_text(count, 'message was', 'messages were')} read, up to seq {seq:,}"


def reading_verdict(
    source: Source, *, differs: bool = False, nothing_compared: bool = False, partial: bool = False
) -> ExitCode:
    """Return the code of a verb that has read a source; say on stderr where that ends too early.

    With `partial` a part was asked for, so that an early end is no finding.
    """
    if source.damage:
        print_note(f"read up to the damage: {source.damage}")
    cut_off = bool(source.damage) and not partial
    return verdict(differs=differs, nothing_compared=nothing_compared, cut_off=cut_off)


@asynccontextmanager
async def connect(
    stack: StackFile, state: StateFolder, identity: str = "reader"
) -> AsyncIterator[Bus]:
    """Connect to a stack's log as one identity; when the stack is over, serve its log from disk
    meanwhile.
    """
    from bus.nats_adapter import NatsBus  # noqa: PLC0415 - a recording is read without NATS
    from bus.nats_conf import accounts_conf  # noqa: PLC0415
    from bus.nats_server import NatsServer  # noqa: PLC0415

    server: NatsServer | None = None
    url = stack.nats_url
    logins = _logins(stack, state)
    login = login_of(stack, state, identity)
    if not stack.running and stack.embedded:
        folder = state.incarnation(stack.incarnation)
        accounts = accounts_conf(stack.cluster, stack.stream, logins) if logins else ""
        server = NatsServer(folder / "nats", accounts=accounts)
        url = await server.start()
    try:
        bus = await NatsBus.connect(url, cluster=stack.cluster, stream=stack.stream, login=login)
        try:
            yield bus
        finally:
            await bus.close()
    finally:
        if server is not None:
            await server.stop()


def login_of(stack: StackFile, state: StateFolder, identity: str = "reader") -> Login:
    """Return the login of one identity on a stack's server."""
    return _logins(stack, state).get(identity) or _given_login(stack)


def _logins(stack: StackFile, state: StateFolder) -> Logins:
    return read_logins(state.incarnation(stack.incarnation)) if stack.embedded else {}


def _given_login(stack: StackFile) -> Login:
    if stack.login_file:
        return read_login(Path(stack.login_file))
    return Login.from_environment(os.environ)


@asynccontextmanager
async def open_source(
    recording: str | None, state_path: Path, remote: StackFile | None = None
) -> AsyncIterator[Source]:
    """Open a recording, or else the log of `remote`, or else that of the stack in a state folder.

    Raises:
        InputError: there is neither.
    """
    if recording is not None:
        yield RecordingSource(Path(recording))
        return
    state = StateFolder(state_path)
    stack = remote or state.read()
    async with connect(stack, state) as bus:
        now_ns = SystemClock().wall_ns()
        yield LogSource(bus, stack.cluster, running=stack.running, now_ns=now_ns)
