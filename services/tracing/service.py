"""The tracing shell: follow the log, send spans in batches.

A pure subscriber: it starts a little before the log's end, publishes nothing, and nobody waits for
it. Spans that a receiver does not take are counted and dropped: the log still holds them, and
`foresail trace` sends them again under the same ids.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import aclosing

import structlog

from bus.cancellation import cancel_and_wait
from bus.clock import Clock
from bus.item_errors import ItemErrors
from bus.port import Bus, Messages
from projections.spans import CycleSpan, SpanBuilder
from schemas import subjects
from services.tracing.export import SpanSender
from services.tracing.settings import TracingSettings

NAME = "tracing"
OVERLAP_MESSAGES = 500
"""Messages read again at a start: cycles that were open when the last sender stopped are sent whole."""

Progress = Callable[[str, int], None]


async def run(
    settings: TracingSettings,
    bus: Bus,
    clock: Clock,
    cluster: str,
    *,
    on_progress: Progress | None = None,
    errors: ItemErrors | None = None,
) -> None:
    """Send the spans of what is stored until cancelled; `errors` counts what fails alone.

    Raises:
        ConfigError: the receiver's address is no HTTP address.
        BusUnavailable: the log cannot be read.
    """
    sender = SpanSender(settings, cluster)
    try:
        start_seq = max(1, (await bus.info()).last_seq + 1 - OVERLAP_MESSAGES)
        messages = bus.read([subjects.pattern(cluster, (">",))], start_seq=start_seq)
        await trace(messages, sender, settings, clock, on_progress=on_progress, errors=errors)
    finally:
        sender.close()


async def trace(
    messages: Messages,
    sender: SpanSender,
    settings: TracingSettings,
    clock: Clock,
    *,
    on_progress: Progress | None = None,
    errors: ItemErrors | None = None,
) -> None:
    """Send the spans of messages to their end; open cycles are closed there."""
    progress = on_progress or (lambda _state, _seq: None)
    errors = errors or ItemErrors(NAME)
    batch, builder = _Batch(sender, settings, errors), SpanBuilder()
    progress("live", 0)
    ticking = asyncio.create_task(batch.tick(clock), name="tracing-tick")
    try:
        async with aclosing(messages):
            async for message in messages:
                with errors.item("read", message.seq):
                    await batch.add(builder.build(message))
                progress("live", message.seq)
        await batch.add(builder.finish())
        await batch.flush()
    finally:
        await cancel_and_wait(ticking)


class _Batch:
    """Spans that wait for others: until there are enough, or for a while."""

    def __init__(self, sender: SpanSender, settings: TracingSettings, errors: ItemErrors) -> None:
        self._sender = sender
        self._errors = errors
        self._settings = settings
        self._waiting: list[CycleSpan] = []
        self._sending = asyncio.Lock()
        self._log = structlog.get_logger(NAME)

    async def add(self, spans: Sequence[CycleSpan]) -> None:
        """Take spans; the caller waits while a full batch is sent."""
        self._waiting += spans
        if len(self._waiting) >= self._settings.batch_spans:
            await self.flush()

    async def flush(self) -> None:
        """Send what waits."""
        async with self._sending:
            spans, self._waiting = self._waiting, []
            with self._errors.item("send", f"{len(spans)} spans") as item:
                if spans and not await self._sender.send(spans):
                    self._log.warning("the receiver took no spans", lost=self._sender.lost)
            if item.failed:
                self._sender.lost += len(spans)

    async def tick(self, clock: Clock) -> None:
        """Send what waits, again and again, until cancelled."""
        while True:
            await clock.sleep(self._settings.linger_seconds)
            await self.flush()
