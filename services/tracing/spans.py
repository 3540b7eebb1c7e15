"""From stored events to spans: pure, so that a recording gives the same trace as the live log.

The trace of a cycle has the id that every event's `traceparent` carries. Its root is the cycle; each
event is one span, from the moment the newest of its causes was stored to the moment it was stored
itself: the time its producer took. Its parent is that newest cause, the one it had waited for, or
the root when no cause belongs to the same cycle; other causes are links. Every id is derived, so
sending a log twice sends the same spans.
"""

from __future__ import annotations

import hashlib
import re
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from bus.port import StoredMessage
from schemas.envelope import attributes_of
from schemas.identity import cycle_of
from schemas.limited_json import BadJson, load_json

REMEMBERED_EVENTS = 50_000
"""Events kept as possible causes; a cycle has a few dozen."""
SETTLED_CYCLES = 3
"""A cycle's own span is closed when so many newer cycles have begun."""
TOLD_LAYERS = ("proposal", "decision", "outcome")
"""Layers whose data is small and says why; of all others only the headers are read."""
FAILURES = {"failed", "worse"}
LONGEST_TEXT = 4_000
"""Characters of a text that a span carries."""
_TRACEPARENT = re.compile(r"[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})(?:-|$)")

Attributes = dict[str, str | int | float | bool]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a span is: its trace and its id, as W3C traceparent has them."""

    trace_id: int
    span_id: int


@dataclass(frozen=True, slots=True)
class CycleSpan:
    """One span, before any exporter knows of it."""

    name: str
    place: Place
    parent: Place | None
    links: tuple[Place, ...]
    producer: str
    start_ns: int
    end_ns: int
    failed: bool = False
    attributes: Attributes = field(default_factory=dict)


@dataclass(slots=True)
class _Root:
    """A cycle whose own span is still open."""

    correlation_id: str
    place: Place
    start_ns: int = 0
    end_ns: int = 0


class SpanTeller:
    """Turns stored messages, in order, into spans; remembers the times of what it has seen."""

    def __init__(self) -> None:
        """Begin without any cause."""
        self._known: OrderedDict[str, tuple[Place, int]] = OrderedDict()
        self._open: dict[int, _Root] = {}

    def tell(self, message: StoredMessage) -> list[CycleSpan]:
        """Return the span of an event and of cycles it closes; nothing for what is no event of a
        cycle.
        """
        attributes = attributes_of(message.headers)
        place = place_of(attributes.get("traceparent", ""))
        correlation_id = attributes.get("correlationid", "")
        if place is None or not attributes.get("id"):
            return []
        try:
            cycle = cycle_of(correlation_id)
        except ValueError:
            return []
        causes = [
            self._known[cause]
            for cause in attributes.get("causationid", "").split()
            if cause in self._known
        ]
        self._remember(attributes["id"], place, message.time_ns)
        if cycle < 1:
            return []
        return [
            *self._settled(cycle),
            self._span(message, attributes, place, causes, self._root(cycle, correlation_id)),
        ]

    def finish(self) -> list[CycleSpan]:
        """Return the spans of all cycles that are still open."""
        roots = [_root_span(cycle, root) for cycle, root in sorted(self._open.items())]
        self._open.clear()
        return roots

    def _root(self, cycle: int, correlation_id: str) -> _Root:
        """Return the open cycle; one that was closed already is not opened again."""
        if cycle in self._open:
            return self._open[cycle]
        root = _Root(correlation_id, root_place(correlation_id))
        if cycle >= max(self._open, default=0):
            self._open[cycle] = root
        return root

    def _settled(self, cycle: int) -> list[CycleSpan]:
        ready = [one for one in sorted(self._open) if one + SETTLED_CYCLES <= cycle]
        return [_root_span(one, self._open.pop(one)) for one in ready]

    def _span(
        self,
        message: StoredMessage,
        attributes: Mapping[str, str],
        place: Place,
        causes: Iterable[tuple[Place, int]],
        root: _Root,
    ) -> CycleSpan:
        ordered = sorted(causes, key=lambda one: (one[1], one[0].span_id))
        start_ns = min(ordered[-1][1] if ordered else message.time_ns, message.time_ns)
        root.start_ns = min(root.start_ns or start_ns, start_ns)
        root.end_ns = max(root.end_ns, message.time_ns)
        same = [cause for cause, _ in ordered if cause.trace_id == place.trace_id]
        parent = same[-1] if same else root.place
        told, failed = told_of(message)
        return CycleSpan(
            name=".".join(message.subject.split(".")[2:]),
            place=place,
            parent=parent,
            links=tuple(cause for cause, _ in ordered if cause != parent),
            producer=attributes.get("source", "").rsplit("/", 1)[-1],
            start_ns=start_ns,
            end_ns=message.time_ns,
            failed=failed,
            attributes={
                "foresail.cycle": cycle_of(attributes["correlationid"]),
                "foresail.event.id": attributes["id"],
                "foresail.event.type": attributes.get("type", ""),
                "foresail.seq": message.seq,
                "messaging.destination.name": message.subject,
                "messaging.message.body.size": len(message.data),
                "messaging.system": "nats",
                **told,
            },
        )

    def _remember(self, identity: str, place: Place, time_ns: int) -> None:
        self._known[identity] = (place, time_ns)
        while len(self._known) > REMEMBERED_EVENTS:
            self._known.popitem(last=False)


def place_of(traceparent: str) -> Place | None:
    """Read a W3C traceparent; None when it is none."""
    found = _TRACEPARENT.match(traceparent)
    return None if found is None else Place(int(found[1], 16), int(found[2], 16))


def root_place(correlation_id: str) -> Place:
    """Return where the span of a cycle is: in the trace of its events, under an id of its own."""
    trace = hashlib.sha256(correlation_id.encode()).hexdigest()[:32]
    span = hashlib.sha256(f"cycle/{correlation_id}".encode()).hexdigest()[:16]
    return Place(int(trace, 16), int(span, 16))


def told_of(message: StoredMessage) -> tuple[Attributes, bool]:
    """Return what an event says of rule, action and outcome, and whether it tells of a failure."""
    if message.subject.split(".")[2] not in TOLD_LAYERS:
        return {}, False
    try:
        data = load_json(message.data)
    except BadJson:
        data = None
    if not isinstance(data, dict):
        return {}, False
    told: Attributes = {
        f"foresail.{name}": data[name]
        for name in ("rule", "phase", "status", "closed_by", "reason", "score", "rationale", "text")
        if isinstance(data.get(name), str | int | float) and _fits(data[name])
    }
    action = data.get("action")
    if isinstance(action, dict) and isinstance(action.get("kind"), str):
        target = action.get("target")
        name = target.get("name") if isinstance(target, dict) else None
        told["foresail.action"] = action["kind"]
        told["foresail.target"] = name if isinstance(name, str) else ""
    return told, data.get("succeeded") is False or data.get("status") in FAILURES


def _fits(value: str | float) -> bool:
    """Say whether a span can carry a value: a short text, or a number of 64 bits."""
    return len(value) <= LONGEST_TEXT if isinstance(value, str) else abs(value) < 2**63


def _root_span(cycle: int, root: _Root) -> CycleSpan:
    return CycleSpan(
        name=f"cycle {cycle}",
        place=root.place,
        parent=None,
        links=(),
        producer="cycle",
        start_ns=root.start_ns,
        end_ns=root.end_ns,
        attributes={"foresail.cycle": cycle, "foresail.correlation.id": root.correlation_id},
    )
