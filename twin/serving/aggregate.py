"""A pod as a queue, interval by interval: formulas at rest, a fluid while there is a backlog.

At loads up to HOTTEST an interval is a queue at rest (`steady.py`). Above, and until the backlog is
gone, requests are a fluid that is served in order of arrival: what came together waits together, and what
has waited `timeout_seconds` fails. There the wait of those served swings below the timeout by an
exponential amount, the reflected Brownian motion of a queue in heavy traffic (J. F. C. Kingman 1962).

Counts are expected numbers, not whole. Guarantee: as many requests as came are in the queue or have
ended: served, failed, or lost with it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from twin.part import keepable
from twin.serving.latency import BOUNDS, SIZE, counts_of_cdf
from twin.serving.portable_math import interpolate, log, weighted
from twin.serving.service_time import ServiceTime
from twin.serving.steady import POINTS, Steady, steady_queue

Floats = npt.NDArray[np.float64]
HOTTEST = 0.98
_LEAST_SPEED = 1e-9
_STEP = 0.01  # of the loads at which queues at rest are worked out
_FLUID_STEPS = 16
_SWINGS = tuple(
    -math.log1p(-(part + 0.5) / 8.0) for part in range(8)
)  # an exponential amount, in eight equal shares
_TIMEOUT_STEPS = 40  # a decade
_SURELY_MEANS = 30.0


@dataclass(frozen=True, slots=True)
class Work:
    """What a request asks of a pod; seconds are cluster seconds."""

    service: ServiceTime
    cpu_seconds: float
    """Mean CPU-seconds of a request."""
    timeout_seconds: float
    """How long a client waits for its request to be begun."""


@dataclass(frozen=True, slots=True)
class Served:
    """Events of an interval; numbers of requests may be fractions."""

    served: float
    failed: float
    """Requests whose client gave up."""
    latencies: Floats
    """Served requests by bucket of `latency.BOUNDS`."""
    latency_seconds: float
    """Sum of the latencies of those."""
    present_seconds: float
    """Integral over the interval of the number of requests in the queue."""


QueueState = tuple[float, float, tuple[tuple[float, float, float], ...]]


@keepable
@dataclass(slots=True, eq=False)
class AggregateQueue:
    """The requests in one pod, at `now`."""

    now: float
    present: float = 0.0
    """Expected number of requests that wait or are being served."""
    backlog: list[tuple[float, float, float]] = field(default_factory=list)
    """First and last arrival and number of requests that wait, in order; empty for a queue at rest."""

    @property
    def waiting(self) -> float:
        """Requests of the backlog."""
        return math.fsum([number for _, _, number in self.backlog])

    @property
    def state(self) -> QueueState:
        """Everything that what comes next depends on."""
        return self.now, self.present, tuple(self.backlog)

    def become_as(self, other: AggregateQueue) -> None:
        """Take over the state of a queue to which the same happened."""
        self.now, self.present, self.backlog = other.now, other.present, [*other.backlog]

    def settle(
        self, until: float, requests: float, work: Work, *, workers: int, speed: float
    ) -> Served:
        """Let the time from `now` to `until` pass, in which so many requests come evenly.

        `speed` is CPU-seconds per second of one worker (0: nothing moves).
        """
        span = until - self.now
        if span <= 0.0:
            return Served(0.0, 0.0, np.zeros(SIZE), 0.0, 0.0)
        rate, each = requests / span, work.cpu_seconds / max(speed, _LEAST_SPEED)
        load, before = rate * each / workers, self.present
        tally = _Tally(work.service, each)
        if load > HOTTEST or self.backlog:
            self._flow(until, rate, workers / each, work, tally)
        rest = until - self.now
        if rest > 0.0:
            steady = _at_rest(work.service.cv, workers, load, work.timeout_seconds / each)
            tally.add_steady(steady, rate * rest)
            self.present = rate * (1.0 - steady.failed_ratio) * steady.mean_latency * each
        else:
            self.present = self.waiting + workers * min(1.0, load)
        self.now = until
        served = before + requests - tally.failed - self.present
        if served < 0.0:
            self.present += served
            served = 0.0
        present_seconds = (before + self.present) / 2.0 * span
        return tally.close(served, present_seconds)

    def _flow(self, until: float, rate: float, capacity: float, work: Work, tally: _Tally) -> None:
        """Let the fluid flow, to the end or until there is no backlog at a load that can be served."""
        began, step, load = self.now, (until - self.now) / _FLUID_STEPS, rate / capacity
        noise = load * (1.0 + work.service.cv**2) / capacity
        swing = noise / (2.0 * (load - 1.0)) if load > 1.0 else 0.0
        for number in range(_FLUID_STEPS):
            start, end = began + number * step, began + (number + 1) * step
            if rate > 0.0:
                self.backlog.append((start, end, rate * step))
            at = (start + end) / 2.0
            lapsed = self._lapse(at - work.timeout_seconds)
            for wait, taken in self._serve(at, capacity * step):
                if lapsed:  # who is served has waited as long as a client would
                    tally.add_waiting(work.timeout_seconds, taken, swing)
                else:
                    tally.add_waiting(wait, taken)
            tally.failed += lapsed
            self.now = until if number == _FLUID_STEPS - 1 else end
            if not self.backlog and load <= HOTTEST:
                return

    def _lapse(self, since: float) -> float:
        """Take away what came before `since`, and return how many requests that were."""
        lapsed, gone = 0.0, 0
        for first, last, number in self.backlog:
            if last > since:
                if first < since:
                    part = number * (since - first) / (last - first)
                    self.backlog[gone] = (since, last, number - part)
                    lapsed += part
                break
            lapsed += number
            gone += 1
        del self.backlog[:gone]
        return lapsed

    def _serve(self, at: float, most: float) -> list[tuple[float, float]]:
        """Serve at most so many requests of the backlog, the earliest first; return their waits in
        seconds and numbers.
        """
        gone, waits = 0, []
        for first, last, number in self.backlog:
            taken = min(number, most)
            border = first + (last - first) * taken / number
            waits.append((max(0.0, at - (first + border) / 2.0), taken))
            most -= taken
            if taken < number:
                self.backlog[gone] = (border, last, number - taken)
                break
            gone += 1
        del self.backlog[:gone]
        return waits


@dataclass(frozen=True, slots=True, eq=False)
class Rest:
    """An interval of queues at rest that are all alike."""

    present: float
    """Requests in each at its end."""
    failed_ratio: float
    latency_seconds: float
    """Mean of those served."""
    below: Floats
    """Share of those with at most `latency.BOUNDS`."""


def rest_interval(work: Work, rate: float, *, workers: int, speed: float) -> Rest:
    """Return what an interval at rest is like at a load of at most HOTTEST; `rate` is requests per second."""
    each = work.cpu_seconds / max(speed, _LEAST_SPEED)
    steady = _at_rest(work.service.cv, workers, rate * each / workers, work.timeout_seconds / each)
    latency = steady.mean_latency * each
    present = rate * (1.0 - steady.failed_ratio) * latency
    return Rest(present, steady.failed_ratio, latency, _below(steady, each))


class _Tally:
    """Latencies of an interval as a mixture, `each` being the mean time of a service in seconds."""

    def __init__(self, service: ServiceTime, each: float) -> None:
        self.each = each
        self.failed = 0.0
        self._service = service
        self._waits: list[float] = []
        self._numbers: list[float] = []
        self._steady: tuple[Steady, float] | None = None

    def add_steady(self, steady: Steady, requests: float) -> None:
        """Add requests that come to a queue at rest."""
        failed = requests * steady.failed_ratio
        self.failed += failed
        self._steady = (steady, requests - failed)

    def add_waiting(self, wait: float, requests: float, swing: float = 0.0) -> None:
        """Add requests that waited so long, or less by an exponential amount of mean `swing`."""
        if swing <= 0.0:
            self._waits.append(wait)
            self._numbers.append(requests)
            return
        self._waits += [max(wait - swing * amount, 0.0) for amount in _SWINGS]
        self._numbers += [requests / len(_SWINGS)] * len(_SWINGS)

    def close(self, served: float, present_seconds: float) -> Served:
        """Return the interval's account; the mixture is that of all that were served."""
        below, seconds, total = np.zeros(len(BOUNDS)), 0.0, math.fsum(self._numbers)
        if total > 0.0:
            waits, numbers = np.array(self._waits), np.array(self._numbers)
            first = int(BOUNDS.searchsorted(waits.min(), "right"))  # nobody waited less
            over = np.maximum(BOUNDS[first:] - waits[:, None], 0.0) / self.each
            rows = self._service.cdf(over.ravel()).reshape(over.shape)
            below[first:] += weighted(numbers, rows)
            seconds += math.fsum((numbers * waits).tolist()) + total * self.each
        if self._steady is not None and self._steady[1] > 0.0:
            steady, number = self._steady
            below += number * _below(steady, self.each)
            seconds += number * steady.mean_latency * self.each
            total += number
        if total <= 0.0:
            return Served(served, self.failed, np.zeros(SIZE), 0.0, present_seconds)
        counts = counts_of_cdf(below / total, served)
        return Served(served, self.failed, counts, seconds / total * served, present_seconds)


