"""`foresail kill|pause|resume|rearm|undo`: what the operator says to a running stack.

The command is a stored event, so it is part of the log; the executor checks it before each single
operation.
"""

from __future__ import annotations

import argparse
import asyncio
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bus.errors import ForesailError, InputError
from bus.exit_codes import ExitCode, verdict
from bus.port import Bus
from foresail.chosen_cluster import folders_of
from foresail.log_source import connect
from foresail.output import console, print_error, print_json
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


def add_all_clusters(parser: argparse.ArgumentParser, text: str) -> None:
    """Add what names every cluster of a stack that serves several."""
    parser.add_argument("--all-clusters", action="store_true", help=text)


async def run(arguments: argparse.Namespace) -> ExitCode:
    """Publish one control event, to each cluster where every one is meant.

    Raises:
        InputError: no stack runs in the state folder.
    """
    remote, path = remote_of(arguments), Path(arguments.state)
    if remote is not None:
        return _print_said(arguments, await _tell(arguments, remote, StateFolder(path)))
    every = getattr(arguments, "all_clusters", False)
    if every and arguments.cluster is not None:
        raise InputError("--cluster", arguments.cluster, "leave it out beside --all-clusters")
    places = folders_of(path, arguments.cluster)
    if places[0][0]:
        return await _tell_several(arguments, places)
    state = StateFolder(places[0][1])
    return _print_said(arguments, await _tell(arguments, state.read(), state))


async def _tell(arguments: argparse.Namespace, stack: StackFile, state: StateFolder) -> Event[Any]:
    """Publish the command to one cluster.

    Raises:
        InputError: no stack runs there.
    """
    check_running(stack, str(state.path))
    async with connect(stack, state, "operator") as bus:
        origin = Origin(stack.cluster, stack.incarnation)
        value = getattr(arguments, "unit", "")
        return await say(bus, origin, Command(arguments.verb), value, arguments.reason)


def _print_said(arguments: argparse.Namespace, event: Event[Any]) -> ExitCode:
    command = Command(arguments.verb)
    if arguments.json:
        print_json({"command": command, "id": event.id, "subject": event.subject})
    else:
        console().print(SAID[command])
    return ExitCode.GOOD


async def _tell_several(
    arguments: argparse.Namespace, places: Sequence[tuple[str, Path]]
) -> ExitCode:
    """Publish the command to every cluster, all at once: one that cannot be told does not keep it from the others.

    Raises:
        InputError: none of them runs.
    """
    command = Command(arguments.verb)
    states = {name: StateFolder(path) for name, path in places}
    running = {name: state for name, state in states.items() if state.read().running}
    if not running:
        check_running(states[places[0][0]].read(), arguments.state)
    told = await asyncio.gather(
        *(_tell(arguments, state.read(), state) for state in running.values()),
        return_exceptions=True,
    )
    answers: dict[str, Any] = {}
    for name, answer in zip(running, told, strict=True):
        if isinstance(answer, Event):
            answers[name] = {"id": answer.id, "subject": answer.subject}
        elif isinstance(answer, ForesailError):
            answers[name] = {"error": str(answer)}
            print_error(f"{name} was not told: {answer}")
        else:
            raise answer
        if not arguments.json and "id" in answers[name]:
            console().print(f"{name}: {SAID[command]}", markup=False)
    if arguments.json:
        print_json({"command": command, "clusters": answers})
    return verdict(differs=any("error" in answer for answer in answers.values()))


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
