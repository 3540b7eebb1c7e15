"""What a log must hold to be believed: complete causes, no proposal lost, every layer, every event
readable.
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


def audit(messages: Iterable[StoredMessage]) -> Audit:
    """Check a whole log or recording."""
    found = Audit()
    events: dict[str, Event[Any]] = {}
    for message in messages:
        try:
            event = decode(
                message.subject,
                message.headers,
                message.data,
                seq=message.seq,
                recorded_ns=message.time_ns,
            )
        except UnknownEvent as error:
            found.problems.append(f"seq {message.seq}: {error}")
            continue
        if event.id in events:
            found.problems.append(
                f"seq {message.seq}: {event.type} of cycle {event.cycle} is stored twice"
            )
        events[event.id] = event
        layer = parse(event.subject).layer
        found.layers[layer] = found.layers.get(layer, 0) + 1
    found.events = len(events)
    found.problems += [f"layer {layer} is empty" for layer in LAYERS if not found.layers.get(layer)]
    _check_decisions(events, found)
    _check_proposals(events, found)
    return found


def _check_decisions(events: dict[str, Event[Any]], found: Audit) -> None:
    cycles: set[int] = set()
    for event in events.values():
        if not isinstance(event.data, Decision):
            continue
        found.decisions += 1
        if event.cycle in cycles:
            found.problems.append(f"cycle {event.cycle} has two decisions")
        cycles.add(event.cycle)
        missing = _missing_causes(event, events)
        if missing:
            found.problems.append(f"decision of cycle {event.cycle}: {missing}")
        else:
            found.complete_chains += 1


def _missing_causes(decision: Event[Any], events: dict[str, Event[Any]]) -> str:
    """Walk back from a decision; return what is missing on the way to a snapshot, or nothing."""
    reached_snapshot = False
    waiting, seen = [decision], {decision.id}
    while waiting:
        event = waiting.pop()
        if event.type.startswith("foresail.snapshot."):
            reached_snapshot = True
            continue
        if not event.causation_ids:
            return f"{event.type} (seq {event.seq}) names no cause"
        for cause in event.causation_ids:
            if cause not in events:
                return f"cause {cause} of {event.type} (seq {event.seq}) is not in the log"
            if events[cause].seq > event.seq:
                return f"{event.type} (seq {event.seq}) was stored before its cause"
            if cause not in seen:
                seen.add(cause)
                waiting.append(events[cause])
    return "" if reached_snapshot else "its causes do not lead to a snapshot"


def _check_proposals(events: dict[str, Event[Any]], found: Audit) -> None:
    """Every proposal is selected, overridden or late; the newest cycle may still be open."""
    decisions = {
        event.cycle: event.data for event in events.values() if isinstance(event.data, Decision)
    }
    newest = max(decisions, default=0)
    for event in events.values():
        if not isinstance(event.data, Proposal):
            continue
        decision: Decision | None = decisions.get(event.cycle)
        if decision is None:
            found.proposals["undecided"] += 1
            if event.cycle <= newest:
                found.problems.append(
                    f"proposal of {event.data.agent} in cycle {event.cycle} has no decision"
                )
        elif decision.selected == event.id:
            found.proposals["selected"] += 1
        elif event.id not in {one.id for one in decision.considered}:
            found.proposals["late"] += 1
        elif event.data.agent.value in decision.overridden:
            found.proposals["overridden"] += 1
        else:
            found.problems.append(
                f"proposal of {event.data.agent} in cycle {event.cycle} was lost silently"
            )