def _below(steady: Steady, each: float) -> Floats:
    return interpolate(_LOG_BOUNDS - math.log(each), _LOG_POINTS, steady.below)


_LOG_POINTS, _LOG_BOUNDS = log(POINTS), log(BOUNDS)


def _at_rest(cv: float, servers: int, load: float, timeout: float) -> Steady:
    """Return the queue at rest between those of the two nearest loads that are worked out."""
    place = min(load, HOTTEST) / _STEP
    low = min(int(place), round(HOTTEST / _STEP) - 1)
    part = place - low
    near = _rounded(cv, servers, low + 1, timeout)
    first, second = _worked_out(cv, servers, low, near), _worked_out(cv, servers, low + 1, near)
    rest = 1.0 - part
    return Steady(
        rest * first.below + part * second.below,
        rest * first.mean_latency + part * second.mean_latency,
        rest * first.mean_wait + part * second.mean_wait,
        rest * first.failed_ratio + part * second.failed_ratio,
    )


def _rounded(cv: float, servers: int, place: int, timeout: float) -> float:
    """Return a timeout that is one of few: infinite when waits surely stay below it."""
    scale = (1.0 + cv * cv) / (2.0 * servers * (1.0 - place * _STEP)) + max(1.0, cv * cv)
    if timeout > _SURELY_MEANS * scale:
        return math.inf
    return float(10.0 ** (round(math.log10(max(timeout, 1e-6)) * _TIMEOUT_STEPS) / _TIMEOUT_STEPS))


@lru_cache(maxsize=4_096)
def _worked_out(cv: float, servers: int, place: int, timeout: float) -> Steady:
    return steady_queue(_service(cv), servers, place * _STEP, timeout)


@lru_cache(maxsize=64)
def _service(cv: float) -> ServiceTime:
    return ServiceTime(cv)
