"""What this process has seen of ends that others may change again before they are verified.

An autoscaler may want another number of replicas soon after a replicate; that the number was there at an
observation after it is what counts. After a restart only what is shown then counts.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

from services.executor.verification import End

KEPT_EXECUTIONS = 1_000
"""More than the executions that wait for their verification."""


class Looks:
    """The ends of executions that were shown at any look, by the execution's id."""

    def __init__(self) -> None:
        """Begin without any look."""
        self._reached: OrderedDict[str, tuple[int, frozenset[int]]] = OrderedDict()

    def has_seen(self, execution_id: str, cycle: int) -> bool:
        """Say whether an execution was looked at after the observation of a cycle."""
        return self._reached.get(execution_id, (-1, frozenset()))[0] >= cycle

    def add(self, execution_id: str, cycle: int, ends: Sequence[End]) -> tuple[End, ...]:
        """Note a look after the observation of a cycle; return the ends of all looks together."""
        _, reached = self._reached.pop(execution_id, (-1, frozenset[int]()))
        reached |= {number for number, end in enumerate(ends) if end is End.REACHED}
        self._reached[execution_id] = (cycle, reached)
        while len(self._reached) > KEPT_EXECUTIONS:
            self._reached.popitem(last=False)
        return tuple(End.REACHED if number in reached else end for number, end in enumerate(ends))
