"""`foresail explain DECISION|last|TIME`: one screen on one decision; `foresail explain
pod|workload|hpa|node NAME`: one on an object of the cluster.

What was done and why in numbers, who lost to which rule, what was predicted from which signals, what
was missing, what guard rails said, what was executed and verified, and what it was worth. Reads the
running stack, the last stack's log, or a recording.
"""

from __future__ import annotations

import argparse
import math
import re
from contextlib import aclosing
from datetime import UTC, datetime
from pathlib import Path

from bus.errors import InputError
from bus.events import cycle_of_message, read_events
from bus.exit_codes import ExitCode
from bus.port import StoredMessage
from foresail.explain_object import explain_object
from foresail.explanation import screen
from foresail.explanation.object_screen import object_screen
from foresail.flags import seconds
from foresail.known_names import check_cycle
from foresail.log_source import Source, add_source, open_source, reading_verdict
from foresail.output import page, print_json
from foresail.progress import reading_source
from foresail.remote import remote_of
from foresail.verbs import Verb
from inputs.close_matches import remedy_for
from projections.cycle_record import CYCLE_SUBJECTS, CycleRecord
from projections.foresight.action import action_json
from projections.foresight.log import KEPT_SECONDS, READS, ForesightLog, Settled, rests_on_forecast
from projections.foresight.rise import rise_json
from projections.objects.names import ObjectKind
from schemas import subjects
from schemas.capacity import PredictionCapacity
from schemas.decision import Decision
from schemas.envelope import attributes_of, rfc3339
from schemas.promotion import OutcomeModels
from schemas.score import OutcomeCounterfactual

VERB = Verb(50, "explain one decision, or why a pod, workload, HPA or node is where it is")
EXAMPLES = (
    ("explain last", "the newest decision"),
    ("explain 123 --recording run.fslog", "the decision of cycle 123"),
    ("explain pod web-1", "why this pod is where it is, or still pending"),
    ("explain hpa shop/web", "why this HPA did or did not scale"),
)

LAST = "last"
SETTLING_CYCLES = 30
"""Cycles after a decision of which is read what acting had changed by then."""
_CLOCK = re.compile(r"([01]\d|2[0-3]):([0-5]\d)(:[0-5]\d)?")
_AGO = re.compile(r"[0-9.]+(ms|s|m|h)")
_SINCE_FIRST = re.compile(r"\+([0-9.]+(ms|s|m|h))")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this verb's arguments."""
    parser.add_argument(
        "decision",
        metavar="DECISION|last|TIME|KIND",
        nargs="?",
        default=LAST,
        help="which decision: a cycle number, a decision id, `last` (the default), a cluster time (00:15:30 or "
        "2026-01-01T00:15:30Z), or cluster time before the last decision (5m) or after the first (+5m); "
        "or, before a NAME, what it is: pod, workload, hpa or node",
    )
    parser.add_argument(
        "name",
        metavar="NAME",
        nargs="?",
        help="the object's name, with its namespace (and a workload's kind) where several have it",
    )
    add_source(parser)


async def run(arguments: argparse.Namespace) -> ExitCode:
    """Explain one decision.

    Raises:
        InputError: there is no such decision.
    """
    if arguments.name is not None or arguments.decision in set(ObjectKind):
        return await _run_object(arguments)
    async with open_source(
        arguments.recording, Path(arguments.state), remote_of(arguments)
    ) as source:
        async with reading_source(source, "reading the log"):
            cycle = await find_cycle(source, arguments.decision)
            record = await read_record(source, cycle)
            foresight = await read_foresight(source, record)
        if record.decision is None:
            await check_cycle(source, cycle, "DECISION")
    if record.decision is None:
        raise _unknown(arguments.decision)
    if arguments.json:
        rests = [
            action_json(one.rise.actions[place], one.outcome.came[place])
            | rise_json(one.rise, one.outcome)
            for one in foresight
            for place in one.rise.places(record.cycle)
        ]
        print_json({**record.as_json(), "foresight": rests})
    else:
        file = "" if arguments.recording is None else arguments.recording
        page().print(screen(record, recording=file, foresight=foresight))
    return reading_verdict(source, partial=arguments.partial)


async def _run_object(arguments: argparse.Namespace) -> ExitCode:
    """Explain one object of the cluster."""
    if arguments.decision not in set(ObjectKind):
        raise InputError(
            "KIND", arguments.decision, remedy_for(arguments.decision, list(ObjectKind))
        )
    kind = ObjectKind(arguments.decision)
    if arguments.name is None:
        raise InputError(
            "NAME", "(not given)", f"name the {kind}, as in `foresail explain {kind} web`"
        )
    async with (
        open_source(arguments.recording, Path(arguments.state), remote_of(arguments)) as source,
        reading_source(source, "reading the log"),
    ):
        answer = await explain_object(source, kind, arguments.name)
    if arguments.json:
        print_json(answer.model_dump(mode="json"))
    else:
        page().print(object_screen(answer, recording=arguments.recording or ""))
    return reading_verdict(source, partial=arguments.partial)


