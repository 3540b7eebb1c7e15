"""Decisions of a long log: the newest as objects, older ones packed in blocks. Pure, and of bounded size.

A decision as objects weighs about 750 bytes, packed with its neighbours some 40. A block says besides what occurs in
it, so that one without what is asked for need not be unpacked, and that counting need not either.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice

from services.dashboard.decision_entry import DecisionEntry, Tally
from services.dashboard.packing import packed, unpacked

MOST_DECISIONS = 50_000
"""Decisions that are listed, the newest ones."""
UNPACKED = 1_024
"""Newest decisions that may still change: more than the cycles whose outcomes the page's state knows
(`CycleRecords.limit`)."""
IN_BLOCK = 256
_LEVEL = 9


@dataclass(frozen=True, slots=True)
class _Block:
    first_seq: int
    settled_seq: int
    """From here on nothing of it changes."""
    tally: Tally
    """As all of it stands there."""
    packed: bytes

    def entries(self) -> list[DecisionEntry]:
        entries: list[DecisionEntry] = unpacked(self.packed)
        return entries


def _block_of(entries: list[DecisionEntry]) -> _Block:
    settled = max(entry.settled_seq for entry in entries)
    return _Block(
        min(entry.seq for entry in entries),
        settled,
        Tally.of(entries, settled),
        packed(entries, _LEVEL),
    )


@dataclass(slots=True)
class DecisionBook:
    """Everything decided so far."""

    _newest: dict[int, DecisionEntry] = field(default_factory=dict)
    """By cycle, oldest first."""
    _blocks: deque[_Block] = field(default_factory=deque)
    """Before those, oldest first."""
    _dropped: int = 0
    """Oldest entries of the oldest block that are not listed any more."""

    def __len__(self) -> int:
        """Return how many are listed."""
        return len(self._blocks) * IN_BLOCK - self._dropped + len(self._newest)

    def newest(self, cycle: int) -> DecisionEntry | None:
        """Return a cycle's decision for a change; None where there is none, or it is too old for one."""
        return self._newest.get(cycle)

    def add(self, cycle: int, entry: DecisionEntry) -> None:
        """Add the newest decision."""
        self._newest[cycle] = entry
        if len(self._newest) == UNPACKED + IN_BLOCK:
            oldest = list(islice(self._newest, IN_BLOCK))
            self._blocks.append(_block_of([self._newest.pop(one) for one in oldest]))
        if len(self) > MOST_DECISIONS:
            self._dropped += 1
        if self._dropped == IN_BLOCK:
            self._blocks.popleft()
            self._dropped = 0

    def tally(self, until_seq: int) -> Tally:
        """Return what there is up to a position, as it stood there."""
        whole = Tally()
        for block, dropped in self._newest_blocks(until_seq):
            if dropped or block.settled_seq > until_seq:
                whole.add(Tally.of(block.entries()[dropped:], until_seq))
            else:
                whole.add(block.tally)
        whole.add(Tally.of(self._newest.values(), until_seq))
        return whole

    def newest_first(
        self, until_seq: int, may_hold: Callable[[Tally], bool] | None = None
    ) -> Iterator[DecisionEntry]:
        """Yield the decisions up to a position, newest first; blocks that cannot hold what is asked for are left out.

        Args:
            until_seq: the position.
            may_hold: whether one of those that were counted may be asked for; None for all.
        """
        for entry in reversed(self._newest.values()):
            if entry.seq <= until_seq:
                yield entry
        for block, dropped in self._newest_blocks(until_seq):
            if may_hold is None or block.settled_seq > until_seq or may_hold(block.tally):
                for entry in reversed(block.entries()[dropped:]):
                    if entry.seq <= until_seq:
                        yield entry

    def _newest_blocks(self, until_seq: int) -> Iterator[tuple[_Block, int]]:
        """Yield the blocks that begin by a position, newest first, each with how many of it are not listed."""
        for place in range(len(self._blocks) - 1, -1, -1):
            block = self._blocks[place]
            if block.first_seq <= until_seq:
                yield block, 0 if place else self._dropped
