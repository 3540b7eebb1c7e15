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
from typing import Any, Protocol

from inputs.limited_json import BadJson, load_json
from schemas.decision import MOST_PARTS
from schemas.envelope import attributes_of
from schemas.identity import cycle_of

REMEMBERED_EVENTS = 50_000
"""Events kept as possible causes; a cycle has a few dozen."""
SETTLED_CYCLES = 3
"""A cycle's own span is closed when so many newer cycles have begun."""
DESCRIBED_LAYERS = ("proposal", "decision", "outcome")
"""Layers whose data is small and says why; of all others only the headers are read."""
FAILURES = {"failed", "worse"}
LONGEST_TEXT = 4_000
"""Characters of a text that a span carries."""
_TRACEPARENT = re.compile(r"[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})(?:-|$)")

Attributes = dict[str, str | int | float | bool]


class Message(Protocol):
    """A stored message, as `bus.port.StoredMessage` has it."""

    @property
    def seq(self) -> int:
        """Position in the log."""

    @property
    def time_ns(self) -> int:
        """When it was stored, nanoseconds since the Unix epoch."""

    @property
    def subject(self) -> str:
        """Its subject."""

    @property
    def headers(self) -> Mapping[str, str]:
        """Its headers."""

    @property
    def data(self) -> bytes:
        """Its data, JSON."""


@dataclass(frozen=True, slots=True)
class SpanContext:
    """A span's trace and its id, as W3C traceparent has them."""

    trace_id: int
    span_id: int


@dataclass(frozen=True, slots=True)
class CycleSpan:
    """One span, before any exporter knows of it."""

    name: str
    context: SpanContext
    parent: SpanContext | None
    links: tuple[SpanContext, ...]
    producer: str
    start_ns: int
    end_ns: int
    failed: bool = False
    attributes: Attributes = field(default_factory=dict)


@dataclass(slots=True)
class _Root:
    """A cycle whose own span is still open."""

    correlation_id: str
    context: SpanContext
    start_ns: int = 0
    end_ns: int = 0


class SpanBuilder:
    """Builds spans from stored messages, in the order of the log."""

    def __init__(self) -> None:
        """Begin without any known cause."""
        self._known: OrderedDict[str, tuple[SpanContext, int]] = OrderedDict()
        self._open: dict[int, _Root] = {}

    def build(self, message: Message) -> list[CycleSpan]:
        """Return the span of an event and of cycles it closes; nothing for what is no event of a
        cycle.
        """
        attributes = attributes_of(message.headers)
        context = context_of(attributes.get("traceparent", ""))
        correlation_id = attributes.get("correlationid", "")
        if context is None or not attributes.get("id"):
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
        self._remember(attributes["id"], context, message.time_ns)
        if cycle < 1:
            return []
        return [
            *self._take_settled(cycle),
            self._span(message, attributes, context, causes, self._root(cycle, correlation_id)),
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
        root = _Root(correlation_id, root_context(correlation_id))
        if cycle >= max(self._open, default=0):
            self._open[cycle] = root
        return root

    def _take_settled(self, cycle: int) -> list[CycleSpan]:
        ready = [number for number in sorted(self._open) if number + SETTLED_CYCLES <= cycle]
        return [_root_span(number, self._open.pop(number)) for number in ready]

    def _span(
        self,
        message: Message,
        attributes: Mapping[str, str],
        context: SpanContext,
        causes: Iterable[tuple[SpanContext, int]],
        root: _Root,
    ) -> CycleSpan:
        ordered = sorted(causes, key=lambda cause: (cause[1], cause[0].span_id))
        start_ns = min(ordered[-1][1] if ordered else message.time_ns, message.time_ns)
        root.start_ns = min(root.start_ns or start_ns, start_ns)
        root.end_ns = max(root.end_ns, message.time_ns)
        same = [cause for cause, _ in ordered if cause.trace_id == context.trace_id]
        parent = same[-1] if same else root.context
        described, failed = attributes_of_data(message)
        return CycleSpan(
            name=".".join(message.subject.split(".")[2:]),
            context=context,
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
                **described,
            },
        )

    def _remember(self, identity: str, context: SpanContext, time_ns: int) -> None:
        self._known[identity] = (context, time_ns)
        while len(self._known) > REMEMBERED_EVENTS:
            self._known.popitem(last=False)


def context_of(traceparent: str) -> SpanContext | None:
    """Read a W3C traceparent; None when it is none."""
    match = _TRACEPARENT.match(traceparent)
    return None if match is None else SpanContext(int(match[1], 16), int(match[2], 16))


def root_context(correlation_id: str) -> SpanContext:
    """Return the context of a cycle's own span: in the trace of its events, under its own id."""
    trace = hashlib.sha256(correlation_id.encode()).hexdigest()[:32]
    span = hashlib.sha256(f"cycle/{correlation_id}".encode()).hexdigest()[:16]
    return SpanContext(int(trace, 16), int(span, 16))


def attributes_of_data(message: Message) -> tuple[Attributes, bool]:
    """Return what an event states of rule, action and outcome, and whether it reports a failure."""
    if message.subject.split(".")[2] not in DESCRIBED_LAYERS:
        return {}, False
    try:
        data = load_json(message.data)
    except BadJson:
        data = None
    if not isinstance(data, dict):
        return {}, False
    parts = _parts_of(data)
    named = {**parts[0], **data} if parts and isinstance(parts[0], dict) else data
    described: Attributes = {
        f"foresail.{name}": named[name]
        for name in ("rule", "phase", "status", "closed_by", "reason", "score", "rationale", "text")
        if isinstance(named.get(name), str | int | float) and _fits(named[name])
    }
    if isinstance(data.get("part"), int) and 0 < data["part"] < MOST_PARTS:
        described["foresail.part"] = data["part"]
    actions = [action for action in map(_action_of, parts) if action is not None]
    if actions:
        described["foresail.action"] = ", ".join(kind for kind, _ in actions)
        described["foresail.target"] = ", ".join(target for _, target in actions)
    return described, data.get("succeeded") is False or data.get("status") in FAILURES


def _parts_of(data: dict[str, Any]) -> list[Any]:
    """Return what has an action of its own: the parts of a decision, else the event itself."""
    parts = data.get("parts")
    return parts[:MOST_PARTS] if isinstance(parts, list) else [data]


def _action_of(part: Any) -> tuple[str, str] | None:
    """Return kind and target of an action; None where there is none that can be read."""
    action = part.get("action") if isinstance(part, dict) else None
    if not isinstance(action, dict) or not isinstance(action.get("kind"), str):
        return None
    target = action.get("target")
    name = target.get("name") if isinstance(target, dict) else None
    return action["kind"], name if isinstance(name, str) else ""


def _fits(value: str | float) -> bool:
    """Say whether a span can carry a value: a short text, or a number of 64 bits."""
    return len(value) <= LONGEST_TEXT if isinstance(value, str) else abs(value) < 2**63


def _root_span(cycle: int, root: _Root) -> CycleSpan:
    return CycleSpan(
        name=f"cycle {cycle}",
        context=root.context,
        parent=None,
        links=(),
        producer="cycle",
        start_ns=root.start_ns,
        end_ns=root.end_ns,
        attributes={"foresail.cycle": cycle, "foresail.correlation.id": root.correlation_id},
    )
