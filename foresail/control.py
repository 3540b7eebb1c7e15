"""`foresail kill|pause|resume|rearm`: what the operator says to a running stack.

The command is a stored event, so it is part of the log; the executor checks it before each single
operation.
"""

from __future__ import annotations

import argparse
import uuid
from pathlib import Path

from bus.clock import SystemClock
from bus.errors import InputError
from bus.exit_codes import ExitCode
from bus.follow import Publisher
from foresail.log_source import connect
from foresail.output import console, print_json
from foresail.remote import add_remote, remote_of
from foresail.stack.state_folder import StateFolder
from schemas.control import Command, Control
from schemas.envelope import NewEvent
from schemas.identity import Origin

SAID = {
    Command.KILL: "kill switch on: nothing is executed until `foresail resume`",
    Command.PAUSE: "paused: no new execution starts until `foresail resume`",
    Command.RESUME: "resumed",
    Command.REARM: "rearmed: tripped breakers close with the next observation",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this verb's arguments."""
    parser.add_argument(
        "--state",
        default=".foresail",
        metavar="FOLDER",
        help="state folder of the stack (default: %(default)s)",
    )
    parser.add_argument(
        "--reason",
        default="",
        metavar="TEXT",
        help="why; stored with the event and shown by `foresail status`",
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    add_remote(parser)


async def run(arguments: argparse.Namespace) -> ExitCode:
    """Publish one control event.

    Raises:
        InputError: no stack runs in the state folder.
    """
    command = Command(arguments.verb)
    state = StateFolder(Path(arguments.state))
    stack = remote_of(arguments) or state.read()
    if not stack.running:
        raise InputError(
            "--state", arguments.state, "no stack runs there; start one with `foresail up`"
        )
    wall_seconds = SystemClock().wall_ns() / 1e9
    async with connect(stack, state, "operator") as bus:
        publisher = Publisher(bus, Origin(stack.cluster, stack.incarnation), "operator")
        control = Control(
            command=command,
            value=getattr(arguments, "unit", ""),
            nonce=uuid.uuid4().hex,
            wall_time_seconds=wall_seconds,
            text=arguments.reason,
        )
        events = await publisher.publish([NewEvent(control, 0, wall_seconds)])
    if arguments.json:
        print_json({"command": command, "id": events[0].id, "subject": events[0].subject})
    else:
        console().print(SAID[command])
    return ExitCode.GOOD
