"""`foresail approve|deny`: a person's answer to what waits, by an identity that may publish nothing else."""

from __future__ import annotations

import argparse
import asyncio
import uuid
from contextlib import aclosing, suppress
from pathlib import Path

from rich.table import Table

from bus.clock import SystemClock
from bus.errors import InputError
from bus.events import read_events
from bus.exit_codes import ExitCode, verdict
from bus.follow import Publisher
from bus.port import Bus
from foresail import control
from foresail.control import check_running
from foresail.flags import seconds
from foresail.log_source import connect
from foresail.near import remedy_for
from foresail.output import console, print_json
from foresail.remote import remote_of
from foresail.stack.state_folder import StackFile, StateFolder
from foresail.waiting import read_waiting
from projections.figures import duration
from projections.waiting import Waiting, WaitingAction
from schemas import subjects
from schemas.approval import Answer, ControlApproval
from schemas.envelope import NewEvent
from schemas.identity import Origin
from schemas.outcome import ExecutionPhase, OutcomeExecution
from schemas.reasons import Reason

APPROVER = "approver"
"""The identity; it may publish nothing but answers."""


def add_arguments(parser: argparse.ArgumentParser, *, required: bool) -> None:
    """Add the arguments of both verbs."""
    parser.add_argument(
        "decision",
        nargs=None if required else "?",
        metavar="DECISION",
        help="which: a cycle (17), a part of its decision (17.1), or the decision's id",
    )
    parser.add_argument(
        "--wait",
        type=seconds,
        default=60.0,
        metavar="DURATION",
        help="how long to wait for what comes of it; 0: not at all (default: 60s)",
    )
    control.add_arguments(parser)


async def list_waiting(arguments: argparse.Namespace) -> ExitCode:
    """Print what waits."""
    state = StateFolder(Path(arguments.state))
    stack = remote_of(arguments) or state.read()
    async with connect(stack, state) as bus:
        waiting = await read_waiting(bus, stack.cluster)
    if arguments.json:
        print_json({"waiting": [_as_json(one, waiting.now_seconds) for one in waiting.actions]})
    elif not waiting.actions:
        console().print("nothing waits for an approval")
    else:
        _print_table(waiting)
    return ExitCode.GOOD


async def answer(arguments: argparse.Namespace, said: Answer) -> ExitCode:
    """Publish an answer and print what came of it.

    Raises:
        InputError: no stack runs, or nothing of that name waits.
    """
    state = StateFolder(Path(arguments.state))
    stack = remote_of(arguments) or state.read()
    check_running(stack, arguments.state)
    async with connect(stack, state, APPROVER) as bus:
        waiting = await read_waiting(bus, stack.cluster)
        wanted = _named(arguments.decision, waiting)
        before = (await bus.info()).last_seq
        for one in wanted:
            await _say(bus, stack, one, said, arguments.reason)
        ends: dict[str, OutcomeExecution] = {}
        with suppress(TimeoutError):
            async with asyncio.timeout(arguments.wait):
                await _collect(bus, stack.cluster, before + 1, {one.name for one in wanted}, ends)
    return _print_ends(wanted, ends, said, arguments)


def _named(decision: str, waiting: Waiting) -> tuple[WaitingAction, ...]:
    open_ones = [
        one
        for one in waiting.actions
        if one.answer is None and waiting.now_seconds < one.expires_seconds
    ]
    found = tuple(
        one
        for one in open_ones
        if decision in {str(one.cycle), f"{one.cycle}.{one.part}", one.decision_id}
    )
    if not found:
        names = [one.name for one in open_ones]
        near = remedy_for(decision, names) if names else "nor does anything else"
        raise InputError("DECISION", decision, f"nothing of it waits for an approval; {near}")
    return found


async def _say(bus: Bus, stack: StackFile, one: WaitingAction, said: Answer, text: str) -> None:
    wall_seconds = SystemClock().wall_ns() / 1e9
    data = ControlApproval(
        answer=said,
        request_id=one.request_id,
        cycle=one.cycle,
        part=one.part,
        nonce=uuid.uuid4().hex,
        wall_time_seconds=wall_seconds,
        text=text,
    )
    publisher = Publisher(bus, Origin(stack.cluster, stack.incarnation), APPROVER)
    await publisher.publish([NewEvent(data, one.cycle, wall_seconds, (one.request_id,))])


async def _collect(
    bus: Bus, cluster: str, start_seq: int, names: set[str], ends: dict[str, OutcomeExecution]
) -> None:
    """Fill in how each named action ended, by what is said from a position in the log on."""
    pattern = subjects.build(cluster, OutcomeExecution.PATTERN)
    async with aclosing(bus.read([pattern], start_seq=start_seq)) as messages:
        async for entry in read_events(messages):
            data = None if entry.event is None else entry.event.data
            if not isinstance(data, OutcomeExecution) or data.rollback_of:
                continue
            name = f"{data.cycle}.{data.part}" if data.part else str(data.cycle)
            if name in names and data.phase is not ExecutionPhase.STARTED:
                ends[name] = data
            if len(ends) == len(names):
                return


def _print_ends(
    wanted: tuple[WaitingAction, ...],
    ends: dict[str, OutcomeExecution],
    said: Answer,
    arguments: argparse.Namespace,
) -> ExitCode:
    good = [one.name for one in wanted if _is_good(ends.get(one.name), said)]
    rows = [_row(one, ends.get(one.name)) for one in wanted]
    if arguments.json:
        print_json({"answer": said, "results": rows})
    else:
        for row in rows:
            reason = f" ({row['reason']})" if row["reason"] else ""
            console().print(f"{row['name']} {row['status']}{reason}: {row['text']}", markup=False)
    return verdict(differs=len(good) < len(wanted))


def _is_good(end: OutcomeExecution | None, said: Answer) -> bool:
    if end is None:
        return False
    return bool(end.succeeded) if said is Answer.APPROVE else end.reason is Reason.APPROVAL_DENIED


def _row(one: WaitingAction, end: OutcomeExecution | None) -> dict[str, str]:
    if end is None:
        return {"name": one.name, "status": "waiting", "reason": "", "text": one.text}
    done = end.phase is ExecutionPhase.FINISHED
    status = ("done" if end.succeeded else "failed") if done else "refused"
    return {"name": one.name, "status": status, "reason": str(end.reason or ""), "text": end.text}


def _print_table(waiting: Waiting) -> None:
    table = Table(box=None)
    for column in ("decision", "waits (cluster time)", "expires in", "what", "expected"):
        table.add_column(column)
    for one in waiting.actions:
        age = duration(max(0.0, waiting.now_seconds - one.since_seconds))
        left_seconds = one.expires_seconds - waiting.now_seconds
        left = duration(left_seconds) if left_seconds > 0.0 else "over"
        left = left if one.answer is None else f"answered: {one.answer}"
        table.add_row(one.name, age, left, one.text, one.expected_text() or "-")
    console().print(table)


def _as_json(one: WaitingAction, now_seconds: float) -> dict[str, object]:
    return {
        "name": one.name,
        "decision_id": one.decision_id,
        "request_id": one.request_id,
        "text": one.text,
        "age_seconds": round(max(0.0, now_seconds - one.since_seconds), 3),
        "expires_in_seconds": round(one.expires_seconds - now_seconds, 3),
        "answer": None if one.answer is None else str(one.answer),
        "expected": one.expected_text(),
    }
