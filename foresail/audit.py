"""What a log must hold to be believed: complete causes, no proposal lost, every layer, every event
readable.

The log is read once, in order. Kept are the ids, causes and verdicts of the last cycles, not the
events, so that a log of any length fits into the same memory.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from bus.port import StoredMessage
from schemas.decision import Decision
from schemas.envelope import Event
from schemas.proposal import Proposal
from schemas.registry import LAYERS, UnknownEvent, decode
from schemas.subjects import parse

WINDOW_CYCLES = 1_200
"""Cycles whose events are remembered: more than any process keeps open."""
KEPT_PROBLEMS = 1_000


@dataclass
class Audit:
    """What was found; `problems` is empty when the log can be believed."""

    events: int = 0
    decisions: int = 0
    complete_chains: int = 0
    proposals: dict[str, int] = field(
        default_factory=lambda: {"selected": 0, "overridden": 0, "late": 0, "undecided": 0}
    )
    layers: dict[str, int] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    problems_left_out: int = 0

    def add(self, problem: str) -> None:
        """Note a problem; of a log with very many of them the rest are counted."""
        if len(self.problems) < KEPT_PROBLEMS:
            self.problems.append(problem)
        else:
            self.problems_left_out += 1


@dataclass(frozen=True, slots=True)
class _Seen:
    """What is remembered of an event."""

    id: str
    type: str
    seq: int
    causes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Verdict:
    """What is remembered of a decision."""

    selected: str | None
    considered: frozenset[str]
    overridden: frozenset[str]


@dataclass(slots=True)
class _Cycle:
    """What is remembered of a cycle."""

    events: list[str] = field(default_factory=list)
    proposals: list[tuple[str, str]] = field(default_factory=list)
    """(id, agent) of those that wait for the decision."""
    verdict: _Verdict | None = None


def audit(messages: Iterable[StoredMessage], *, since_seq: int = 0, layers: bool = True) -> Audit:
    """Check a whole log or recording.

    Args:
        messages: in order.
        since_seq: decisions and proposals before this position are not judged: what led to them may
            lie before a recording's beginning.
        layers: whether each of the six layers must be there.
    """
    auditor = Auditor(since_seq)
    for message in messages:
        auditor.take(message)
    return auditor.finish(layers=layers)


class Auditor:
    """Takes messages in order; `finish` gives what was found."""

    def __init__(self, since_seq: int = 0) -> None:
        """Judge decisions and proposals from a position on."""
        self._found = Audit()
        self._since_seq = since_seq
        self._seen: dict[str, _Seen] = {}
        self._cycles: dict[int, _Cycle] = {}
        self._newest_cycle = 0
        self._newest_decided = 0

    def take(self, message: StoredMessage) -> None:
        """Take the next message."""
        found = self._found
        try:
            event = decode(
                message.subject,
                message.headers,
                message.data,
                seq=message.seq,
                recorded_ns=message.time_ns,
            )
        except UnknownEvent as error:
            found.add(f"seq {message.seq}: {error}")
            return
        if event.id in self._seen:
            found.add(f"seq {message.seq}: {event.type} of cycle {event.cycle} is stored twice")
            return
        found.events += 1
        layer = parse(event.subject).layer
        found.layers[layer] = found.layers.get(layer, 0) + 1
        self._remember(event)
        if isinstance(event.data, Decision):
            self._take_decision(event, event.data)
        elif isinstance(event.data, Proposal) and event.seq >= self._since_seq:
            cycle = self._cycles[event.cycle]
            cycle.proposals.append((event.id, event.data.agent.value))
            if cycle.verdict is not None:
                self._judge(event.cycle, cycle, cycle.verdict)

    def finish(self, *, layers: bool = True) -> Audit:
        """Return what was found; to be called once, behind the last message."""
        for number in sorted(self._cycles):
            self._forget(number)
        if layers:
            for layer in LAYERS:
                if not self._found.layers.get(layer):
                    self._found.add(f"layer {layer} is empty")
        return self._found

    def _remember(self, event: Event[Any]) -> None:
        self._seen[event.id] = _Seen(event.id, event.type, event.seq, event.causation_ids)
        self._cycles.setdefault(event.cycle, _Cycle()).events.append(event.id)
        if event.cycle > self._newest_cycle:
            self._newest_cycle = event.cycle
            limit = event.cycle - WINDOW_CYCLES
            for number in [one for one in self._cycles if one < limit]:
                self._forget(number)

    def _forget(self, number: int) -> None:
        """Let go of a cycle; proposals that still wait have no decision."""
        cycle = self._cycles.pop(number)
        for identity in cycle.events:
            self._seen.pop(identity, None)
        for _, agent in cycle.proposals:
            self._found.proposals["undecided"] += 1
            if number <= self._newest_decided:
                self._found.add(f"proposal of {agent} in cycle {number} has no decision")

    def _take_decision(self, event: Event[Any], data: Decision) -> None:
        if event.seq < self._since_seq:
            return
        found, cycle = self._found, self._cycles[event.cycle]
        found.decisions += 1
        self._newest_decided = max(self._newest_decided, event.cycle)
        if cycle.verdict is not None:
            found.add(f"cycle {event.cycle} has two decisions")
        missing = self._missing_causes(self._seen[event.id])
        if missing:
            found.add(f"decision of cycle {event.cycle}: {missing}")
        else:
            found.complete_chains += 1
        cycle.verdict = _Verdict(
            data.selected,
            frozenset(one.id for one in data.considered),
            frozenset(data.overridden),
        )
        self._judge(event.cycle, cycle, cycle.verdict)

    def _missing_causes(self, decision: _Seen) -> str:
        """Walk back from a decision; return what is missing on the way to a snapshot, or nothing."""
        reached_snapshot = False
        waiting, walked = [decision], {decision.id}
        while waiting:
            event = waiting.pop()
            if event.type.startswith("foresail.snapshot."):
                reached_snapshot = True
                continue
            if not event.causes:
                return f"{event.type} (seq {event.seq}) names no cause"
            for cause in event.causes:
                if cause not in self._seen:
                    return f"cause {cause} of {event.type} (seq {event.seq}) is not before it"
                if cause not in walked:
                    walked.add(cause)
                    waiting.append(self._seen[cause])
        return "" if reached_snapshot else "its causes do not lead to a snapshot"

    def _judge(self, number: int, cycle: _Cycle, verdict: _Verdict) -> None:
        """Say what became of the proposals that waited: selected, overridden, late, or lost."""
        for identity, agent in cycle.proposals:
            if identity == verdict.selected:
                self._found.proposals["selected"] += 1
            elif identity not in verdict.considered:
                self._found.proposals["late"] += 1
            elif agent in verdict.overridden:
                self._found.proposals["overridden"] += 1
            else:
                self._found.add(f"proposal of {agent} in cycle {number} was lost silently")
        cycle.proposals.clear()