async def read_record(source: Source, cycle: int) -> CycleRecord:
    """Read everything that a log holds about one cycle."""
    record = CycleRecord(cycle)
    messages = source.messages(CYCLE_SUBJECTS, start_seq=await source.start_of_cycle(cycle))
    later = subjects.pattern("*", OutcomeCounterfactual.PATTERN)

    def belongs(message: StoredMessage) -> bool:
        of_cycle = cycle_of_message(message)
        settles = 0 < of_cycle - cycle <= SETTLING_CYCLES
        return of_cycle == cycle or (settles and subjects.matches(later, message.subject))

    async for entry in read_events(messages, selects=belongs):
        event = entry.event
        record = record.after_unreadable(entry.seq) if event is None else record.after(event)
    return await _with_standing(source, record)


async def _with_standing(source: Source, record: CycleRecord) -> CycleRecord:
    """Return the record with the newest of before it of what is said seldom: the judgement by which its risk was
    predicted, and what replicas bear.
    """
    before = 0 if record.observation is None else record.observation.seq
    seldom = tuple(".".join(kind.PATTERN) for kind in (OutcomeModels, PredictionCapacity))
    own = record.capacity
    async for entry in read_events(source.messages(seldom)):
        if entry.seq >= before:
            break
        if entry.event is not None:
            record = record.after(entry.event)
    return record if own is None else record.after(own)


async def read_foresight(source: Source, record: CycleRecord) -> list[Settled]:
    """Return the foreseen rises that the decision's actions answer, as far as the log goes."""
    observation, cycle = record.observation, record.cycle
    if observation is None or not any(rests_on_forecast(event.data) for event in record.proposals):
        return []
    before = math.ceil(KEPT_SECONDS / observation.data.interval_seconds)
    start = await source.start_of_cycle(max(1, cycle - before))
    log = ForesightLog()
    async with aclosing(read_events(source.messages(READS, start_seq=start))) as entries:
        async for entry in entries:
            log = log if entry.event is None else log.after(entry.event)
            if log.seen_cycle > cycle and not any(rise.places(cycle) for rise in log.open):
                break
    return [one for one in log.outcomes() if one.rise.places(cycle)]


async def find_cycle(source: Source, text: str) -> int:
    """Return the cycle of the decision that is meant.

    Raises:
        InputError: there is none.
    """
    if text.isdigit():
        return int(text)
    if text == LAST:
        newest = await source.newest(Decision.PATTERN[0])
        if newest is None:
            raise InputError("DECISION", text, "there is no decision yet")
        return cycle_of_message(newest)
    times: list[tuple[str, int]] = []
    async for message in source.messages(Decision.PATTERN):
        attributes = attributes_of(message.headers)
        cycle = cycle_of_message(message)
        if attributes.get("id") == text:
            return cycle
        times.append((attributes.get("time", ""), cycle))
    if not times:
        raise InputError("DECISION", text, "there is no decision yet")
    moment = _moment(text, times[0][0], times[-1][0])
    before = [cycle for time, cycle in times if time <= moment]
    if not before:
        raise InputError(
            "TIME", text, f"the first decision is of {times[0][0]}; +5m is five minutes after it"
        )
    return before[-1]


def _moment(text: str, first: str, newest: str) -> str:
    """Return the cluster time that is meant, as events state it.

    A time of day is that of the newest decision's day, or of the day before where the log reaches
    back and that day's has not come yet.
    """
    last = datetime.fromisoformat(newest).timestamp()
    if (later := _SINCE_FIRST.fullmatch(text)) is not None:
        return rfc3339(datetime.fromisoformat(first).timestamp() + seconds(later[1]))
    if _AGO.fullmatch(text):
        return rfc3339(last - seconds(text))
    if _CLOCK.fullmatch(text):
        clock = datetime.fromisoformat(f"{newest[:10]}T{text}+00:00").timestamp()
        day_before = rfc3339(clock - 86_400.0)
        return day_before if clock > last and day_before >= first else rfc3339(clock)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise _unknown(text) from None
    moment = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    return rfc3339(moment.timestamp())


def _unknown(text: str) -> InputError:
    return InputError(
        "DECISION",
        text,
        "there is no such decision; give a cycle number, an id, `last`, a cluster time such as "
        "00:15:30, how long before the last one, such as 5m, or after the first one, such as +5m",
    )
