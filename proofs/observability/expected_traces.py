"""What a collector must hold after a log was traced, derived from the events' own headers.

The code under test is not used: ids come from each event's `traceparent`, cycles from its
correlation id, parents may only be causes of the same trace or the cycle's own span, and the
attributes of decisions and executions are compared with the stored data.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from bus.port import StoredMessage
from schemas.envelope import attributes_of
from schemas.identity import cycle_of

SETTLED_CYCLES = 3
"""As docs/adr/0008 has it; what comes later than so many newer cycles is outside its cycle's span."""
LAYERS = ("snapshot", "observation", "prediction", "proposal", "decision", "outcome")


@dataclass(frozen=True, slots=True)
class CollectedSpan:
    """One span as the collector gives it back."""

    trace: str
    span: str
    parent: str
    """Empty for a root."""
    name: str
    start: str
    """RFC 3339."""
    end: str
    attributes: Mapping[str, Any]


@dataclass(slots=True)
class ExpectedCycle:
    """One cycle as the log has it."""

    number: int
    trace: str
    closed_seq: int = 0
    """Position where its own span is sent; 0: not before the log's end."""
    events: dict[str, StoredMessage] = field(default_factory=dict)
    """By span id."""
    causes: dict[str, set[str]] = field(default_factory=dict)
    """Span ids of each event's causes, of any cycle."""

    @property
    def seqs(self) -> Iterator[int]:
        """Positions of its events."""
        return (event.seq for event in self.events.values())


def expected_cycles(messages: Iterable[StoredMessage]) -> dict[str, ExpectedCycle]:
    """Return every cycle of a log by its trace id."""
    cycles: dict[str, ExpectedCycle] = {}
    spans: dict[str, str] = {}
    for message in messages:
        headers = attributes_of(message.headers)
        if not headers.get("correlationid") or not headers.get("traceparent"):
            continue
        _, trace, span, _ = headers["traceparent"].split("-")
        causes = {spans[word] for word in headers.get("causationid", "").split() if word in spans}
        spans[headers["id"]] = span
        number = cycle_of(headers["correlationid"])
        if number < 1:
            continue
        if trace not in cycles:
            _close(cycles, number, message.seq)
        cycle = cycles.setdefault(trace, ExpectedCycle(number, trace))
        cycle.events[span] = message
        cycle.causes[span] = causes
    return cycles


def _close(cycles: Mapping[str, ExpectedCycle], newest: int, seq: int) -> None:
    """Record which cycles are settled now that a newer one has started."""
    for cycle in cycles.values():
        if not cycle.closed_seq and cycle.number + SETTLED_CYCLES <= newest:
            cycle.closed_seq = seq


def faults_of(cycle: ExpectedCycle, spans: list[CollectedSpan]) -> list[str]:
    """Return what is wrong with a cycle's trace in the collector; nothing when it is whole."""
    by_id = {span.span: span for span in spans}
    roots = [span for span in spans if not span.parent]
    if len(by_id) != len(spans):
        return [f"{len(spans) - len(by_id)} spans twice"]
    if len(roots) != 1 or roots[0].name != f"cycle {cycle.number}":
        return [f"roots: {[root.name for root in roots]}"]
    root = roots[0]
    wrong = [f"{len(cycle.events.keys() - by_id.keys())} events without a span"]
    wrong = wrong if cycle.events.keys() - by_id.keys() else []
    wrong += [
        f"a span of no event: {key}" for key in by_id.keys() - cycle.events.keys() - {root.span}
    ]
    for span, message in cycle.events.items():
        if span in by_id:
            wrong += _faults_of_span(cycle, by_id[span], root, message)
    return wrong


def _faults_of_span(
    cycle: ExpectedCycle, span: CollectedSpan, root: CollectedSpan, message: StoredMessage
) -> list[str]:
    headers = attributes_of(message.headers)
    where = f"{span.name} at {message.seq}"
    own_attributes = {
        "foresail.cycle": cycle.number,
        "foresail.event.id": headers["id"],
        "foresail.event.type": headers["type"],
        "foresail.seq": message.seq,
        "messaging.destination.name": message.subject,
        **_expected_attributes(message),
    }
    wrong = [
        f"{where}: {name} is {span.attributes.get(name)!r}, not {value!r}"
        for name, value in own_attributes.items()
        if span.attributes.get(name) != value
    ]
    own_causes = cycle.causes[span.span] & cycle.events.keys()
    if span.parent not in (own_causes or {root.span}):
        wrong.append(f"{where}: its parent is none of its causes")
    # A cycle's own span is sent when newer cycles have started; later events end after it.
    late = 0 < cycle.closed_seq < message.seq
    if not root.start <= span.start <= span.end or not (late or span.end <= root.end):
        wrong.append(f"{where}: it lies outside its cycle")
    return wrong


def _expected_attributes(message: StoredMessage) -> dict[str, Any]:
    """Return what the span of a decision or an execution must say besides."""
    if not message.subject.endswith((".decision", ".outcome.execution")):
        return {}
    data = json.loads(message.data)
    kinds = [part["action"]["kind"] for part in data.get("parts", [data])]
    attributes = {"foresail.action": ", ".join(kinds)}
    if "rule" in data:
        attributes["foresail.rule"] = data["rule"]
    if "phase" in data:
        attributes["foresail.phase"] = data["phase"]
    return attributes


def spans_up_to(spans: Iterable[CollectedSpan], seq: int) -> list[CollectedSpan]:
    """Return roots, and spans of events up to a position: a log that grows has been traced further."""
    return [
        span for span in spans if not span.parent or span.attributes.get("foresail.seq", 0) <= seq
    ]


def layers_of(spans: Iterable[CollectedSpan]) -> set[str]:
    """Return the layers that a trace shows."""
    return {span.name.partition(".")[0] for span in spans} & set(LAYERS)
