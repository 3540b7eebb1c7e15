"""`foresail kill|pause|resume|rearm|undo`: what the operator says to a running stack.

The command is a stored event, so it is part of the log; the executor checks it before each single
operation.
"""

from __future__ import annotations

import argparse
import uuid
from pathlib import Path
from typing import Any

from bus.errors import InputError
from bus.exit_codes import ExitCode
from bus.port import Bus
from foresail.log_source import connect
from foresail.output import console, print_json
from foresail.remote import add_remote, remote_of
from foresail.stack.operator_command import publish_command
from foresail.stack.state_folder import StackFile, StateFolder
from schemas.control import Command
from schemas.envelope import Event
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
    check_running(stack, arguments.state)
    async with connect(stack, state, "operator") as bus:
        origin = Origin(stack.cluster, stack.incarnation)
        value = getattr(arguments, "unit", "")
        event = await say(bus, origin, command, value, arguments.reason)
    if arguments.json:
        print_json({"command": command, "id": event.id, "subject": event.subject})
    else:
        console().print(SAID[command])
    return ExitCode.GOOD


def check_running(stack: StackFile, folder: str) -> None:
    """Refuse a command to a stack that is over.

    Raises:
        InputError: nobody would hear it.
    """
    if not stack.running:
        raise InputError("--state", folder, "no stack runs there; start one with `foresail up`")


async def say(bus: Bus, origin: Origin, command: Command, value: str, reason: str) -> Event[Any]:
    """Publish one command as the operator; saying it twice is two commands."""
    return await publish_command(bus, origin, command, value, reason, nonce=uuid.uuid4().hex)
