"""`foresail undo DECISION|--all`: have the executor take back what it did and what still stands.

A command of the operator, as `foresail kill` is one; this one waits for what became of it.
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Collection, Sequence
from contextlib import aclosing, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.table import Table

from bus.errors import InputError
from bus.events import read_events
from bus.exit_codes import ExitCode, verdict
from bus.port import Bus
from foresail import control
from foresail.control import check_running, say
from foresail.flags import seconds
from foresail.log_source import connect
from foresail.output import console, print_json
from foresail.remote import remote_of
from foresail.stack.state_folder import StackFile, StateFolder
from foresail.status import read_operating_state
from foresail.verbs import Verb
from inputs.close_matches import remedy_for
from projections.standing_actions import StandingAction, StandingActions
from projections.times import cluster_time
from schemas import subjects
from schemas.control import EVERYTHING, Command
from schemas.identity import Origin
from schemas.outcome import ExecutionPhase, Mode, OutcomeExecution
from schemas.reasons import Reason
from schemas.wording import count_text

VERB = Verb(113, "take back what a decision did, or everything of ours that stands")
EXAMPLES = (
    ("undo --list", "what stands on the cluster because of us"),
    ("undo 17", "take back what cycle 17 did; 17.1 is the second part of its decision"),
    (
        "undo --all --reason 'maintenance'",
        "take back everything; `foresail pause` first keeps it so",
    ),
)
EXIT_CODES = {ExitCode.DIFFERS: "some of it could not be taken back, or not within `--wait`"}


@dataclass(frozen=True, slots=True)
class Result:
    """Outcome of one standing action."""

    name: str
    """The cycle, and the part unless it is the first."""
    status: str
    """`taken_back`, `gone` (nothing of it was left), `failed`, or `waiting` when the time was over."""
    reason: Reason | None
    text: str


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this verb's arguments."""
    parser.add_argument(
        "decision",
        nargs="?",
        metavar="DECISION",
        help="which: a cycle (17), a part of its decision (17.1), or the decision's id",
    )
    parser.add_argument("--all", action="store_true", help="everything of ours that stands")
    parser.add_argument(
        "--list", action="store_true", help="only print what stands; a stack that is over will do"
    )
    parser.add_argument(
        "--wait",
        type=seconds,
        default=60.0,
        metavar="DURATION",
        help="how long to wait for the executor's answers; 0: not at all (default: 60s)",
    )
    control.add_arguments(parser)


async def run(arguments: argparse.Namespace) -> ExitCode:
    """Publish the wish, and print what became of each action.

    Raises:
        InputError: no stack runs, nothing of that name stands, or the executor may not write now.
    """
    _check_arguments(arguments)
    state = StateFolder(Path(arguments.state))
    stack = remote_of(arguments) or state.read()
    if arguments.list:
        async with connect(stack, state) as bus:
            return _print_list((await read_standing(bus, stack.cluster)).actions, arguments)
    check_running(stack, arguments.state)
    async with connect(stack, state, "operator") as bus:
        return await undo(bus, stack, arguments)


def _check_arguments(arguments: argparse.Namespace) -> None:
    chosen = [arguments.decision is not None, arguments.all, arguments.list]
    if sum(chosen) != 1:
        given = " and ".join(
            word
            for word, is_given in zip((arguments.decision, "--all", "--list"), chosen, strict=True)
            if is_given
        )
        remedy = (
            "name one decision, such as 17, or give --all; `foresail undo --list` shows what stands"
        )
        raise InputError("DECISION", given or "(none)", remedy)


async def undo(bus: Bus, stack: StackFile, arguments: argparse.Namespace) -> ExitCode:
    """Ask for what the arguments name, wait, and print what became of it.

    Raises:
        InputError: nothing of that name stands, or the executor may not write now.
    """
    standing = await read_standing(bus, stack.cluster)
    wanted = standing.actions if arguments.all else _named(arguments.decision, standing.actions)
    if not wanted:
        return _print_results((), arguments)
    await _check_may_write(bus, stack)
    origin, before = Origin(stack.cluster, stack.incarnation), (await bus.info()).last_seq
    places = [EVERYTHING] if arguments.all else [f"{one.cycle}.{one.part}" for one in wanted]
    for place in places:
        await say(bus, origin, Command.UNDO, place, arguments.reason)
    results: dict[str, Result] = {}
    with suppress(TimeoutError):
        async with asyncio.timeout(arguments.wait):
            await _collect(bus, stack.cluster, before + 1, {one.name for one in wanted}, results)
    waiting = [
        Result(one.name, "waiting", None, one.text) for one in wanted if one.name not in results
    ]
    return _print_results((*results.values(), *waiting), arguments)


