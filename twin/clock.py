"""The one clock: a heap of events in cluster time, and what handles each kind.

Events are data (time, number, kind, arguments), so the heap can be hashed and copied. Events of one
time run in the order in which they were planned, so slicing `run` differently changes nothing.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import Any

Argument = str | int | float
Event = tuple[float, int, str, tuple[Argument, ...]]
Handler = Callable[..., Any]


class Clock:
    """Cluster time in unix seconds, exact to the microsecond."""

    def __init__(self, start: float) -> None:
        self.now = start
        self.handled = 0  # events run so far
        self._planned = 0
        self._heap: list[Event] = []
        self._handlers: dict[str, Handler] = {}

    def handle(self, kind: str, handler: Handler) -> None:
        """Let `handler(*arguments)` run the events of `kind`."""
        assert kind not in self._handlers, f"two handlers for {kind}"
        self._handlers[kind] = handler

    def at(self, when: float, kind: str, *arguments: Argument) -> None:
        """Plan an event; a time in the past means now."""
        self._planned += 1
        moment = round(max(when, self.now), 6)
        heapq.heappush(self._heap, (moment, self._planned, kind, arguments))

    def after(self, delay: float, kind: str, *arguments: Argument) -> None:
        """Plan an event `delay` seconds from now."""
        self.at(self.now + delay, kind, *arguments)

    def run(self, until: float) -> None:
        """Run all events up to and including `until`, then stand there; never goes back."""
        heap, handlers = self._heap, self._handlers
        while heap and heap[0][0] <= until:
            when, _, kind, arguments = heapq.heappop(heap)
            self.now = when
            self.handled += 1
            handlers[kind](*arguments)
        self.now = max(self.now, until)

    def state(self) -> object:
        """Return everything that decides what happens next."""
        return [self.now, self._planned, sorted(self._heap)]
