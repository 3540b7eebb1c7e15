"""Requests of one Service by the minute, in one world: offered, failed, and the replicas that were there."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

from projections.score.tally import Slo, service_violates
from schemas.work import ServiceCounters

MINUTE_SECONDS = 60.0
KEPT_MINUTES = 240


class Minute(NamedTuple):
    """One minute of cluster time, or the time between two looks where that is longer."""

    end_seconds: float
    """Cluster time of the newest look in it."""
    seconds: float
    offered: float
    """Requests that were wanted: served, failed and lost ones."""
    served: float
    failed: float
    """Failed or lost."""
    violated_seconds: float
    """In which the Service missed its objective."""
    ready: int
    wanted: int
    """Replicas at the end."""

    @property
    def rate(self) -> float:
        """Requests offered a second."""
        return self.offered / self.seconds


class Replicas(NamedTuple):
    """Replicas behind a Service."""

    ready: int
    wanted: int


@dataclass(frozen=True, slots=True)
class Course:
    """The newest minutes, oldest first; the last one may not be over yet."""

    seen_seconds: float
    counters: ServiceCounters
    minutes: tuple[Minute, ...] = ()

    def after(
        self, at_seconds: float, counters: ServiceCounters, replicas: Replicas, slo: Slo
    ) -> Course:
        """Return the course after a look; counters that fell began anew and count from there."""
        elapsed = at_seconds - self.seen_seconds
        if elapsed <= 0.0:
            return self
        look = replace(self, seen_seconds=at_seconds, counters=counters)
        before = self.counters
        served, failed, lost = (
            getattr(counters, name) - getattr(before, name) for name in ("served", "failed", "lost")
        )
        if min(served, failed, lost) < 0.0:
            return look
        violated = elapsed if service_violates(before, counters, slo) else 0.0
        part = Minute(
            at_seconds, elapsed, served + failed + lost, served, failed + lost, violated, *replicas
        )
        return replace(look, minutes=_with_part(self.minutes, part))

    def between(self, begin_seconds: float, end_seconds: float) -> Iterator[Minute]:
        """Yield the minutes that end after `begin_seconds`, and not after `end_seconds`."""
        return (one for one in self.minutes if begin_seconds < one.end_seconds <= end_seconds)

    def mean_rate(self, begin_seconds: float, end_seconds: float) -> float | None:
        """Return the mean requests a second of a span; None where not all of it was seen."""
        inside = list(self.between(begin_seconds, end_seconds))
        seconds = math.fsum(one.seconds for one in inside)
        if not inside or seconds < 0.75 * (end_seconds - begin_seconds):
            return None
        return math.fsum(one.offered for one in inside) / seconds


def _with_part(minutes: tuple[Minute, ...], part: Minute) -> tuple[Minute, ...]:
    newest = minutes[-1] if minutes else None
    if newest is None or _number(newest.end_seconds) != _number(part.end_seconds):
        return (*minutes[-KEPT_MINUTES + 1 :], part)
    joined = Minute(
        part.end_seconds,
        newest.seconds + part.seconds,
        newest.offered + part.offered,
        newest.served + part.served,
        newest.failed + part.failed,
        newest.violated_seconds + part.violated_seconds,
        part.ready,
        part.wanted,
    )
    return (*minutes[:-1], joined)


def _number(end_seconds: float) -> int:
    """Return which minute a look ends a part of: one at a full minute ends the minute before."""
    return math.ceil(end_seconds / MINUTE_SECONDS)
