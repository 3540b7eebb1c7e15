"""Finding rows of a ledger: the newest one of a key strictly before a time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from features.history.ledger import Ledger
from features.history.tables import I64, Flags


@dataclass(frozen=True, slots=True)
class Lookup:
    """Binary search over one ledger for keys and times that are no earlier than a floor.

    Rows and questions become one number each: the key's rank above the time since the floor.
    """

    ledger: Ledger
    ranks: I64
    """Rank of each asked key among the ledger's keys."""
    known: Flags
    """Whether each asked key has any row."""
    floor_us: int
    bits: int
    places: I64
    """The rows of the ledger as numbers, in increasing order."""

    @classmethod
    def over(cls, ledger: Ledger, keys: I64, floor_us: int, last_us: int) -> Lookup:
        """Prepare to ask for `keys` at times from `floor_us` to `last_us`.

        Raises:
            ValueError: the times and keys do not fit 63 bits together.
        """
        if not len(ledger):
            none = np.zeros(len(keys), dtype=np.int64)
            return cls(ledger, none, none > 0, floor_us, 0, none[:0])
        start = np.append(True, ledger.key[1:] != ledger.key[:-1])
        distinct = ledger.key[start]
        ranks = np.searchsorted(distinct, keys)
        known = distinct[np.minimum(ranks, len(distinct) - 1)] == keys
        bits = int(last_us - floor_us + 2).bit_length()
        if len(distinct).bit_length() + bits > 63:
            raise ValueError(f"anchors {(last_us - floor_us) // 1_000_000} s apart: ask in pieces")
        since = np.clip(ledger.time_us - (floor_us - 1), 0, (1 << bits) - 1)
        places = ((np.cumsum(start) - 1) << bits) | since
        return cls(ledger, ranks, known, floor_us, bits, places)

    def before(self, time_us: I64) -> I64:
        """Return the row of each key's newest event strictly before its time, -1 for none."""
        if not len(self.ledger):
            return np.full(len(self.ranks), -1, dtype=np.int64)
        searched = (self.ranks << self.bits) | (time_us - (self.floor_us - 1))
        index = np.searchsorted(self.places, searched) - 1
        has_row = self.known & (index >= 0)
        has_row &= (self.places[index] >> self.bits) == self.ranks
        return np.where(has_row, index, -1)

    def alive_before(self, time_us: I64) -> I64:
        """Return what `before` does, -1 also for keys that were forgotten by then."""
        index = self.before(time_us)
        rows_found = np.flatnonzero(index >= 0)
        forgotten = self.ledger.forgotten(index[rows_found], time_us[rows_found])
        index[rows_found[forgotten]] = -1
        return index
