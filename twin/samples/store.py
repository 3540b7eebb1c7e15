"""Samples of one scrape after the other, kept in memory within a number of bytes.

All series share the scrapes' times, and a series keeps only what changed: (scrape number, value) pairs. So
what never changes costs one pair however long it is kept.

One thread scrapes, another may read meanwhile: pairs are only ever appended, read as a whole by one copy,
and replaced by a new array when old ones are dropped; a scrape shows when it is whole.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from twin.exporters.family import Exporters, Family, LabelValues, expand
from twin.promql.values import NAME, Batch, Bools, Floats, Labels, Matcher, Times

SERIES_BYTES = 440
"""What a series takes beside its pairs, measured: labels, index and arrays."""
PAIR_BYTES = 16
MOST_IN_BATCH = 1_000
"""Series that are handed out at once, so that a query's budget stops it early."""
_GONE = math.nan
"""The value of a pair from which on a series is not there; the twin itself measures no NaN."""


class Series:
    """One series, or several that always have the same value (see `LabelValues`)."""

    __slots__ = ("name", "pairs", "there", "value", "values")

    def __init__(self, name: str, values: LabelValues) -> None:
        self.name = name
        self.values = values
        self.pairs = array("d")
        self.value = _GONE
        self.there = False


class SampleStore:
    """Keeps scrapes and hands out series."""

    def __init__(self, exporters: Exporters, most_bytes: int, retention_ms: int) -> None:
        """Keep samples of `exporters` no longer and no more than that."""
        self.exporters = exporters
        self._most_bytes = most_bytes
        self._retention_ms = retention_ms
        # Number of the oldest scrape that is kept, and the times of all; replaced as one, for readers.
        self._scrapes: tuple[int, list[int]] = (0, [])
        self._at_ms = 0
        self._tables: dict[str, dict[LabelValues, Series]] = {}
        self._series = 0
        self._pairs = 0
        self.refused = 0
        """Samples that had no room, since the newest scrape alone fills the bytes."""
        self.shortened = False
        """Whether scrapes were dropped before their time, for want of bytes."""

    @property
    def bytes(self) -> int:
        """What the samples take, about."""
        return self._series * SERIES_BYTES + self._pairs * PAIR_BYTES

    @property
    def series(self) -> int:
        """How many series are kept; those with one value counted once."""
        return self._series

    @property
    def span_ms(self) -> tuple[int, int] | None:
        """Times of the oldest and the newest scrape; None before the first."""
        _, times = self._scrapes
        return (times[0], times[-1]) if times else None

    @property
    def warnings(self) -> list[str]:
        """What a reader has to know, in sentences."""
        found, span = [], self.span_ms
        if self.refused:
            found.append(f"{self.refused} series of the newest scrape had no room")
        if self.shortened and span is not None:
            seconds = (span[1] - span[0]) // 1_000
            found.append(f"there is room for the samples of {seconds} s only")
        return found

    def begin(self, at_ms: int) -> None:
        """Begin a scrape; what is put until `commit` belongs to it."""
        self._at_ms = at_ms
        self.refused = 0

    def commit(self) -> None:
        """End a scrape: readers see it from now on."""
        self._scrapes[1].append(self._at_ms)

    def put(self, name: str, values: LabelValues, value: float) -> Series | None:
        """Keep a sample; None when there is no room for a further series."""
        table = self._tables.setdefault(name, {})
        series = table.get(values)
        if series is None:
            if self.bytes + SERIES_BYTES > self._most_bytes and len(self._scrapes[1]) <= 1:
                self.refused += 1
                return None
            series = table[values] = Series(name, values)
            self._series += 1
        if not series.there or series.value != value:
            self._append(series, value)
            series.value, series.there = value, True
        return series

    def end(self, series: Series) -> None:
        """Say that this scrape no longer has a series."""
        if series.there:
            self._append(series, _GONE)
            series.there = False

    def _append(self, series: Series, value: float) -> None:
        first, times = self._scrapes
        series.pairs.extend((first + len(times), value))
        self._pairs += 1

    def trim(self) -> Iterator[None]:
        """Drop what is too old, and the older half if there is too much; yields between pieces of work."""
        while times := self._scrapes[1]:
            kept = sum(1 for at in times if at >= times[-1] - self._retention_ms)
            dropped = len(times) - kept
            if self.bytes > self._most_bytes and kept > 1:
                dropped += kept // 2
                self.shortened = True
            elif dropped <= kept // 8:  # walking all series is worth it for many scrapes
                return
            yield from self._drop(dropped)

    def _drop(self, scrapes: int) -> Iterator[None]:
        oldest, times = self._scrapes
        first = oldest + scrapes
        # Times before pairs: a reader that has the old times gets no answer for what is gone, never a wrong one.
        self._scrapes = (first, times[scrapes:])
        for table in list(self._tables.values()):
            for number, (key, series) in enumerate(list(table.items())):
                self._shorten(table, key, series, first)
                if number % MOST_IN_BATCH == MOST_IN_BATCH - 1:
                    yield

    def _shorten(
        self, table: dict[LabelValues, Series], key: LabelValues, series: Series, first: int
    ) -> None:
        pairs, keep = series.pairs, 0
        while keep + 2 < len(pairs) and pairs[keep + 2] <= first:
            keep += 2
        if keep:
            series.pairs = pairs[keep:]
            self._pairs -= keep // 2
        if not series.there and series.pairs[-2] <= first:
            del table[key]
            self._series -= 1
            self._pairs -= len(series.pairs) // 2

    # ---- reading

    def select(self, matchers: Sequence[Matcher], begin: int, end: int) -> Iterator[Batch]:
        """Yield series with their samples from `begin` to `end`, milliseconds, both included."""
        times, numbers = self._between(begin, end)
        batch: list[tuple[Labels, Floats]] = []
        for series, labels in self._matching(matchers):
            if len(numbers):
                values = _values_at(series, numbers)
                batch += ((shown, values) for shown in labels)
            if len(batch) >= MOST_IN_BATCH:
                yield from _batches(batch, times)
                batch = []
        yield from _batches(batch, times)

    def labels(
        self, selectors: Iterable[Sequence[Matcher]], begin: int, end: int
    ) -> Iterator[Labels]:
        """Yield the labels of series that have a sample within a time, by any of the selectors."""
        _, numbers = self._between(begin, end)
        seen: set[int] = set()
        for matchers in selectors:
            for series, labels in self._matching(matchers):
                if len(numbers) and id(series) not in seen:
                    seen.add(id(series))
                    if not np.isnan(_values_at(series, numbers)).all():
                        yield from labels

    def _between(self, begin: int, end: int) -> tuple[Times, Times]:
        """Return times and numbers of the scrapes from `begin` to `end`."""
        first, kept = self._scrapes
        times = np.array(kept, np.int64)
        low, high = np.searchsorted(times, begin), np.searchsorted(times, end, side="right")
        return times[low:high], np.arange(first + low, first + high)

    def _matching(self, matchers: Sequence[Matcher]) -> Iterator[tuple[Series, list[Labels]]]:
        """Yield what passes all conditions, with the labels of each series behind it."""
        of_name = [one for one in matchers if one.label == NAME]
        others = [one for one in matchers if one.label != NAME]
        for name in self._names(of_name):
            family, labels = self.exporters.labels[name]
            places = {label: place for place, label in enumerate(labels)}
            constant = dict(family.constant)
            inner = [(places[one.label], one) for one in others if one.label in places]
            outer = [one for one in others if one.label not in places]
            if not all(one.test(constant.get(one.label, "")) for one in outer):
                continue
            for series in list(self._tables[name].values()):
                values = series.values
                if all(
                    isinstance(values[place], int) or one.test(str(values[place]))
                    for place, one in inner
                ):
                    found = _labels(series, family, labels, inner)
                    if found:
                        yield series, found

    def _names(self, matchers: Sequence[Matcher]) -> list[str]:
        exact = next((one.equals for one in matchers if one.equals is not None), None)
        names = list(self._tables) if exact is None else [exact]
        return [
            name
            for name in names
            if name in self._tables and all(one.test(name) for one in matchers)
        ]


