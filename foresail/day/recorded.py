"""A day out of a log: what observations, reactions and outcomes say, and what they cannot say. Pure."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from foresail.day.day import NOT_OBSERVED, NOT_READY, SAMPLES, Day, Moment, Period, mean
from projections.figures import duration, number
from schemas.envelope import Event
from schemas.observation import Observation, ObservedNodes
from schemas.outcome import ExecutionPhase, OutcomeExecution
from schemas.reaction import Reaction, ReactionKind
from schemas.view import ObservationView, update_view

READS = ("observation", "reaction", "outcome.execution")
"""Subjects that are read."""
MISSING = (
    "requests, their latency and failures",
    "prices of machines",
    "what a scenario or the weather did",
    "evictions, out-of-memory kills and resizes",
    "work of Jobs",
)
_MARKS = {
    ReactionKind.HPA_CHANGE: "rescale",
    ReactionKind.POD_RESTARTED: "restart",
    ReactionKind.POD_FAILED: "failed",
}
_GAP_INTERVALS = 3.0
"""So many cycles without an observation are a gap."""


@dataclass(frozen=True, slots=True)
class _Sample:
    """One observation."""

    at: float
    capacity: float
    requested: float
    used: float
    """NaN where no node had metrics."""
    pending: int
    machines: dict[str, int]


class DayReader:
    """Collects a day from the events of a log, in order."""

    def __init__(self) -> None:
        self.unreadable = 0
        """Messages that this version cannot read."""
        self._view: ObservationView | None = None
        self._samples: list[_Sample] = []
        self._marks: list[tuple[float, str]] = []
        self._spans: list[Period] = []
        self._open: dict[str, Period] = {}
        self._nodes: frozenset[str] | None = None

    def add(self, event: Event[Any]) -> None:
        """Take one event into account."""
        match event.data:
            case Observation():
                self._view = update_view(self._view, event)
                if self._view is not None:
                    self._add_view(self._view)
            case Reaction(reactions=items):
                self._marks += [(i.time_seconds, _MARKS[i.kind]) for i in items if i.kind in _MARKS]
            case OutcomeExecution() as done:
                real = done.phase == ExecutionPhase.FINISHED and done.mode != "shadow"
                if real and done.succeeded and not done.rollback_of:
                    self._marks.append((done.cluster_time_seconds, "action"))
            case _:
                pass

    def _add_view(self, view: ObservationView) -> None:
        nodes, at = view.nodes, view.cluster_time_seconds
        last = self._samples[-1].at if self._samples else at
        if at - last > _GAP_INTERVALS * view.interval_seconds:
            self._spans.append(Period(NOT_OBSERVED, duration(at - last), last, at))
        names = frozenset(nodes.ids)
        if self._nodes is not None:
            self._marks += [(at, "added")] * len(names - self._nodes)
            self._marks += [(at, "removed")] * len(self._nodes - names)
        self._nodes = names
        self._follow_readiness(nodes, at)
        self._samples.append(_sample(nodes, at, view.totals.queue_length))

    def _follow_readiness(self, nodes: ObservedNodes, at: float) -> None:
        down = {name for name, ready in zip(nodes.ids, nodes.ready, strict=True) if not ready}
        for name in [name for name in self._open if name not in down]:
            self._open.pop(name).end = at
        for name in sorted(down.difference(self._open)):
            self._open[name] = Period(NOT_READY, name, at)
            self._spans.append(self._open[name])

    def day(self, last_seconds: float = math.inf) -> Day | None:
        """Return the day, or its last so many seconds; None when at most one moment was observed."""
        end = self._samples[-1].at if self._samples else 0.0
        samples = [sample for sample in self._samples if sample.at >= end - last_seconds]
        if len(samples) < 2:
            return None
        start = samples[0].at
        day = Day(start, end - start, missing=MISSING)
        day.moments = list(self._moments(samples))
        day.spans = [
            Period(span.lane, span.name, max(span.begin - start, 0.0), min(span.end, end) - start)
            for span in self._spans
            if span.end > start
        ]
        return day

    def _moments(self, samples: Sequence[_Sample]) -> Iterator[Moment]:
        """Yield means over equal parts; a part that was not observed is one with the next."""
        start, end = samples[0].at, samples[-1].at
        count = min(SAMPLES, len(samples) - 1)
        step = (end - start) / count
        place, after = 1, start
        for part in range(1, count + 1):
            until = end if part == count else start + part * step
            held: list[_Sample] = []
            while place < len(samples) and samples[place].at <= until:
                held.append(samples[place])
                place += 1
            if held:
                marks = Counter(
                    mark for at, mark in self._marks if after < at <= until or at == after == start
                )
                yield _moment(held, until - start, dict(marks))
                after = until


def _sample(nodes: ObservedNodes, at: float, pending: int) -> _Sample:
    cores, ready = nodes.cpu_allocatable_cores, nodes.ready
    rows = list(zip(cores, nodes.cpu_requested_ratio, nodes.cpu_used_ratio, strict=True))
    known = [size * ratio for size, _, ratio in rows if ratio is not None]
    sizes = [size for size, is_ready in zip(cores, ready, strict=True) if is_ready]
    return _Sample(
        at,
        math.fsum(sizes),
        math.fsum(size * (ratio or 0.0) for size, ratio, _ in rows),
        math.fsum(known) if known else math.nan,
        pending,
        dict(Counter(f"{number(size)} cores" for size in sizes)),
    )


def _moment(held: list[_Sample], at_seconds: float, marks: dict[str, int]) -> Moment:
    return Moment(
        at_seconds=at_seconds,
        capacity_cores=mean([sample.capacity for sample in held]),
        requested_cores=mean([sample.requested for sample in held]),
        used_cores=mean([sample.used for sample in held]),
        pending=max(sample.pending for sample in held),
        machines=held[-1].machines,
        dollars_per_hour=0.0,
        requests_per_second=0.0,
        latency_p95_seconds=math.nan,
        failed_ratio=0.0,
        marks=marks,
    )
