"""`foresail tap [LAYER|SUBJECT]`: print stored events as they come, or from a point in the past.

`foresail tap decision`, `foresail tap outcome.reward --json`, `foresail tap '>' --since 50`.
"""

from __future__ import annotations

import argparse
import json
from contextlib import aclosing
from pathlib import Path
from typing import Any

from bus.errors import InputError
from bus.port import Messages, StoredMessage
from foresail.log_source import connected
from foresail.output import console, print_json
from foresail.stack.live_view import decision_line, execution_text
from foresail.stack.state_folder import StateFolder
from schemas import subjects
from schemas.decision import Decision
from schemas.envelope import Event, attributes_of
from schemas.observation import Observation
from schemas.outcome import OutcomeExecution, OutcomeReward
from schemas.proposal import Proposal
from schemas.reaction import Reaction
from schemas.registry import UnknownEvent, decode


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this verb's arguments."""
    parser.add_argument(
        "subject",
        nargs="?",
        default=">",
        help="a layer or subject after foresail.<cluster>. (* and > work)",
    )
    parser.add_argument(
        "--since", type=int, metavar="N", help="begin N stored messages back instead of now"
    )
    parser.add_argument("--limit", type=int, metavar="N", help="stop after N events")
    parser.add_argument("--no-follow", action="store_true", help="stop at the newest event")
    parser.add_argument(
        "--json", action="store_true", help="print each event as one JSON line, headers included"
    )
    parser.add_argument(
        "--state", default=".foresail", metavar="FOLDER", help="the stack's state folder"
    )


async def run(arguments: argparse.Namespace) -> int:
    """Print events until interrupted, until the limit, or, of a stack that is over, until the log's
    end.
    """
    state = StateFolder(Path(arguments.state))
    stack = state.read()
    if not stack.running and arguments.since is None:
        raise InputError(
            "--since", "(not given)", "no stack runs; name how many stored events to print"
        )
    pattern = tap_pattern(stack.cluster, arguments.subject)
    async with connected(stack, state) as bus:
        last = (await bus.info()).last_seq
        start = last + 1 if arguments.since is None else max(1, last - arguments.since + 1)
        messages = (
            bus.read([pattern], start_seq=start)
            if stack.running and not arguments.no_follow
            else bus.history([pattern], start_seq=start)
        )
        await _print(messages, arguments.limit, as_json=arguments.json)
    return 0


def tap_pattern(cluster: str, given: str) -> str:
    """Return the subject pattern for what the user named: a layer means everything below it.

    Raises:
        InputError: it cannot be a subject.
    """
    tokens = given.removeprefix(f"{subjects.ROOT}.{cluster}.").split(".")
    if not all(tokens):
        raise InputError(
            "SUBJECT", given, "name a layer such as `decision` or a subject such as `outcome.*`"
        )
    below = {"snapshot", "prediction", "proposal", "outcome", "config", "run", "checkpoint"}
    if len(tokens) == 1 and tokens[0] in below:
        tokens.append(">")
    return subjects.pattern(cluster, tokens)


async def _print(messages: Messages, limit: int | None, *, as_json: bool) -> None:
    printed = 0
    async with aclosing(messages) as stream:
        async for message in stream:
            if as_json:
                print_json(event_json(message))
            else:
                console().print(event_line(message), markup=False)
            printed += 1
            if limit is not None and printed >= limit:
                return


def event_json(message: StoredMessage) -> dict[str, Any]:
    """Return one message as JSON values: seq, recorded time, subject, attributes, data."""
    return {
        "seq": message.seq,
        "recorded_ns": message.time_ns,
        "subject": message.subject,
        "attributes": attributes_of(message.headers),
        "data": json.loads(message.data),
    }


def event_line(message: StoredMessage) -> str:
    """Return one message as one line."""
    try:
        event = decode(message.subject, message.headers, message.data, seq=message.seq)
    except UnknownEvent as error:
        return f"{message.seq:>7}  {message.subject}  not an event: {error}"
    tail = ".".join(subjects.parse(message.subject).tokens)
    return f"{message.seq:>7}  {event.time[11:19]}  {tail:<22}  {_gist(event)}"


def _gist(event: Event[Any]) -> str:
    match event.data:
        case Decision() as decision:
            return decision_line(decision)
        case Proposal() as proposal:
            return f"{proposal.action.kind} {proposal.action.target.name} {proposal.score:.2f}: {proposal.text}"
        case OutcomeExecution() as execution:
            return f"{execution.phase}: {execution_text(execution)} {execution.text}"
        case OutcomeReward() as reward:
            seen = "not observed" if reward.observed is None else f"{reward.observed.total:+.2f}"
            return f"cycle {reward.cycle}: {seen}, predicted {reward.predicted.total:+.2f}"
        case Observation() as observation:
            totals = observation.totals
            return (
                f"{totals.nodes} nodes, {totals.pods_running} running, queue {totals.queue_length}"
            )
        case Reaction() as reaction:
            return "; ".join(item.text for item in reaction.reactions[:4]) or "none"
        case data:
            text = data.model_dump_json()
            return text if len(text) <= 160 else f"{text[:157]}..."
