"""`foresail recording record FILE` and `foresail recording info FILE`.

`record` writes the running stack's whole log, then follows it until interrupted or for a time.
`info` proves a recording and says what it holds.
"""

from __future__ import annotations

import argparse
import asyncio
import signal
from collections import Counter
from contextlib import aclosing, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.table import Table

from bus.errors import InputError
from bus.port import Bus
from bus.recording import RecordingWriter, open_recording
from foresail.audit import audit
from foresail.flags import seconds
from foresail.log_source import connected
from foresail.output import console, print_json
from foresail.stack.preflight import check_writable
from foresail.stack.state_folder import StateFolder
from schemas import subjects
from schemas.checkpoint import Checkpoint
from schemas.config import CODE_VERSION
from schemas.envelope import attributes_of

DAMAGED = 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this verb's arguments."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    record = actions.add_parser("record", help="write the running stack's log to a file")
    record.add_argument("file", metavar="FILE")
    record.add_argument(
        "--for", dest="for_seconds", type=seconds, metavar="DURATION", help="stop after so long"
    )
    record.add_argument("--no-follow", action="store_true", help="stop at the newest event")
    record.add_argument(
        "--state", default=".foresail", metavar="FOLDER", help="the stack's state folder"
    )
    record.add_argument("--json", action="store_true", help="print JSON")
    info = actions.add_parser("info", help="prove a recording and say what it holds")
    info.add_argument("file", metavar="FILE")
    info.add_argument("--json", action="store_true", help="print JSON")


async def run(arguments: argparse.Namespace) -> int:
    """Record, or describe."""
    if arguments.action == "info":
        return _info(Path(arguments.file), as_json=arguments.json)
    return await _record(arguments)


async def _record(arguments: argparse.Namespace) -> int:
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


def _info(path: Path, *, as_json: bool) -> int:
    if not path.is_file():
        raise InputError("FILE", path, "give a recording that exists")
    described = describe(path)
    if as_json:
        print_json(described)
    else:
        _print(described)
    return 0 if described["sealed"] and not described["audit"]["problems"] else DAMAGED


def describe(path: Path) -> dict[str, Any]:
    """Read a whole recording and return what it holds as JSON values."""
    recording = open_recording(path)
    types: Counter[str] = Counter()
    first = last = None
    found = audit(recording)
    for message in recording:
        types[attributes_of(message.headers).get("type", "not an event")] += 1
        first = first or message
        last = message
    return {
        "file": path.name,
        "bytes": path.stat().st_size,
        "header": recording.header,
        "sealed": recording.sealed,
        "damage": recording.damage,
        "messages": types.total(),
        "first_seq": first.seq if first else None,
        "last_seq": last.seq if last else None,
        "seconds": round((last.time_ns - first.time_ns) / 1e9, 3) if first and last else 0.0,
        "types": dict(sorted(types.items())),
        "audit": asdict(found),
    }


def _print(described: dict[str, Any]) -> None:
    out = console()
    header = described["header"]
    state = "sealed" if described["sealed"] else f"[red]{described['damage']}[/red]"
    out.print(
        f"[bold]{described['file']}[/bold]  {header['cluster']}/{header['incarnation']}, "
        f"version {header['version']}, {state}"
    )
    out.print(
        f"{described['messages']} messages, seq {described['first_seq']} to {described['last_seq']}, "
        f"{described['seconds']:g} s of recorded time, {described['bytes'] / 1e6:.2f} MB"
    )
    table = Table(box=None)
    table.add_column("type")
    table.add_column("events", justify="right")
    for name, count in described["types"].items():
        table.add_row(name, str(count))
    out.print(table)
    checked = described["audit"]
    out.print(
        f"{checked['complete_chains']} of {checked['decisions']} decisions have complete causes; proposals "
        + ", ".join(f"{count} {name}" for name, count in checked["proposals"].items())
    )
    for problem in checked["problems"]:
        out.print(f"[red]{problem}[/red]")
