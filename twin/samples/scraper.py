"""Scrapes the twin by itself at even cluster times.

It stands outside of the engine: nothing is planned on the engine's clock, nothing is drawn, and the state hash is
the same with it as without. Advancing the engine in slices changes nothing (see `twin.engine`), so a scrape is
just a place where two slices meet.

Objects are read again only when they have changed, so an idle cluster costs little.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from twin.engine import Engine
from twin.exporters.family import EngineFamilies, LabelValues, ObjectFamilies
from twin.exporters.registry import KEPT, PIECE_ROWS
from twin.samples.store import SampleStore, Series


@dataclass(frozen=True, slots=True)
class SampleSettings:
    """How the twin scrapes itself; seconds are cluster seconds."""

    scrape_seconds: float = 15.0
    """Time between two scrapes, counted from the cluster's start; our own choice: kube-prometheus has 30 s for
    most, 15 s for kubelets and node-exporter. 0: never."""
    retention_seconds: float = 10_800.0
    """How long samples are kept; our own choice: three hours."""
    most_bytes: int = 256 << 20
    """What all samples may take; older ones go first. Our own choice."""


@dataclass(slots=True)
class _Known:
    """What is known of one object, or of one group of engine families."""

    version: int = -1
    series: dict[tuple[str, LabelValues], Series] = field(default_factory=dict)


class Scraper:
    """Takes samples of an engine when they are due."""

    def __init__(self, engine: Engine, settings: SampleSettings) -> None:
        """Begin with the first even moment from now on; raises ValueError for an interval of 0."""
        if settings.scrape_seconds <= 0.0:
            raise ValueError("an interval above 0 is needed")
        self.settings = settings
        self.store = SampleStore(
            KEPT, settings.most_bytes, round(settings.retention_seconds * 1_000)
        )
        self._start = engine.config.start_time
        self._number = math.ceil((engine.now - self._start) / settings.scrape_seconds)
        self._objects: dict[str, dict[str, _Known]] = {}
        self._engines = [_Known() for _ in KEPT.engines]

    @property
    def next_at(self) -> float:
        """Cluster time of the next scrape, unix seconds."""
        return self._start + self._number * self.settings.scrape_seconds

    def advance(self, engine: Engine, until: float) -> None:
        """Let the engine run up to `until`, with every scrape that falls due."""
        for _ in self.pieces(engine, until, engine.advance):
            pass

    def pieces(
        self, engine: Engine, until: float, advance: Callable[[float], None]
    ) -> Iterator[None]:
        """Do the same, and yield whenever others should have their turn."""
        while self.next_at <= until:
            advance(self.next_at)
            yield from self._scrape(engine)
            self._number += 1
        if until > engine.now:
            advance(until)

    def _scrape(self, engine: Engine) -> Iterator[None]:
        self.store.begin(round(engine.now * 1_000))
        rows = 0
        for group in KEPT.objects:
            for changed in self._read_objects(engine, group):
                rows += changed
                if rows >= PIECE_ROWS:
                    rows = 0
                    yield
        for known, live in zip(self._engines, KEPT.engines, strict=True):
            yield from self._read_engine(engine, live, known)
        self.store.commit()
        yield from self.store.trim()

    def _read_objects(self, engine: Engine, group: ObjectFamilies) -> Iterator[int]:
        """Read the objects that changed since; yields how many rows each has."""
        known = self._objects.setdefault(group.resource, {})
        gone = set(known)
        for record in list(engine.store.records(group.resource)):
            gone.discard(record.uid)
            entry = known.get(record.uid)
            if entry is None:
                entry = known[record.uid] = _Known()
            if entry.version != record.resource_version:
                entry.version = record.resource_version
                found: dict[tuple[str, LabelValues], Series] = {}
                for name, values, value in group.rows(record):
                    series = self.store.put(name, values, value)
                    if series is not None:
                        found[name, values] = series
                self._replace(entry, found)
                yield len(found)
        for uid in sorted(gone):
            self._replace(known.pop(uid), {})

    def _read_engine(self, engine: Engine, live: EngineFamilies, known: _Known) -> Iterator[None]:
        found: dict[tuple[str, LabelValues], Series] = {}
        for number, (name, values, value) in enumerate(live.rows(engine)):
            series = self.store.put(name, values, value)
            if series is not None:
                found[name, values] = series
            if number % PIECE_ROWS == PIECE_ROWS - 1:
                yield
        self._replace(known, found)

    def _replace(self, known: _Known, found: dict[tuple[str, LabelValues], Series]) -> None:
        """End the series that are no longer there."""
        for key, series in known.series.items():
            if key not in found:
                self.store.end(series)
        known.series = found
