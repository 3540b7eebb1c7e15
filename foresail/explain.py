"""`foresail explain [DECISION|last]`: one screen on one decision.

Action, numbers against thresholds, losers and why, signals with their age, and what followed. Reads
the running stack, the last stack's log, or a recording.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from bus.errors import InputError
from bus.port import Messages
from foresail.log_source import open_source
from foresail.output import console, print_json
from foresail.story import Story, story_view
from schemas.decision import Decision
from schemas.envelope import attributes_of
from schemas.identity import cycle_of
from schemas.registry import decode

HELP = "explain one decision on one screen"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this verb's arguments."""
    parser.add_argument(
        "decision", nargs="?", default="last", help="cycle number, decision id, or `last`"
    )
    parser.add_argument(
        "--recording", metavar="FILE", help="read this recording instead of the stack"
    )
    parser.add_argument(
        "--state", default=".foresail", metavar="FOLDER", help="the stack's state folder"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


async def run(arguments: argparse.Namespace) -> int:
    """Print the story of one decision.

    Raises:
        InputError: there is no such decision.
    """
    async with open_source(arguments.recording, Path(arguments.state)) as source:
        cycle = await _find_cycle(source.messages(), arguments.decision)
        story = await _story(source.messages(), cycle)
    if story.decision is None:
        raise InputError(
            "DECISION", arguments.decision, "give a cycle that has a decision; `last` is the newest"
        )
    if arguments.json:
        print_json(story.as_json())
    else:
        console().print(story_view(story))
    return 0


async def _find_cycle(messages: Messages, wanted: str) -> int:
    if wanted.isdigit():
        return int(wanted)
    found: int | None = None
    async for message in messages:
        attributes = attributes_of(message.headers)
        if attributes.get("type") == Decision.TYPE and wanted in {"last", attributes["id"]}:
            found = cycle_of(attributes["correlationid"])
    if found is None:
        raise InputError(
            "DECISION", wanted, "there is no such decision; give a cycle number, an id or `last`"
        )
    return found


async def _story(messages: Messages, cycle: int) -> Story:
    story = Story(cycle)
    async for message in messages:
        correlation: Any = attributes_of(message.headers).get("correlationid", "/-1")
        if cycle_of(correlation) == cycle:
            story.add(
                decode(
                    message.subject,
                    message.headers,
                    message.data,
                    seq=message.seq,
                    recorded_ns=message.time_ns,
                )
            )
    return story
