"""`foresail recording record FILE`: write a stack's log, then follow it until interrupted or for a
time.
"""

from __future__ import annotations

import argparse
import asyncio
import signal
from contextlib import aclosing, suppress
from pathlib import Path

from bus.port import Bus
from bus.recording import RecordingWriter
from foresail.flags import seconds
from foresail.log_source import connected
from foresail.output import console, print_json
from foresail.stack.preflight import check_writable
from foresail.stack.state_folder import StateFolder
from schemas import subjects
from schemas.checkpoint import Checkpoint
from schemas.config import CODE_VERSION


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this action's arguments."""
    parser.add_argument("file", metavar="FILE")
    parser.add_argument(
        "--for", dest="for_seconds", type=seconds, metavar="DURATION", help="stop after so long"
    )
    parser.add_argument("--no-follow", action="store_true", help="stop at the newest event")
    parser.add_argument(
        "--state", default=".foresail", metavar="FOLDER", help="the stack's state folder"
    )


async def run(arguments: argparse.Namespace) -> int:
    """Record."""
    path = Path(arguments.file)
    check_writable("FILE", path)
    state = StateFolder(Path(arguments.state))
    stack = state.read()
    async with connected(stack, state, "recorder") as bus:
        header = {
            "cluster": stack.cluster,
            "incarnation": stack.incarnation,
            "code_version": CODE_VERSION,
        }
        writer = RecordingWriter(path, header)
        follow = stack.running and not arguments.no_follow
        try:
            count = await _copy(bus, stack.cluster, writer, arguments.for_seconds, follow=follow)
        finally:
            writer.seal()
    if arguments.json:
        print_json({"file": str(path), "messages": count})
    else:
        console().print(f"{count} messages in {path}")
    return 0


async def _copy(
    bus: Bus, cluster: str, writer: RecordingWriter, for_seconds: float | None, *, follow: bool
) -> int:
    """Copy the log from its oldest event; return how many messages were written."""
    info = await bus.info()
    pattern = subjects.pattern(cluster, (">",))
    count = await _write_checkpoints(bus, cluster, writer) if info.first_seq > 1 else 0
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)

    async def copy() -> None:
        nonlocal count
        messages = (
            bus.read([pattern], start_seq=info.first_seq) if follow else bus.history([pattern])
        )
        async with aclosing(messages) as stream:
            async for message in stream:
                writer.write(message)
                count += 1

    copying = asyncio.create_task(copy())
    stopping = asyncio.create_task(stop.wait())
    await asyncio.wait(
        {copying, stopping}, timeout=for_seconds, return_when=asyncio.FIRST_COMPLETED
    )
    for task in (copying, stopping):
        if not task.done():
            task.cancel()
        with suppress(asyncio.CancelledError):
            await task
    return count


async def _write_checkpoints(bus: Bus, cluster: str, writer: RecordingWriter) -> int:
    """Begin with the checkpoints that a fold of the rest needs: the log's beginning is gone."""
    processes = (
        "inference",
        "agent-safety",
        "agent-efficiency",
        "agent-admission",
        "referee",
        "executor",
        "scoreboard",
    )
    count = 0
    for process in processes:
        stored = await bus.last(subjects.build(cluster, (Checkpoint.PATTERN[0], process)))
        if stored is not None:
            writer.write(stored)
            count += 1
    return count
