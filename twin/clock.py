"""The one clock: a heap of events in cluster time, and what handles each kind.

Events are data (time, number, kind, arguments), so the heap can be hashed, stored and copied.
Events of one time run in the order in which they were planned, so slicing `run` differently changes
nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from typing import Any

from twin.part import Part

Argument = str | int | float
Event = tuple[float, int, str, tuple[Argument, ...]]
Handler = Callable[..., Any]


class Clock(Part):
    """Cluster time in unix seconds, exact to the microsecond."""

    KEEPS = ("now", "handled", "_planned", "_heap")
    LEAVES = ("_handlers",)  # wired when the engine is built

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
        self._planned = number = self._planned + 1
        now = self.now
        heappush(self._heap, (exact(when) if when > now else now, number, kind, arguments))

    def after(self, delay: float, kind: str, *arguments: Argument) -> None:
        """Plan an event `delay` seconds from now."""
        self._planned = number = self._planned + 1
        now = self.now
        when = exact(now + delay) if delay > 0.0 else now
        heappush(self._heap, (when, number, kind, arguments))

    def run(self, until: float) -> None:
        """Run all events up to and including `until`, then stand there; never goes back."""
        until = exact(until)
        heap, handlers = self._heap, self._handlers
        while heap and heap[0][0] <= until:
            self.now, _, kind, arguments = heappop(heap)
            self.handled += 1
            handlers[kind](*arguments)
        self.now = max(self.now, until)

    def step(self, events: int) -> int:
        """Run at most so many events, and stand at the time of the last; return how many ran."""
        heap, handlers = self._heap, self._handlers
        for done in range(events):
            if not heap:
                return done
            self.now, _, kind, arguments = heappop(heap)
            self.handled += 1
            handlers[kind](*arguments)
        return events


def exact(seconds: float) -> float:
    """Return a time rounded to whole microseconds.

    For unix times the result is that of round(seconds, 6) in a fifth of the time: their fraction
    has at most 22 bits, so its microseconds are exact before they are rounded.
    """
    whole = int(seconds)
    return whole + round((seconds - whole) * 1e6) / 1e6
