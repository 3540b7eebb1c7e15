"""The one clock: a heap of events in cluster time, and what handles each kind.

Events are data (time, number, kind, arguments), so the heap can be hashed, stored and copied.
Events of one time run in the order in which they were planned, so slicing `run` differently changes
nothing.

An event whose handler raises ends the run, unless `survive` was called: then it is told, and tried again after
5 ms, 10 ms, 20 ms ..., at most MOST_TRIES times in all, while everything else goes on.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from typing import Any

from twin.part import Part

Argument = str | int | float
Event = tuple[float, int, str, tuple[Argument, ...]]
Handler = Callable[..., Any]
Told = Callable[[str, tuple[Argument, ...], Exception], None]
"""(kind, arguments, error) of a step that raised."""
MOST_TRIES = 15
"""As often as most controllers of Kubernetes take up an item that fails."""
_AGAIN, _FIRST_SECONDS = "clock.again", 0.005


class Clock(Part):
    """Cluster time in unix seconds, exact to the microsecond."""

    KEEPS = ("now", "handled", "_planned", "_heap")
    LEAVES = ("_handlers", "_told")  # wired when the engine is built

    def __init__(self, start: float) -> None:
        self.now = start
        self.handled = 0  # events run so far
        self._planned = 0
        self._heap: list[Event] = []
        self._handlers: dict[str, Handler] = {}
        self._told: Told | None = None
        self.handle(_AGAIN, self._again)

    def survive(self, told: Told) -> None:
        """Go on from now on when a step raises, and tell it to `told`; a clone has to be asked anew."""
        self._told = told

    def fail(self, kind: str, arguments: tuple[Argument, ...], error: Exception) -> None:
        """Tell an error of a step, or raise it where nobody wants to survive it."""
        if self._told is None:
            raise error
        self._told(kind, arguments, error)

    def handle(self, kind: str, handler: Handler) -> None:
        """Let `handler(*arguments)` run the events of `kind`."""
        assert kind not in self._handlers, f"two handlers for {kind}"
        self._handlers[kind] = handler

    def pass_over(self, other: Clock) -> None:
        """Let events pass that only another clock has a handler for: those of who looks on there."""
        for kind in other._handlers:
            self._handlers.setdefault(kind, _pass)

    def at(self, when: float, kind: str, *arguments: Argument) -> None:
        """Plan an event; a time in the past means now."""
        self._planned = number = self._planned + 1
        if when > self.now:  # `exact` written out, as in `after`
            whole = when // 1.0
            when = whole + ((when - whole) * 1e6 + _ROUNDS - _ROUNDS) / 1e6
        else:
            when = self.now
        heappush(self._heap, (when, number, kind, arguments))

    def after(self, delay: float, kind: str, *arguments: Argument) -> None:
        """Plan an event `delay` seconds from now."""
        self._planned = number = self._planned + 1
        when = self.now
        if delay > 0.0:  # `exact` written out: this is the hottest line of all
            when += delay
            whole = when // 1.0
            when = whole + ((when - whole) * 1e6 + _ROUNDS - _ROUNDS) / 1e6
        heappush(self._heap, (when, number, kind, arguments))

    def run(self, until: float) -> None:
        """Run all events up to and including `until`, then stop there; never goes back."""
        until = exact(until)
        heap, handlers, began = self._heap, self._handlers, self._planned - len(self._heap)
        try:
            while heap and heap[0][0] <= until:
                try:
                    while heap and heap[0][0] <= until:
                        self.now, _, kind, arguments = heappop(heap)
                        handlers[kind](*arguments)
                except Exception as error:
                    self._try_again(kind, arguments, error)
        finally:
            self.handled += self._planned - len(heap) - began
        self.now = max(self.now, until)

    def run_some(self, until: float, events: int) -> bool:
        """Run at most so many of the events up to and including `until`; return whether all have run.

        Then it stands at `until`, as after `run`; until then at the time of the last event.
        """
        until = exact(until)
        left = events
        while left > 0 and self._heap and self._heap[0][0] <= until:
            left -= self.step(1)
        if self._heap and self._heap[0][0] <= until:
            return False
        self.now = max(self.now, until)
        return True

    def step(self, events: int) -> int:
        """Run at most so many events, stop at the time of the last, and return how many ran."""
        heap, handlers, began = self._heap, self._handlers, self._planned - len(self._heap)
        try:
            for _ in range(events):
                if not heap:
                    break
                self.now, _, kind, arguments = heappop(heap)
                try:
                    handlers[kind](*arguments)
                except Exception as error:
                    self._try_again(kind, arguments, error)
        finally:
            done = self._planned - len(heap) - began
            self.handled += done
        return done

    def _try_again(self, kind: str, arguments: tuple[Argument, ...], error: Exception) -> None:
        """Plan an event once more that raised; after MOST_TRIES it is given up."""
        tries = 1
        if kind == _AGAIN:
            tries, kind, arguments = int(arguments[0]) + 1, str(arguments[1]), arguments[2:]
        self.fail(kind, arguments, error)
        if tries < MOST_TRIES:
            self.after(_FIRST_SECONDS * 2.0 ** (tries - 1), _AGAIN, tries, kind, *arguments)

    def _again(self, tries: int, kind: str, *arguments: Argument) -> None:
        """Run an event that raised before; `tries` travels with it, so that no other state is needed."""
        del tries
        self._handlers[kind](*arguments)


def _pass(*_: Argument) -> None:
    """Handle an event that is nobody's here."""


_ROUNDS = 1.5 * 2.0**52
"""Added to a small number and taken away again, it leaves a whole one: ties go to the even one."""


def exact(seconds: float) -> float:
    """Return a time of 0 or more, rounded to whole microseconds.

    For unix times the result is that of round(seconds, 6) in a fifth of the time: their fraction
    has at most 22 bits, so its microseconds are exact before they are rounded.
    """
    whole = seconds // 1.0
    return whole + ((seconds - whole) * 1e6 + _ROUNDS - _ROUNDS) / 1e6