def _named(decision: str, standing: Sequence[StandingAction]) -> tuple[StandingAction, ...]:
    """Return the standing actions that a cycle, a part or a decision's id means.

    Raises:
        InputError: nothing of that name stands.
    """
    found = tuple(
        one
        for one in standing
        if decision in {str(one.cycle), f"{one.cycle}.{one.part}", one.decision_id}
    )
    if not found:
        names = [one.name for one in standing]
        near = remedy_for(decision, names) if names else "nor does anything else"
        raise InputError("DECISION", decision, f"nothing of it stands; {near}")
    return found


async def _check_may_write(bus: Bus, stack: StackFile) -> None:
    """Refuse while nothing would be taken back.

    Raises:
        InputError: the kill switch is on, or the executor is in shadow mode.
    """
    operating = await read_operating_state(bus, stack.cluster)
    if operating.killed:
        remedy = "nothing is written while it is on; `foresail resume`, or `foresail pause` after it, first"
        raise InputError("kill switch", "on", remedy)
    if operating.mode == Mode.SHADOW:
        raise InputError("mode", "shadow", "it takes nothing back before the mode is active again")


async def read_standing(bus: Bus, cluster: str) -> StandingActions:
    """Return what stands by the log as it is now."""
    standing = StandingActions()
    async for entry in read_events(
        bus.history([subjects.build(cluster, OutcomeExecution.PATTERN)])
    ):
        if entry.event is not None:
            standing = standing.after(entry.event)
    return standing


async def _collect(
    bus: Bus, cluster: str, start_seq: int, names: Collection[str], results: dict[str, Result]
) -> None:
    """Fill in what became of each named action, by what is said of it from a position in the log on."""
    pattern = subjects.build(cluster, OutcomeExecution.PATTERN)
    async with aclosing(bus.read([pattern], start_seq=start_seq)) as messages:
        async for entry in read_events(messages):
            if entry.event is None:
                continue
            data = entry.event.data
            name = f"{data.cycle}.{data.part}" if data.part else str(data.cycle)
            if data.rollback_of and name in names and data.phase is not ExecutionPhase.STARTED:
                results[name] = _result_of(name, data)
            if len(results) == len(names):
                return


def _result_of(name: str, data: OutcomeExecution) -> Result:
    if data.phase is ExecutionPhase.REFUSED:
        return Result(name, "gone", data.reason, data.text)
    status = "taken_back" if data.succeeded else "failed"
    return Result(name, status, data.reason, data.text)


def _print_results(results: Sequence[Result], arguments: argparse.Namespace) -> ExitCode:
    settled = sum(result.status in {"taken_back", "gone"} for result in results)
    if arguments.json:
        print_json({"command": Command.UNDO, "results": [asdict(result) for result in results]})
    elif not results:
        console().print("nothing stands: there is nothing to take back")
    else:
        _print_table(results)
        left = len(results) - settled
        text = f"{count_text(settled, 'action')} settled"
        console().print(f"{text}, {left} not yet or not at all" if left else text)
    return verdict(differs=settled < len(results))


def _print_table(results: Sequence[Result]) -> None:
    table = Table(box=None)
    for column in ("decision", "result", "what"):
        table.add_column(column)
    for result in results:
        table.add_row(result.name, result.status.replace("_", " "), result.text)
    console().print(table)


def _print_list(standing: Sequence[StandingAction], arguments: argparse.Namespace) -> ExitCode:
    if arguments.json:
        print_json({"standing": [_as_json(one) for one in standing]})
    elif not standing:
        console().print("nothing stands")
    else:
        table = Table(box=None)
        for column in ("decision", "since (cluster time)", "what", "not taken back because"):
            table.add_column(column)
        for one in standing:
            table.add_row(one.name, cluster_time(one.since_seconds), one.text, one.trouble)
        console().print(table)
    return ExitCode.GOOD


def _as_json(one: StandingAction) -> dict[str, Any]:
    return {
        "name": one.name,
        "decision_id": one.decision_id,
        "since_seconds": one.since_seconds,
        "objects": [
            {"resource": each.resource, "namespace": each.namespace, "name": each.name}
            for each in one.operations
            if each.undo
        ],
        "text": one.text,
        "trouble": one.trouble,
    }