def _labels(
    series: Series, family: Family, labels: Sequence[str], conditions: Sequence[tuple[int, Matcher]]
) -> list[Labels]:
    """Return the labels of each series behind a row; an empty value is no label."""
    found: list[Labels] = []
    for texts in expand(series.values):
        if all(one.test(texts[place]) for place, one in conditions):
            shown = {label: text for label, text in zip(labels, texts, strict=True) if text}
            found.append({NAME: series.name, **shown, **dict(family.constant)})
    return found


def _values_at(series: Series, numbers: Times) -> Floats:
    """Return the value at each scrape; NaN where the series was not there."""
    pairs = np.frombuffer(series.pairs.tobytes()).reshape(-1, 2)
    places = np.searchsorted(pairs[:, 0], numbers, side="right") - 1
    return np.where(places >= 0, pairs[np.maximum(places, 0), 1], np.nan)


def _batches(rows: Sequence[tuple[Labels, Floats]], times: Times) -> Iterator[Batch]:
    """Yield series that were there at the same scrapes together."""
    groups: dict[bytes, tuple[Bools, list[tuple[Labels, Floats]]]] = {}
    for labels, values in rows:
        there = ~np.isnan(values)
        if there.any():
            groups.setdefault(there.tobytes(), (there, []))[1].append((labels, values))
    for there, members in groups.values():
        ended = times[1:][there[:-1] & ~there[1:]]
        stacked = np.stack([values for _, values in members])
        yield Batch([labels for labels, _ in members], times[there], stacked[:, there], ended)


def kept_labels(found: Iterable[Labels]) -> list[Mapping[str, str]]:
    """Return label sets in order, each once."""
    unique = {tuple(sorted(labels.items())): labels for labels in found}
    return [unique[key] for key in sorted(unique)]
