"""Audit of a log: complete causes, no proposal lost, every layer, every event
readable.

The log is read once, in order. Kept are the ids, causes and verdicts of the last cycles, not the
events, so that a log of any length fits into the same memory.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from schemas.decision import Decision
from schemas.envelope import Event
from schemas.proposal import Proposal
from schemas.registry import LAYERS
from schemas.subjects import parse

WINDOW_CYCLES = 1_200
"""Cycles whose events are remembered: more than any process keeps open."""
KEPT_PROBLEMS = 1_000


@dataclass
class LogAudit:
    """The result; `problems` is empty when the log can be believed."""

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
    """Memory of an event."""

    id: str
    type: str
    seq: int
    causes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Verdict:
    """Memory of a decision."""

    selected: frozenset[str]
    considered: frozenset[str]
    overridden: frozenset[str]


@dataclass(slots=True)
class _Cycle:
    """Memory of a cycle."""

    events: list[str] = field(default_factory=list)
    proposals: list[tuple[str, str]] = field(default_factory=list)
    """(id, agent) of those that wait for the decision."""
    verdict: _Verdict | None = None


class Auditor:
    """Takes the events of a log in order; `finish` returns the audit."""

    def __init__(self, since_seq: int = 0) -> None:
        """Judge decisions and proposals from a position on: what led to earlier ones may lie before a
        recording's beginning.
        """
        self._audit = LogAudit()
        self._since_seq = since_seq
        self._seen: dict[str, _Seen] = {}
        self._cycles: dict[int, _Cycle] = {}
        self._newest_cycle = 0
        self._newest_decided = 0

    def add_unreadable(self, seq: int, problem: str) -> None:
        """Note a message that is no event this version can read."""
        self._audit.add(f"seq {seq}: {problem}")

    def add(self, event: Event[Any]) -> None:
        """Take the next event."""
        audit = self._audit
        if event.id in self._seen:
            audit.add(f"seq {event.seq}: {event.type} of cycle {event.cycle} is stored twice")
            return
        audit.events += 1
        layer = parse(event.subject).layer
        audit.layers[layer] = audit.layers.get(layer, 0) + 1
        self._remember(event)
        if isinstance(event.data, Decision):
            self._add_decision(event, event.data)
        elif isinstance(event.data, Proposal) and event.seq >= self._since_seq:
            cycle = self._cycles[event.cycle]
            cycle.proposals.append((event.id, event.data.agent))
            if cycle.verdict is not None:
                self._judge(event.cycle, cycle, cycle.verdict)

    def finish(self, *, layers: bool = True) -> LogAudit:
        """Return the audit; to be called once, after the last message.

        Args:
            layers: whether each of the six layers must be there.
        """
        for number in sorted(self._cycles):
            self._forget(number)
        if layers:
            for layer in LAYERS:
                if not self._audit.layers.get(layer):
                    self._audit.add(f"layer {layer} is empty")
        return self._audit

    def _remember(self, event: Event[Any]) -> None:
        self._seen[event.id] = _Seen(event.id, event.type, event.seq, event.causation_ids)
        self._cycles.setdefault(event.cycle, _Cycle()).events.append(event.id)
        if event.cycle > self._newest_cycle:
            self._newest_cycle = event.cycle
            limit = event.cycle - WINDOW_CYCLES
            for number in [cycle for cycle in self._cycles if cycle < limit]:
                self._forget(number)

    def _forget(self, number: int) -> None:
        """Let go of a cycle; proposals that still wait have no decision."""
        cycle = self._cycles.pop(number)
        for identity in cycle.events:
            self._seen.pop(identity, None)
        for _, agent in cycle.proposals:
            self._audit.proposals["undecided"] += 1
            if number <= self._newest_decided:
                self._audit.add(f"proposal of {agent} in cycle {number} has no decision")

    def _add_decision(self, event: Event[Any], data: Decision) -> None:
        if event.seq < self._since_seq:
            return
        audit, cycle = self._audit, self._cycles[event.cycle]
        audit.decisions += 1
        self._newest_decided = max(self._newest_decided, event.cycle)
        if cycle.verdict is not None:
            audit.add(f"cycle {event.cycle} has two decisions")
        missing = self._missing_causes(self._seen[event.id])
        if missing:
            audit.add(f"decision of cycle {event.cycle}: {missing}")
        else:
            audit.complete_chains += 1
        cycle.verdict = _Verdict(
            data.winners,
            frozenset(proposal.id for proposal in data.considered),
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
            if identity in verdict.selected:
                self._audit.proposals["selected"] += 1
            elif identity not in verdict.considered:
                self._audit.proposals["late"] += 1
            elif agent in verdict.overridden:
                self._audit.proposals["overridden"] += 1
            else:
                self._audit.add(f"proposal of {agent} in cycle {number} was lost silently")
        cycle.proposals.clear()
