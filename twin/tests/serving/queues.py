"""One pod of the simulated cluster on its own, for tests of its queue."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from twin.serving.aggregate import AggregateQueue, Work
from twin.serving.draws import draw_key, poisson_times, uniforms
from twin.serving.exact import Ended, ExactQueue
from twin.serving.latency import SIZE, Floats, count_latencies
from twin.serving.service_time import ServiceTime
from twin.serving.warmth import cold_share

STEP_SECONDS = 15.0
COLD_COST = 1.5
Phase = tuple[float, float]
"""Seconds, and the load in them."""


@dataclass(frozen=True)
class Pod:
    """What is asked of the pod; each worker has one core."""

    workers: int
    cv: float
    cpu_seconds: float = 0.02
    timeout_seconds: float = math.inf
    warm_up_seconds: float = 0.0
    """Over which it gets warm; a request costs it COLD_COST times as much at the start."""

    def speed(self, at: float) -> float:
        """Return the mean speed over the step that begins then."""
        if not self.warm_up_seconds:
            return 1.0
        cold = cold_share(self.warm_up_seconds, np.array([at]), STEP_SECONDS)
        return 1.0 / (1.0 + (COLD_COST - 1.0) * float(cold[0]))


@dataclass
class Account:
    """Outcome of all requests."""

    arrived: float
    served: float
    failed: float
    present: float
    latencies: Floats

    @property
    def error_share(self) -> float:
        """Failed requests over those that have ended."""
        return self.failed / (self.failed + self.served)


def exact_intervals(
    pod: Pod, phases: Sequence[Phase], seed: int
) -> Iterator[tuple[Ended, int, ExactQueue]]:
    """Yield what happens in each interval, with the requests that came and the queue."""
    service, queue, now, number = ServiceTime(pod.cv), ExactQueue(0.0), 0.0, 0
    for seconds, load in phases:
        for _ in range(round(seconds / STEP_SECONDS)):
            requests = load * pod.workers / pod.cpu_seconds * STEP_SECONDS
            arrivals, number = poisson_times(draw_key(seed, "arrivals", "pod", number), now,
                                             now + STEP_SECONDS, requests), number + 1  # fmt: skip
            count, speed, now = len(arrivals), pod.speed(now), now + STEP_SECONDS
            shares = uniforms(draw_key(seed, "work", "pod", number), count)
            ended = queue.settle(
                now,
                arrivals,
                service.quantiles(shares) * pod.cpu_seconds,
                workers=pod.workers,
                speed=speed,
                timeout_seconds=pod.timeout_seconds,
            )
            yield ended, count, queue


def exact_account(pod: Pod, phases: Sequence[Phase], seeds: Sequence[int]) -> Account:
    """Play the phases event by event, once for each seed, and add it all up."""
    total = Account(0, 0, 0, 0, np.zeros(SIZE))
    for seed in seeds:
        present = 0
        for ended, count, queue in exact_intervals(pod, phases, seed):
            present = queue.present
            total.arrived += count
            total.served += len(ended.latencies)
            total.failed += ended.failed
            total.latencies += count_latencies(ended.latencies)
        total.present += present
    return total


def aggregate_account(pod: Pod, phases: Sequence[Phase]) -> Account:
    """Play the phases by formulas."""
    total = Account(0, 0, 0, 0, np.zeros(SIZE))
    queue, now = AggregateQueue(0.0), 0.0
    work = Work(ServiceTime(pod.cv), pod.cpu_seconds, pod.timeout_seconds)
    for seconds, load in phases:
        for _ in range(round(seconds / STEP_SECONDS)):
            speed, now = pod.speed(now), now + STEP_SECONDS
            requests = load * pod.workers / pod.cpu_seconds * STEP_SECONDS
            interval = queue.settle(now, requests, work, workers=pod.workers, speed=speed)
            total.arrived += requests
            total.served += interval.served
            total.failed += interval.failed
            total.latencies += interval.latencies
    total.present = queue.present
    return total


def mean_latency_mmc(servers: int, load: float) -> float:
    """Return the mean time in M/M/c over the mean service, by summing its stationary probabilities."""
    offered = load * servers
    weights = [offered**n / math.factorial(n) for n in range(servers)]
    tail = offered**servers / math.factorial(servers) / (1.0 - load)
    waiting = tail / (math.fsum(weights) + tail)
    return 1.0 + waiting / (servers * (1.0 - load))
