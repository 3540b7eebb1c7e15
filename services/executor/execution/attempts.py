"""Which effects this process has attempted already.

An event that this process published may still be on its way back, so the state can ask again for
what was just done.
"""

from __future__ import annotations

from collections import OrderedDict
from enum import Enum, auto

from services.executor.ledger import Place

KEPT_ATTEMPTS = 10_000
"""Attempts kept; by then the events of older ones have long been applied."""


MOST_TRIES = 5
"""How often an effect is tried that raises: after 1, 2, 4 and 8 more cycles, by which a stored plan is too old."""


class SideEffect(Enum):
    """Side effect of the executor for one part of a cycle's decision."""

    EXECUTE = auto()
    """Carry out the decision, or complete its stored plan after a restart."""
    VERIFY = auto()
    ROLL_BACK = auto()


class Attempts:
    """The effects that were begun, each at most once for each part of a cycle's decision."""

    def __init__(self) -> None:
        """Begin without any attempt."""
        self._begun: OrderedDict[tuple[SideEffect, Place, int], None] = OrderedDict()
        self._failed: OrderedDict[tuple[SideEffect, Place, int], tuple[int, int | None]] = (
            OrderedDict()
        )
        """Tries so far of what raised, and the cycle in which another is allowed; None: it is under way, or
        there is none."""

    def begin(self, effect: SideEffect, place: Place, retry: int = 0) -> bool:
        """Note an attempt; return whether it is the first of this try."""
        if (effect, place, retry) in self._begun:
            return False
        self._begun[effect, place, retry] = None
        while len(self._begun) > KEPT_ATTEMPTS:
            self._begun.popitem(last=False)
        return True

    def allow_retry(self, effect: SideEffect, place: Place, retry: int = 0) -> None:
        """Forget an attempt that could not be made, so that the next step makes it."""
        del self._begun[effect, place, retry]

    def note_failure(self, cycle: int, effect: SideEffect, place: Place, retry: int = 0) -> None:
        """Note that an attempt raised in a cycle; `allow_failed` gives it another, unless it was the last."""
        tries = self._failed.pop((effect, place, retry), (0, None))[0] + 1
        due = cycle + 2 ** (tries - 1) if tries < MOST_TRIES else None
        self._failed[effect, place, retry] = (tries, due)
        while len(self._failed) > KEPT_ATTEMPTS:
            self._failed.popitem(last=False)

    def allow_failed(self, cycle: int) -> None:
        """Let what raised be tried once more, if the time for that has come."""
        for key, (tries, due) in self._failed.items():
            if due is not None and cycle >= due:
                self._begun.pop(key, None)
                self._failed[key] = (tries, None)
