"""How many Kubernetes Events one object may get, as client-go's recorder bounds it; pure."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable

BURST = 25
SECONDS_EACH = 300.0
KEPT_OBJECTS = 4_096


class EventBudget:
    """Counts the events of each object: 25 at once, then one in five minutes."""

    def __init__(self) -> None:
        """Begin with nothing spent."""
        self._spent: OrderedDict[Hashable, tuple[float, float]] = OrderedDict()
        """By object: tokens spent, and the cluster time at which that was so."""

    def take(self, key: Hashable, now_seconds: float) -> bool:
        """Take a token of an object's, if it has one left."""
        spent, since = self._spent.pop(key, (0.0, now_seconds))
        spent = max(0.0, spent - max(0.0, now_seconds - since) / SECONDS_EACH)
        allowed = spent + 1.0 <= BURST
        self._spent[key] = (spent + 1.0 if allowed else spent, now_seconds)
        while len(self._spent) > KEPT_OBJECTS:
            self._spent.popitem(last=False)
        return allowed
