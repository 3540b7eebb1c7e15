"""`foresail recording record FILE`: write a stack's log to a file, then follow it until interrupted.

From its beginning, from a point in its past, or from now on; all layers or some. What the point
needs to be re-run (checkpoints, keyframes, settings) is written before it.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import signal
from collections.abc import Coroutine
from contextlib import aclosing
from pathlib import Path

from bus.cancellation import cancel_and_wait
from bus.clock import SystemClock
from bus.errors import InputError
from bus.exit_codes import ExitCode
from bus.port import Bus, LogInfo, Messages
from bus.recording import RecordingWriter
from foresail.flags import seconds
from foresail.log_source import connect
from foresail.output import console, print_json
from foresail.recording.log_part import (
    LogPart,
    beginning_for,
    first_since,
    header_of,
    patterns_of,
)
from foresail.spans import NANOSECONDS, moment
from foresail.stack.preflight import check_writable
from foresail.stack.state_folder import StackFile, StateFolder
from schemas.identity import Origin
from schemas.wording import count_text

BEGINNING, NOW = "beginning", "now"
_FROM = re.compile("(seq|cycle):([0-9]{1,18})")

EXAMPLES = (
    ("recording record run.fslog", "everything, then follow until Ctrl-C"),
    ("recording record incident.fslog --from 10m --no-follow", "the last ten minutes"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this action's arguments."""
    parser.add_argument("file", metavar="FILE", help="a new file, usually NAME.fslog")
    parser.add_argument(
        "--from",
        dest="begin",
        default=BEGINNING,
        metavar="beginning|now|seq:N|cycle:N|TIME",
        help="where to start (default: beginning); TIME: 5m ago as 5m, or 2026-01-01T10:00:00Z",
    )
    parser.add_argument(
        "--layers",
        metavar="A,B",
        help="only these layers: snapshot, observation, prediction, proposal, decision, outcome, reaction, "
        "stimulus, control, run, checkpoint (default: all); settings are always included",
    )
    parser.add_argument(
        "--for",
        dest="for_seconds",
        type=seconds,
        metavar="DURATION",
        help="follow for this long once what is stored is written (default: until Ctrl-C)",
    )
    parser.add_argument("--no-follow", action="store_true", help="stop at the newest stored event")
    parser.add_argument(
        "--state",
        default=".foresail",
        metavar="FOLDER",
        help="state folder of the stack (default: %(default)s)",
    )


async def run(arguments: argparse.Namespace) -> ExitCode:
    """Record."""
    path = Path(arguments.file)
    check_writable("FILE", path)
    state = StateFolder(Path(arguments.state))
    stack = state.read()
    layers = None if arguments.layers is None else tuple(arguments.layers.split(","))
    patterns = patterns_of(stack.cluster, layers)
    async with connect(stack, state, "recorder") as bus:
        info = await bus.info()
        seq = await _from_seq(bus, stack, info, arguments.begin)
        part = await beginning_for(bus, stack.cluster, patterns, seq, info.first_seq)
        origin = Origin(stack.cluster, stack.incarnation)
        writer = RecordingWriter(path, await header_of(bus, origin, layers, part))
        follow = stack.running and not arguments.no_follow
        try:
            count, stopped = await _copy(
                bus, patterns, writer, part, arguments.for_seconds, follow=follow
            )
        finally:
            writer.seal()
    if arguments.json:
        print_json({"file": str(path), "messages": count})
    else:
        console().print(f"{count_text(count, 'message')} in {path}", markup=False)
    cut_short = stopped and (not follow or arguments.for_seconds is not None)
    return ExitCode.INTERRUPTED if cut_short else ExitCode.GOOD


async def _from_seq(bus: Bus, stack: StackFile, info: LogInfo, text: str) -> int:
    """Return the position at which to begin."""
    if text == BEGINNING:
        return info.first_seq
    if text == NOW:
        return info.last_seq + 1
    match = _FROM.fullmatch(text)
    if match is not None and match[1] == "seq":
        return min(max(int(match[2]), info.first_seq), info.last_seq + 1)
    if match is not None:
        return await first_since(bus, stack.cluster, info, cycle=int(match[2]))
    now_ns = SystemClock().wall_ns()
    time_ns = moment("--from", text, 0)
    if time_ns < now_ns and not text.endswith("Z"):
        time_ns = now_ns - round(seconds(text) * NANOSECONDS)
    if time_ns > now_ns:
        raise InputError("--from", text, "give a time that has been")
    return await first_since(bus, stack.cluster, info, time_ns=time_ns)


async def _copy(
    bus: Bus,
    patterns: list[str],
    writer: RecordingWriter,
    part: LogPart,
    for_seconds: float | None,
    *,
    follow: bool,
) -> tuple[int, bool]:
    """Copy a part of the log; return how many messages were written, and whether a signal ended it."""
    for head in part.heads:
        writer.write(head)
    count = len(part.heads)
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)

    next_seq = part.first_seq

    async def copy(messages: Messages) -> None:
        nonlocal count, next_seq
        async with aclosing(messages) as stream:
            async for message in stream:
                writer.write(message)
                count += 1
                next_seq = message.seq + 1

    stopping = asyncio.create_task(stop.wait())
    try:
        await _until_stopped(copy(bus.history(patterns, start_seq=next_seq)), stopping)
        if follow and not stop.is_set():
            live = bus.read(patterns, start_seq=next_seq)
            await _until_stopped(copy(live), stopping, for_seconds)
    finally:
        await cancel_and_wait(stopping)
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)
    return count, stop.is_set()


async def _until_stopped(
    copy: Coroutine[None, None, None],
    stopping: asyncio.Task[bool],
    for_seconds: float | None = None,
) -> None:
    """Copy to the end, for so long, or until a signal."""
    copying = asyncio.create_task(copy)
    await asyncio.wait(
        {copying, stopping}, timeout=for_seconds, return_when=asyncio.FIRST_COMPLETED
    )
    await cancel_and_wait(copying)
    if not copying.cancelled():
        copying.result()
