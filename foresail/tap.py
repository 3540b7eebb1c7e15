"""`foresail tap [LAYER|SUBJECT]`: print stored events as they come, from a point in the past, or of
a recording.

`foresail tap decision`, `foresail tap proposal --agent A --since 5m --where 'score > 0.8'`,
`foresail tap prediction --node node-7 --recording run.fslog`.
"""

from __future__ import annotations

import argparse
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bus.errors import InputError
from bus.events import read_events
from bus.exit_codes import ExitCode
from bus.port import Messages, StoredMessage
from foresail.flags import add_partial, seconds
from foresail.known_names import check_agent, check_cycle, check_node
from foresail.log_source import Since, Source, open_source, reading_verdict
from foresail.output import console, print_json, print_note
from foresail.remote import add_remote, remote_of
from foresail.tap_filter import TapFilter, event_json, find_agent
from foresail.tap_rows import TableRebuilder, row_lines
from foresail.tap_subject import foreign_agent, kinds_on, tap_pattern
from foresail.verbs import Verb
from projections.event_condition import condition, full_data
from projections.event_text import HEADING, event_line
from schemas.envelope import Event
from schemas.frames import FramedData

VERB = Verb(20, "print events of the log: those stored so far, or as they arrive")
EXAMPLES = (
    ("tap decision", "decisions as they are made"),
    ("tap proposal --where 'score > 0.8' --since 5m", "strong proposals of the last 5 minutes"),
    (
        "tap prediction --recording run.fslog --cycle 12 --json",
        "one cycle of a recording, for scripts",
    ),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this verb's arguments."""
    parser.add_argument(
        "subject",
        metavar="LAYER",
        nargs="?",
        default=">",
        help="a layer, such as decision, or a NATS subject below foresail.<cluster>., wildcards * and > "
        "included (default: every event)",
    )
    parser.add_argument(
        "--agent", metavar="A", help="only events of this agent: its letter (A, B, C) or its name"
    )
    parser.add_argument("--node", metavar="N", help="only events that mention this node")
    parser.add_argument("--cycle", type=int, metavar="N", help="only events of this cycle")
    parser.add_argument(
        "--where",
        metavar="EXPRESSION",
        help="only events for which this holds, such as 'score > 0.8'",
    )
    parser.add_argument(
        "--since",
        type=since,
        metavar="DURATION|N",
        help="start this long ago (5m), or this many events ago (50)",
    )
    parser.add_argument(
        "--follow",
        "-f",
        action="store_true",
        help="keep printing events as they arrive (the default unless --since or --cycle names the past)",
    )
    parser.add_argument("--no-follow", action="store_true", help="stop at the newest stored event")
    parser.add_argument("--limit", type=int, metavar="N", help="stop after N events")
    parser.add_argument(
        "--json",
        action="store_true",
        help="print one JSON object per line and event, headers included",
    )
    parser.add_argument(
        "--raw",
        action="store_true",
        help="show tables as they are stored: of a delta only the rows that changed",
    )
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
    add_remote(parser)


def since(text: str) -> Since:
    """Read how far back to begin: `50` events, or `90s`, `5m`, `2h`.

    Raises:
        argparse.ArgumentTypeError: it is neither.
    """
    if text.isdigit():
        return Since(events=int(text))
    return Since(seconds=seconds(text))


async def run(arguments: argparse.Namespace) -> ExitCode:
    """Print events until the newest; with `--follow`, or without anything that names the past,
    until interrupted.
    """
    pattern = tap_pattern(arguments.subject)
    shown = _filter(arguments, pattern)
    async with open_source(
        arguments.recording, Path(arguments.state), remote_of(arguments)
    ) as source:
        if agent := foreign_agent(pattern):
            await check_agent(source, agent)
        named_past = arguments.since is not None or arguments.cycle is not None
        offline = arguments.recording is not None
        if not (source.running or offline or named_past):
            raise InputError(
                "--since", "(not given)", "no stack runs; say how far back to begin, e.g. 5m or 50"
            )
        follow = not arguments.no_follow and (arguments.follow or not named_past)
        goes_on = follow and source.running
        if goes_on and shown.node:
            await check_node(source, shown.node, now=True)
        start = await _start(source, arguments.since, named_past=named_past or offline)
        messages = source.messages((pattern,), start_seq=start, follow=follow)
        form, rebuilder = _form(arguments, pattern), TableRebuilder(source)
        printed = await _print(messages, shown, arguments.limit, form, rebuilder)
        if not printed and not goes_on and not source.damage:
            await _explain_silence(source, shown, arguments.subject)
    return reading_verdict(source, partial=arguments.partial)


async def _explain_silence(source: Source, shown: TapFilter, layer: str) -> None:
    """Say why nothing was printed.

    Raises:
        InputError: the node or the cycle that was asked for does not exist.
    """
    if shown.cycle is not None:
        await check_cycle(source, shown.cycle)
    if shown.node:
        await check_node(source, shown.node, now=False)
    print_note(f"no stored event matches (subject {layer}); nothing to show")


def _filter(arguments: argparse.Namespace, pattern: str) -> TapFilter:
    where = arguments.where
    return TapFilter(
        agent=None if arguments.agent is None else find_agent(arguments.agent),
        node=arguments.node or "",
        cycle=arguments.cycle,
        where=None if where is None else condition(where, kinds_on(pattern)),
    )


async def _start(source: Source, since: Since | None, *, named_past: bool) -> int:
    if since is not None:
        return await source.start_of(since)
    return 1 if named_past else await source.start_of(Since(events=0))


@dataclass(frozen=True)
class Form:
    """How events are printed."""

    json: bool
    raw: bool
    """Tables as they are stored: deltas stay deltas."""
    rows: bool
    """Every row of every table, below the event's line."""


def _form(arguments: argparse.Namespace, pattern: str) -> Form:
    """Return how to print; rows are shown where nothing but tables was asked for."""
    tables_only = all(issubclass(kind, FramedData) for kind in kinds_on(pattern))
    rows = tables_only and not (arguments.raw or arguments.json or arguments.node)
    return Form(arguments.json, arguments.raw, rows)


async def _print(
    messages: Messages, shown: TapFilter, limit: int | None, form: Form, rebuilder: TableRebuilder
) -> int:
    """Print what the filter takes, at most `limit` events; return how many were printed."""
    printed = 0
    needs_tables = form.json or form.rows or shown.node or shown.where is not None
    async with aclosing(read_events(messages, selects=shown.takes)) as entries:
        async for entry in entries:
            message, event = entry.message, entry.event
            if event is not None:
                if needs_tables and not form.raw:
                    await rebuilder.attach_tables(event)
                text = shown.text(event)
                if text is None:
                    continue
                _print_heading(printed, form)
                _print_event(message, event, text, form)
            elif form.json:
                print_json(event_json(message))
            else:
                line = f"{message.seq:>7}  {message.subject}  not an event: {entry.problem}"
                _print_heading(printed, form)
                console().print(line, markup=False)
            printed += 1
            if limit is not None and printed >= limit:
                return printed
    return printed


def _print_heading(printed: int, form: Form) -> None:
    """Name the columns, and the clock, above the first line."""
    if not printed and not form.json:
        console().print(HEADING, style="dim", markup=False)


def _print_event(message: StoredMessage, event: Event[Any], text: str, form: Form) -> None:
    if form.json:
        print_json(event_json(message, None if form.raw else full_data(event)))
        return
    out = console()
    out.print(event_line(event, text), markup=False)
    for line in row_lines(event) if form.rows else ():
        out.print(line, markup=False)
