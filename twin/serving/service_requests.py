"""One Service's requests over an interval: from its traffic to its pods, and what becomes of them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from twin.chance import Chance
from twin.request_settings import RequestSettings
from twin.serving.aggregate import (
    HOTTEST,
    AggregateQueue,
    QueueState,
    Served,
    Work,
    rest_interval,
)
from twin.serving.backends import Backends
from twin.serving.draws import poisson_times, uniforms
from twin.serving.exact import ExactQueue
from twin.serving.latency import BOUNDS, count_latencies, counts_of_cdf
from twin.serving.portable_math import total
from twin.serving.service_time import ServiceTime
from twin.traffic import Traffic

Floats = npt.NDArray[np.float64]
_SPEED_STEPS = 1_000.0
HotQueues = dict[tuple[QueueState, float, int, float], tuple[AggregateQueue, Served]]
"""A queue played and what came of it, by its state before, the requests, its workers and their speed."""


@dataclass(frozen=True, slots=True)
class TrafficInterval:
    """From `begin` to `end`; `each` requests come to each pod that is routed to, `speed` is by pod."""

    begin: float
    end: float
    each: float
    speed: Floats

    @property
    def seconds(self) -> float:
        """Its length."""
        return self.end - self.begin


class ServiceRequests:
    """Plays intervals of one Service."""

    def __init__(self, key: str, settings: RequestSettings, chance: Chance, *, exact: bool) -> None:
        self.key = key
        self.settings = settings
        self._exact = exact
        self._bursts = chance.draws("traffic bursts")
        self._arrivals = chance.draws("request arrivals")
        self._needs = chance.draws("request work")
        service = ServiceTime(settings.cv)
        self._work = Work(service, settings.cpu_seconds, settings.timeout_seconds)

    def expected(self, begin: float, end: float, start: float) -> float:
        """Return the requests that are to be expected between two times."""
        return self.expected_of(self.settings.traffic, (begin, end), start, self.key)

    def expected_of(
        self, traffic: Traffic, span: tuple[float, float], since: float, bursts: str | int
    ) -> float:
        """Return the same of another course, whose times count from `since`; `bursts` is the entity of
        its draws.
        """

        def draw(number: int) -> float:
            return self._bursts.uniform(bursts, number)

        return traffic.requests(*span, since, draw)

    def drawn(self, entity: str, begin: float, end: float, expected: float) -> float:
        """Return how many requests come to one place: drawn in exact mode, as expected otherwise."""
        if not self._exact:
            return expected
        return float(len(self._times(entity, begin, end, expected)))

    def _times(self, entity: str, begin: float, end: float, expected: float) -> Floats:
        key = self._arrivals.bits(f"{self.key}/{entity}", round(begin * 1e6))
        return poisson_times(key, begin, end, expected)

    # ---- one interval of all pods

    def play(self, backends: Backends, interval: TrafficInterval) -> None:
        """Let an interval pass for all pods."""
        if self._exact:
            for place in range(len(backends.uids)):
                self._play_exactly(backends, place, interval)
            return
        groups: dict[tuple[float, float, float], list[int]] = {}
        hot: HotQueues = {}
        speeds = np.maximum(np.round(interval.speed * _SPEED_STEPS), 1.0) / _SPEED_STEPS
        rows = zip(
            speeds.tolist(), backends["workers"].tolist(), backends["routed"].tolist(), strict=True
        )
        for place, alike in enumerate(rows):
            if backends.uids[place] in backends.queues:
                self._play_hot(backends, place, interval, alike[0], hot)
            else:
                groups.setdefault(alike, []).append(place)
        for (speed, workers, routed), places in groups.items():
            requests = interval.each * routed
            load = requests / interval.seconds * self.settings.cpu_seconds / (speed * workers)
            if load > HOTTEST:
                for place in places:
                    self._play_hot(backends, place, interval, speed, hot)
            else:
                self._play_at_rest(backends, np.array(places), interval, (requests, workers, speed))

    def _play_at_rest(
        self,
        backends: Backends,
        places: npt.NDArray[np.int64],
        interval: TrafficInterval,
        shape: tuple[float, float, float],
    ) -> None:
        """Play pods that are alike and have no backlog; `shape`: requests, workers and speed of each."""
        requests, workers, speed = shape
        rest = rest_interval(
            self._work, requests / interval.seconds, workers=int(workers), speed=speed
        )
        failed = requests * rest.failed_ratio
        before = backends["present"][places]
        after = np.minimum(rest.present, before + (requests - failed))
        served = before + (requests - failed) - after
        backends["present"][places] = after
        backends["arrived"][places] += requests
        backends["served"][places] += served
        backends["failed"][places] += failed
        backends["latency_seconds"][places] += served * rest.latency_seconds
        backends.add_served(places, served, rest.below)
        account, number = backends.account, total(served)
        account.arrived += requests * len(places)
        account.served += number
        account.timed_out += failed * len(places)
        account.latency_seconds += number * rest.latency_seconds
        account.present_seconds += (total(before) + total(after)) / 2.0 * interval.seconds
        account.latencies += counts_of_cdf(rest.below, number)

    def _play_hot(
        self,
        backends: Backends,
        place: int,
        interval: TrafficInterval,
        speed: float,
        hot: HotQueues,
    ) -> None:
        """Play a pod in overload, or with a backlog from one; `hot` are those played in this interval.

        Replicas that were overloaded together are alike to the last bit, so one is worked out for all.
        """
        uid = backends.uids[place]
        queue = backends.queues.get(uid)
        if not isinstance(queue, AggregateQueue):
            present = float(backends["present"][place])
            queue = backends.queues[uid] = AggregateQueue(interval.begin, present)
        requests = interval.each * float(backends["routed"][place])
        workers = int(backends["workers"][place])
        shape = (queue.state, requests, workers, speed)
        if shape in hot:
            like, found = hot[shape]
            queue.become_as(like)
        else:
            found = queue.settle(interval.end, requests, self._work, workers=workers, speed=speed)
            hot[shape] = queue, found
        self._account(
            backends, place, requests, (found.served, found.failed, found.latency_seconds)
        )
        backends["present"][place] = queue.present
        backends.account.present_seconds += found.present_seconds
        backends.account.latencies += found.latencies
        if found.served > 0.0:
            below = np.cumsum(found.latencies)[: len(BOUNDS)] / found.served
            backends.add_served(np.array([place]), np.array([found.served]), below)
        if not queue.backlog:
            del backends.queues[uid]

    def _play_exactly(self, backends: Backends, place: int, interval: TrafficInterval) -> None:
        uid = backends.uids[place]
        queue = backends.queues.get(uid)
        if not isinstance(queue, ExactQueue):
            queue = backends.queues[uid] = ExactQueue(interval.begin)
        requests = interval.each * float(backends["routed"][place])
        times = self._times(uid, interval.begin, interval.end, requests)
        key = self._needs.bits(f"{self.key}/{uid}", round(interval.begin * 1e6))
        shares = uniforms(key, len(times))
        ended = queue.settle(
            interval.end,
            times,
            self._work.service.quantiles(shares) * self.settings.cpu_seconds,
            workers=int(backends["workers"][place]),
            speed=float(interval.speed[place]),
            timeout_seconds=self.settings.timeout_seconds,
        )
        number, seconds = len(ended.latencies), math.fsum(ended.latencies.tolist())
        self._account(backends, place, len(times), (number, ended.failed, seconds))
        backends["present"][place] = queue.present
        backends.account.present_seconds += ended.present_seconds
        if number:
            counts = count_latencies(ended.latencies)
            backends.account.latencies += counts
            below = np.cumsum(counts)[: len(BOUNDS)] / number
            backends.add_served(np.array([place]), np.array([float(number)]), below)

    def _account(
        self, backends: Backends, place: int, arrived: float, ended: tuple[float, float, float]
    ) -> None:
        served, failed, seconds = ended
        account = backends.account
        for name, amount in (("arrived", arrived), ("served", served), ("failed", failed),
                             ("latency_seconds", seconds)):  # fmt: skip
            backends[name][place] += amount
        account.arrived += arrived
        account.served += served
        account.timed_out += failed
        account.latency_seconds += seconds

    # ---- what it asks of the CPU

    def demand(self, backends: Backends, expected: float, seconds: float) -> Floats:
        """Return the cores that each pod wants over the next `seconds`, in which `expected` requests come
        to each that is routed to.
        """
        cpu = self.settings.cpu_seconds
        wanted = backends["routed"] * (expected * cpu / seconds)
        for place, uid in enumerate(backends.uids if backends.queues else ()):
            queue = backends.queues.get(uid)
            if isinstance(queue, ExactQueue):
                wanted[place] += queue.work_seconds / seconds
            elif queue is not None:
                wanted[place] += queue.waiting * cpu / seconds
        return wanted
