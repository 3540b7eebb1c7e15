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


class Effect(Enum):
    """What the executor does for one part of a cycle's decision."""

    EXECUTE = auto()
    """Carry out the decision, or complete its stored plan after a restart."""
    SETTLE = auto()
    """Carry out what a person approved, or say that it was denied or has run out."""
    VERIFY = auto()
    ROLL_BACK = auto()


class Attempts:
    """The effects that were begun, each at most once for each part of a cycle's decision."""

    def __init__(self) -> None:
        """Begin without any attempt."""
        self._begun: OrderedDict[tuple[Effect, Place, int], None] = OrderedDict()

    def begin(self, effect: Effect, place: Place, retry: int = 0) -> bool:
        """Note an attempt; return whether it is the first of this try."""
        if (effect, place, retry) in self._begun:
            return False
        self._begun[effect, place, retry] = None
        while len(self._begun) > KEPT_ATTEMPTS:
            self._begun.popitem(last=False)
        return True

    def allow_retry(self, effect: Effect, place: Place, retry: int = 0) -> None:
        """Forget an attempt that could not be made, so that the next step makes it."""
        del self._begun[effect, place, retry]
