"""Where a log tells of learned policies: in every cycle, and only the newest of each agent counts. Pure.

Eight bytes are held of each; whoever needs one reads it from the log.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from schemas.envelope import Event
from schemas.learned import LearnedChoice, OutcomeLearned


@dataclass(slots=True)
class LearnedPlaces:
    """Positions of events of which the newest one replaces all before it."""

    _seqs: dict[tuple[str, str], array[int]] = field(default_factory=dict)
    """By type and agent."""
    _begins: dict[str, array[int]] = field(default_factory=dict)
    """Of each agent: the first choice of each policy in a row."""
    _policies: dict[str, str] = field(default_factory=dict)
    """The newest of each agent."""

    def take(self, event: Event[Any]) -> bool:
        """Note an event; False when it is of another kind."""
        match event.data:
            case LearnedChoice(agent=agent, policy=policy):
                if self._policies.get(agent) != policy:
                    self._policies[agent] = policy
                    self._begins.setdefault(agent, array("q")).append(event.seq)
            case OutcomeLearned(agent=agent):
                pass
            case _:
                return False
        self._seqs.setdefault((event.data.TYPE, agent), array("q")).append(event.seq)
        return True

    def newest(self, until_seq: int) -> Iterator[int]:
        """Yield the positions of those that count at a position."""
        for seqs in self._seqs.values():
            if place := bisect_right(seqs, until_seq):
                yield seqs[place - 1]

    def choices(self, agent: str, until_seq: int) -> int:
        """Return how many choices of the policy there were by a position that an agent had there."""
        seqs = self._seqs[LearnedChoice.TYPE, agent]
        begins = self._begins[agent]
        begin = begins[bisect_right(begins, until_seq) - 1]
        return bisect_right(seqs, until_seq) - bisect_left(seqs, begin)
