"""The newest origin of many series at once, told again and again as time goes on.

What was carried along (`walks`) is used where it fits: the same history, and one stride more. Else a series is walked
through from its beginning, with the same numbers.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from features.demand.features import Described, walked
from features.demand.past import DAY_SECONDS, STRIDE_SECONDS, Ints
from features.demand.rules import bands_from_errors
from features.demand.walks import Followed, Walks
from features.series.quantiles import Floats

FEWEST_ROWS = 16


class Together:
    """Series by name, on grids of one step."""

    def __init__(self, step_seconds: int) -> None:
        """Take the length of a step."""
        self._step = step_seconds
        self._stride = max(STRIDE_SECONDS, step_seconds)
        self._rows: dict[str, int] = {}
        self._seen: dict[str, tuple[int, Floats]] = {}
        self._walks: dict[int, Walks] = {}
        """By what is left of an origin's time after whole strides."""
        self._told_s: dict[str, int] = {}
        """When each was told last."""
        self._room = 0

    def describe(self, names: Sequence[str], followed: Followed) -> tuple[Described, Floats]:
        """Return what a model reads at the newest origin, and (series, horizons, RULES, QUANTILES) bands of the rules.

        Args:
            names: of the series, each once.
            followed: the series, in this order.
        """
        self._make_room(names, followed.origin_s)
        walks, rows = self._walks_of(names, followed)
        self._begin_late(walks, rows, followed)
        described, errors = walks.advance(rows, followed)
        return described, bands_from_errors(described.rules, errors)

    def late(self, names: Sequence[str], origin_s: int) -> list[str]:
        """Return the series told of before that an origin would find to be walked through from their beginning."""
        walks = self._walks.get(origin_s % self._stride)
        known = [name for name in names if name in self._rows]
        if walks is None:
            return known
        before_s = origin_s - self._stride
        return [name for name in known if walks.newest_s[self._rows[name]] != before_s]

    def prepare(self, names: Sequence[str], followed: Followed) -> None:
        """Walk through series up to the stride before an origin that is to come; its step is not known yet."""
        walks, rows = self._walks_of(names, followed, unknown=1)
        self._begin_late(walks, rows, followed)

    def _walks_of(
        self, names: Sequence[str], followed: Followed, unknown: int = 0
    ) -> tuple[Walks, Ints]:
        self._forget_changed(names, followed, unknown)
        phase = followed.origin_s % self._stride
        if phase not in self._walks:
            self._walks[phase] = Walks(self._room, self._step)
        return self._walks[phase], np.array([self._rows[name] for name in names], dtype=np.int64)

    def _begin_late(self, walks: Walks, rows: Ints, followed: Followed) -> None:
        before_s = followed.origin_s - self._stride
        for place in np.flatnonzero(walks.newest_s[rows] != before_s).tolist():
            past, origins = followed.one(place)
            before = origins.some(slice(len(origins) - 1))
            walks.begin(int(rows[place]), walked(past, before), before)
            walks.newest_s[rows[place]] = before_s

    def _make_room(self, names: Sequence[str], origin_s: int) -> None:
        """Give each series a row; where there are too few, all begin anew with some to spare.

        Series come in turns, so those that others are told without keep theirs for a day.
        """
        self._told_s |= dict.fromkeys(names, origin_s)
        new = [name for name in names if name not in self._rows]
        if len(self._rows) + len(new) > self._room:
            told = self._told_s.items()
            self._told_s = {name: at for name, at in told if at >= origin_s - DAY_SECONDS}
            self._rows, self._seen = {}, {}
            new = list(self._told_s)
            self._room = max(FEWEST_ROWS, len(new) + len(new) // 4)
            self._walks.clear()
        for name in new:
            self._rows[name] = len(self._rows)

    def _forget_changed(self, names: Sequence[str], followed: Followed, unknown: int) -> None:
        """Let series begin anew whose history is not what it was, with more before its `unknown` last steps."""
        end = followed.values.shape[1] - unknown
        firsts = followed.first_known().tolist()
        for values, first, name in zip(followed.values, firsts, names, strict=True):
            known = values[(first - followed.start_s) // self._step : end]
            since, before = self._seen.get(name, (first, known[:0]))
            same = since == first and np.array_equal(known[: len(before)], before, equal_nan=True)
            if not same:
                for walks in self._walks.values():
                    walks.newest_s[self._rows[name]] = -1
            self._seen[name] = (first, known)
