"""A bus that counts what passes through it.

`MeasuredBus` stands between a service and its connection. Per event it costs a look at two headers
and one addition; everything else (lag, memory, connection) is read at each scrape. Decisions
and executions are counted by the process that publishes them, from the event itself.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import aclosing
from typing import Any

from bus.clock import Clock
from bus.errors import ForesailError
from bus.link import LinkCounts
from bus.metrics import ProcessMetrics
from bus.ordered_read import matches_any
from bus.port import Bus, Heartbeats, LogInfo, Message, Messages, StoredMessage
from schemas.approval import OutcomeApproval
from schemas.breaker import OutcomeBreaker
from schemas.control import Command, Control
from schemas.decision import Decision
from schemas.identity import cycle_of
from schemas.outcome import OutcomeExecution
from schemas.reasons import Reason
from schemas.registry import BY_TYPE
from schemas.snapshot import SnapshotNodes
from schemas.upcast import UPCASTERS

_LABELS = frozenset({*BY_TYPE, *UPCASTERS, "none"})
"""Types that get a counter of their own; names that anybody may invent would fill the memory."""


_ABSENT = (Reason.NOT_INSTALLED.value, Reason.DISABLED.value)
_HELD_AFTER = {
    Command.KILL.value: {"kill": 1},
    Command.PAUSE.value: {"pause": 1},
    Command.RESUME.value: {"kill": 0, "pause": 0},
}
"""By command: what the operator holds from then on."""


class MeasuredBus:
    """A bus that counts; implements `bus.port.Bus` and otherwise behaves as the bus it wraps."""

    def __init__(
        self, inner: Bus, link: Callable[[], LinkCounts], metrics: ProcessMetrics, clock: Clock
    ) -> None:
        """Count what passes through `inner` into `measures`."""
        self._inner = inner
        self._link = link
        self._metrics = metrics
        self._clock = clock
        self._patterns: tuple[str, ...] = ()
        self._end_seq = 0
        self._cycle = 0

    @property
    def link(self) -> LinkCounts:
        """The connection's own counts."""
        return self._link()

    def lag(self, folded_seq: int) -> int:
        """Return how many positions the newest event meant for this process is ahead of what it
        has applied; 0 for a process that reads nothing.
        """
        if not self._patterns and not self._end_seq:
            return 0
        seqs = (
            seq
            for subject, seq in self.link.newest.copy().items()
            if matches_any(self._patterns, subject)
        )
        return max(0, max(seqs, default=0) - folded_seq, self._end_seq - folded_seq)

    async def publish(self, messages: Sequence[Message]) -> tuple[int, ...]:
        """Store messages and count them; see `bus.port.Bus.publish`."""
        began = self._clock.monotonic()
        try:
            stored = await self._inner.publish(messages)
        except ForesailError as error:
            self._metrics.failures.labels(type(error).__name__).inc()
            raise
        self._metrics.publish_seconds.observe(self._clock.monotonic() - began)
        for message in messages:
            self._metrics.published.labels(self._note_event(message.headers)).inc()
            self._count_outcome(message)
        return stored

    async def read(self, subjects: Sequence[str], *, start_seq: int = 1) -> Messages:
        """Yield history, then live messages; see `bus.port.Bus.read`."""
        self._patterns = tuple(subjects)
        async with aclosing(self._inner.read(subjects, start_seq=start_seq)) as messages:
            async for message in messages:
                self._metrics.events_read.labels(self._note_event(message.headers)).inc()
                self._note_control(message)
                yield message

    async def history(
        self, subjects: Sequence[str], *, start_seq: int = 1, end_seq: int | None = None
    ) -> Messages:
        """Yield what is stored; see `bus.port.Bus.history`."""
        self._end_seq = max(self._end_seq, end_seq or 0)
        stored = self._inner.history(subjects, start_seq=start_seq, end_seq=end_seq)
        async with aclosing(stored) as messages:
            async for message in messages:
                self._metrics.events_read.labels(self._note_event(message.headers)).inc()
                self._note_control(message)
                yield message

    async def last(self, subject: str) -> StoredMessage | None:
        """Return the newest message of one subject."""
        return await self._inner.last(subject)

    async def info(self) -> LogInfo:
        """Return the log in numbers."""
        return await self._inner.info()

    async def send_heartbeat(self, process: str, payload: bytes) -> None:
        """Send a heartbeat outside the log."""
        await self._inner.send_heartbeat(process, payload)

    def heartbeats(self, process: str = "*") -> Heartbeats:
        """Yield (process, payload) of heartbeats."""
        return self._inner.heartbeats(process)

    async def close(self) -> None:
        """Send what waits, then disconnect."""
        await self._inner.close()

    def _note_event(self, headers: Mapping[str, str]) -> str:
        """Note the cycle of an event; return its type as a metric label."""
        try:
            cycle = cycle_of(headers.get("ce-correlationid", "0"))
        except ValueError:
            cycle = 0
        if cycle > self._cycle:
            self._cycle = cycle
            self._metrics.newest_cycle.set(cycle)
        name = headers.get("ce-type", "none")
        return name if name in _LABELS else "other"

    def _count_outcome(self, message: Message) -> None:
        kind = message.headers.get("ce-type")
        if kind == Decision.TYPE:
            data = _decode_data(message)
            for part in data["parts"]:
                self._metrics.decisions.labels(data["rule"], part["action"]["kind"]).inc()
        elif kind == SnapshotNodes.TYPE:
            self._note_sources(_decode_data(message))
        elif kind == OutcomeApproval.TYPE:
            self._metrics.approvals_asked.inc()
        elif kind == OutcomeBreaker.TYPE:
            self._metrics.breaker_changes.labels(_decode_data(message)["state"]).inc()
        elif kind == OutcomeExecution.TYPE:
            data = _decode_data(message)
            self._metrics.executions.labels(
                _execution_outcome(data), data.get("reason") or ""
            ).inc()

    def _note_sources(self, snapshot: Mapping[str, Any]) -> None:
        """Note which sources of a snapshot could not be read, and since when; what a cluster lacks is no loss."""
        for source in snapshot["sources"]:
            lost = not source["ok"] and source.get("reason") not in _ABSENT
            since = source.get("failing_since_seconds") or snapshot["cluster_time_seconds"]
            self._metrics.source_failing_since.labels(source["source"]).set(since if lost else 0.0)

    def _note_control(self, message: StoredMessage) -> None:
        """Note what the operator holds, from each command that this process reads."""
        if message.headers.get("ce-type") != Control.TYPE:
            return
        command = _decode_data(message).get("command")
        if command in _HELD_AFTER:
            for name, held in _HELD_AFTER[command].items():
                self._metrics.held.labels(name).set(held)


def _decode_data(message: Message | StoredMessage) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(message.data)
    return data


def _execution_outcome(data: Mapping[str, Any]) -> str:
    """Say how far an execution is; a finished one says whether every operation held."""
    if data["phase"] != "finished":
        return str(data["phase"])
    return "succeeded" if data["succeeded"] else "failed"
