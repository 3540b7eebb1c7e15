"""Reads a whole log and says everything in it that must never be there, whatever was killed, cut or
full while it was written.

`check` knows nothing of the processes that wrote the log: it holds stored messages against the
promises of the six layers, and names each broken one with its position. An empty answer means that
the log can be believed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from bus.events import read_entry
from bus.port import StoredMessage
from schemas.decision import Decision
from schemas.envelope import Event
from schemas.observation import Observation
from schemas.outcome import ExecutionPhase, OutcomeExecution
from schemas.proposal import Proposal
from schemas.registry import LAYERS
from schemas.subjects import parse

OPEN_CYCLES = 6
"""Newest cycles that may still be on their way when the log ends."""
IN_CYCLE_ORDER = frozenset(
    {"snapshot", "observation", "prediction", "proposal", "decision", "reaction"}
)
"""Layers whose subjects go through the cycles once, upwards."""


class LogDefect(StrEnum):
    """What can be wrong with a log."""

    UNREADABLE = "unreadable"
    HOLE = "hole"
    """A position is missing or out of order."""
    STORED_TWICE = "stored_twice"
    """Two messages have one id."""
    SAID_TWICE = "said_twice"
    """Two events, with different ids, of one producer, subject, cycle and key."""
    CYCLE_ORDER = "cycle_order"
    """A subject went back to an older cycle, or stayed."""
    CAUSE_MISSING = "cause_missing"
    CAUSE_LATER = "cause_later"
    UNDECIDED = "undecided"
    """An observed cycle has no decision."""
    PROPOSAL_LOST = "proposal_lost"
    """A proposal neither won nor lost, and no decision lists it as missing."""
    NOT_STARTED = "not_started"
    """An execution finished whose plan was not stored before, or both refused and started."""
    UNFINISHED = "unfinished"
    """A stored plan was neither completed nor abandoned."""
    UNANSWERED = "unanswered"
    """A decision was neither executed nor refused."""


@dataclass(frozen=True, slots=True)
class LogProblem:
    """One broken promise and where it is."""

    defect: LogDefect
    seq: int
    """Position in the log."""
    text: str

    def __str__(self) -> str:
        return f"seq {self.seq}: {self.defect}: {self.text}"


@dataclass
class LogCheck:
    """What a log holds, and what is wrong with it."""

    events: int = 0
    observed: int = 0
    decided: int = 0
    executed: int = 0
    """Executions that were started."""
    newest_cycle: int = 0
    problems: list[LogProblem] = field(default_factory=list)

    def first(self) -> str:
        """Return the first problem as one line; empty when there is none."""
        return str(self.problems[0]) if self.problems else ""


def check(
    messages: Iterable[StoredMessage], *, open_cycles: int = OPEN_CYCLES, holes: bool = False
) -> LogCheck:
    """Check a log from its first stored message to its last.

    Args:
        messages: every message, in the order of the log.
        open_cycles: how many of the newest cycles may still be without decision or outcome.
        holes: positions may be missing: the server lost the end of its store, and counts on from
            where it had been.
    """
    result = LogCheck()
    events: list[Event[Any]] = []
    result.problems += _read(messages, events)
    result.events = len(events)
    result.newest_cycle = max((event.cycle for event in events), default=0)
    settled = result.newest_cycle - open_cycles
    result.observed = sum(isinstance(event.data, Observation) for event in events)
    result.decided = sum(isinstance(event.data, Decision) for event in events)
    result.problems += _check_repeats(events)
    result.problems += _check_causes(events)
    result.problems += _check_cycles(events, settled)
    result.problems += _check_proposals(events, settled)
    executions = [event for event in events if isinstance(event.data, OutcomeExecution)]
    result.executed = sum(
        execution.data.phase is ExecutionPhase.STARTED for execution in executions
    )
    result.problems += _check_executions(events, executions, settled)
    if holes:
        result.problems = [
            problem for problem in result.problems if problem.defect is not LogDefect.HOLE
        ]
    result.problems.sort(key=lambda problem: problem.seq)
    return result


def _read(messages: Iterable[StoredMessage], events: list[Event[Any]]) -> Iterator[LogProblem]:
    """Fill `events`; yield messages that are none and positions that are missing."""
    previous = 0
    for message in messages:
        if previous and message.seq != previous + 1:
            yield LogProblem(LogDefect.HOLE, message.seq, f"follows position {previous}")
        previous = message.seq
        entry = read_entry(message)
        if entry.event is None:
            yield LogProblem(LogDefect.UNREADABLE, message.seq, entry.problem[:200])
        else:
            events.append(entry.event)


def _check_repeats(events: list[Event[Any]]) -> Iterator[LogProblem]:
    ids: dict[str, int] = {}
    first_seqs: dict[tuple[str, str, int, str], int] = {}
    newest: dict[str, int] = {}
    for event in events:
        what = f"{event.subject} of cycle {event.cycle} by {event.producer}"
        first = ids.setdefault(event.id, event.seq)
        if first != event.seq:
            yield LogProblem(LogDefect.STORED_TWICE, event.seq, f"{what}, first at {first}")
            continue
        if event.cycle == 0:
            continue  # settings and the run itself belong to no cycle
        about = (event.producer, event.subject, event.cycle, event.data.key())
        first = first_seqs.setdefault(about, event.seq)
        if first != event.seq:
            yield LogProblem(LogDefect.SAID_TWICE, event.seq, f"{what}, first at {first}")
        elif parse(event.subject).layer in IN_CYCLE_ORDER:
            before = newest.get(event.subject, 0)
            if event.cycle <= before:
                yield LogProblem(LogDefect.CYCLE_ORDER, event.seq, f"{what} after cycle {before}")
            newest[event.subject] = max(before, event.cycle)


def _check_causes(events: list[Event[Any]]) -> Iterator[LogProblem]:
    where = {event.id: event.seq for event in reversed(events)}
    cut = bool(events) and events[0].seq > 1  # retention has taken the oldest events
    for event in events:
        if parse(event.subject).layer in LAYERS[1:] and not event.causation_ids:
            text = f"{event.type} of cycle {event.cycle} names no cause"
            yield LogProblem(LogDefect.CAUSE_MISSING, event.seq, text)
        for cause in event.causation_ids:
            at = where.get(cause)
            if at is None:
                if not cut:
                    text = f"{event.type} of cycle {event.cycle} names {cause}"
                    yield LogProblem(LogDefect.CAUSE_MISSING, event.seq, text)
            elif at >= event.seq:
                text = f"{event.type} of cycle {event.cycle} was caused by position {at}"
                yield LogProblem(LogDefect.CAUSE_LATER, event.seq, text)


def _check_cycles(events: list[Event[Any]], settled: int) -> Iterator[LogProblem]:
    """Every observed cycle has a decision (two are found as repeats)."""
    decided = {event.cycle for event in events if isinstance(event.data, Decision)}
    for event in events:
        observed = isinstance(event.data, Observation) and event.cycle <= settled
        if observed and event.cycle not in decided:
            yield LogProblem(LogDefect.UNDECIDED, event.seq, f"cycle {event.cycle} has no decision")


def _check_proposals(events: list[Event[Any]], settled: int) -> Iterator[LogProblem]:
    decisions = {event.cycle: event for event in events if isinstance(event.data, Decision)}
    for event in events:
        if not isinstance(event.data, Proposal):
            continue
        decision = decisions.get(event.cycle)
        lost = (
            event.cycle <= settled if decision is None else not _is_accounted_for(event, decision)
        )
        if lost:
            text = f"of {event.data.agent} in cycle {event.cycle}"
            yield LogProblem(LogDefect.PROPOSAL_LOST, event.seq, text)


def _is_accounted_for(proposal: Event[Any], decision: Event[Any]) -> bool:
    """Say whether a decision accounts for a proposal.

    One that came after the decision, or while it was made, counts only if its agent is named
    missing.
    """
    data: Decision = decision.data
    if proposal.id not in {proposal.id for proposal in data.considered}:
        return proposal.data.agent in data.missing
    return proposal.id in data.winners or proposal.data.agent in data.overridden


def _check_executions(
    events: list[Event[Any]], executions: list[Event[Any]], settled: int
) -> Iterator[LogProblem]:
    phases: dict[tuple[int, int, bool], list[Event[Any]]] = {}
    for event in executions:
        about = (event.cycle, event.data.part, bool(event.data.rollback_of))
        phases.setdefault(about, []).append(event)
    for (cycle, part, rollback), events_of_phase in phases.items():
        order = [str(event.data.phase) for event in events_of_phase]
        what = f"{'rollback' if rollback else 'execution'} of cycle {cycle}"
        text = f"{what}{f', part {part}' if part else ''}: {', '.join(order)}"
        if order == ["started"]:
            if cycle <= settled and not rollback:
                yield LogProblem(LogDefect.UNFINISHED, events_of_phase[0].seq, text)
        elif order not in (["started", "finished"], ["refused"]):
            yield LogProblem(LogDefect.NOT_STARTED, events_of_phase[-1].seq, text)
    for event in events:
        if not isinstance(event.data, Decision) or event.cycle > settled:
            continue
        parts = range(len(event.data.parts))
        unanswered = [part for part in parts if (event.cycle, part, False) not in phases]
        if unanswered:
            text = f"the decision of cycle {event.cycle} has no outcome of part {unanswered[0]}"
            yield LogProblem(LogDefect.UNANSWERED, event.seq, text)
