"""Print how closely the twin's two ways of serving requests agree: `python -m lab.serving_agreement`.

Rows are workers, CV of service and load; figures are by how many per cent the aggregate mode is above the exact
one. An overload is one minute at load 0.5, five at 1.5 and two at 0.5, with a timeout of 100 mean services.
`--closed-form` prints the exact mode beside Erlang's formula instead: mean latencies of M/M/c.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from twin.chance import Chance
from twin.port.latencies import SIZE, count_latencies, quantile
from twin.serving.aggregate import AggregateQueue, Work
from twin.serving.draws import poisson_times, uniforms
from twin.serving.exact import ExactQueue
from twin.serving.latency import Floats
from twin.serving.service_time import ServiceTime

CPU_SECONDS, STEP_SECONDS = 0.02, 15.0
WORKERS, CVS, LOADS = (1, 2, 4, 16, 64), (0.5, 1.0, 2.0), (0.3, 0.5, 0.7, 0.8, 0.9)
OVERLOAD = ((60.0, 0.5), (300.0, 1.5), (120.0, 0.5))
SHARES = (0.5, 0.95, 0.99)
SERVERS = (1, 4, 16)
RUN_LENGTHS = {0.3: 1.0, 0.5: 1.0, 0.8: 2.0, 0.9: 5.0, 0.95: 10.0}
"""Loads of the table of M/M/c, and how much longer each is played: waits of busy servers change slowly."""
BATCHES, STUDENT = 20, 2.861
"""Batches of an interval of batch means, and Student's t for 19 degrees of freedom and 99 %."""
_LONG_RUN = 10.0  # waits behind few workers at high loads are like one another for long
Phases = Sequence[tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Outcome:
    """Latencies by bucket, and the share of requests that failed."""

    latencies: Floats
    failed_share: float

    def quantiles(self) -> list[float]:
        """Return p50, p95 and p99 in seconds."""
        return [quantile(self.latencies, share) for share in SHARES]


def play_exactly(work: Work, workers: int, phases: Phases, seeds: range) -> Outcome:
    """Play phases of (seconds, load) event by event, once for each seed."""
    counts, served, failed = np.zeros(SIZE), 0, 0
    for seed in seeds:
        queue, now = ExactQueue(0.0), 0.0
        arrivals, needs = (Chance(seed).draws(name) for name in ("arrivals", "work"))
        for number, requests in enumerate(_requests(workers, phases)):
            times = poisson_times(arrivals.bits("pod", number), now, now + STEP_SECONDS, requests)
            shares = uniforms(needs.bits("pod", number), len(times))
            now += STEP_SECONDS
            ended = queue.settle(
                now,
                times,
                work.service.quantiles(shares) * work.cpu_seconds,
                workers=workers,
                speed=1.0,
                timeout_seconds=work.timeout_seconds,
            )
            counts += count_latencies(ended.latencies)
            served += len(ended.latencies)
            failed += ended.failed
    return Outcome(counts, failed / (served + failed))


def play_by_formulas(work: Work, workers: int, phases: Phases) -> Outcome:
    """Play the same by the aggregate mode."""
    counts, served, failed, now = np.zeros(SIZE), 0.0, 0.0, 0.0
    queue = AggregateQueue(0.0)
    for requests in _requests(workers, phases):
        now += STEP_SECONDS
        found = queue.settle(now, requests, work, workers=workers, speed=1.0)
        counts += found.latencies
        served += found.served
        failed += found.failed
    return Outcome(counts, failed / (served + failed))


def _requests(workers: int, phases: Phases) -> Iterator[float]:
    for seconds, load in phases:
        for _ in range(round(seconds / STEP_SECONDS)):
            yield load * workers / CPU_SECONDS * STEP_SECONDS


def rows(requests: float, workers_of_rows: Sequence[int], cvs: Sequence[float]) -> Iterator[str]:
    """Yield the lines of the table, with about so many requests for each cell at rest."""
    yield (
        "| workers | CV | "
        + " | ".join(f"load {load:g}" for load in LOADS)
        + " | overload | errors |"
    )
    yield "|---|---|" + "---|" * (len(LOADS) + 2)
    for workers in workers_of_rows:
        for cv in cvs:
            cells = []
            for load in LOADS:
                work = Work(ServiceTime(cv), CPU_SECONDS, 60.0)
                needed = requests * (
                    _LONG_RUN if cv > 1.0 and workers <= 4 and load >= 0.8 else 1.0
                )
                seconds = needed / (load * workers / CPU_SECONDS)
                exact = play_exactly(work, workers, [(seconds, load)], range(1))
                cells.append(_cell(play_by_formulas(work, workers, [(60.0, load)]), exact))
            work = Work(ServiceTime(cv), CPU_SECONDS, 100.0 * CPU_SECONDS)
            exact = play_exactly(work, workers, OVERLOAD, range(max(1, 16 // workers)))
            found = play_by_formulas(work, workers, OVERLOAD)
            errors = 100.0 * (found.failed_share / exact.failed_share - 1.0)
            yield (
                f"| {workers} | {cv:g} | "
                + " | ".join([*cells, _cell(found, exact)])
                + f" | {errors:+.1f} |"
            )


def closed_form_rows(requests: float) -> Iterator[str]:
    """Yield the lines of the table of M/M/c: mean latency by Erlang's formula and in exact mode."""
    yield "| servers | load | Erlang, ms | exact mode, ms | difference, % | half-width of the 99 % interval, % |"
    yield "|---|---|---|---|---|---|"
    for servers in SERVERS:
        for load, times in RUN_LENGTHS.items():
            work = Work(ServiceTime(1.0), CPU_SECONDS, math.inf)
            seconds = times * requests / (load * servers / CPU_SECONDS)
            latencies = _exact_latencies(work, servers, (seconds, load))
            batches = latencies[: len(latencies) // BATCHES * BATCHES].reshape(BATCHES, -1)
            half = STUDENT * batches.mean(axis=1).std(ddof=1) / math.sqrt(BATCHES)
            expected = mean_latency(servers, load) * CPU_SECONDS
            off = 100.0 * (float(latencies.mean()) / expected - 1.0)
            yield (
                f"| {servers} | {load:g} | {1e3 * expected:.3f} | {1e3 * latencies.mean():.3f} "
                f"| {off:+.2f} | {100.0 * half / expected:.2f} |"
            )


def mean_latency(servers: int, load: float) -> float:
    """Return the mean time in M/M/c over the mean service (A. K. Erlang 1917), by summing its probabilities."""
    offered = load * servers
    weights = [offered**count / math.factorial(count) for count in range(servers)]
    tail = offered**servers / math.factorial(servers) / (1.0 - load)
    return 1.0 + tail / (math.fsum(weights) + tail) / (servers * (1.0 - load))


def _exact_latencies(work: Work, workers: int, phase: tuple[float, float]) -> Floats:
    """Return the latency of each request of one phase, in seconds, in order of its end."""
    queue, now, found = ExactQueue(0.0), 0.0, list[Floats]()
    arrivals, needs = (Chance(workers).draws(name) for name in ("arrivals", "work"))
    for number, requests in enumerate(_requests(workers, [phase])):
        times = poisson_times(arrivals.bits("pod", number), now, now + STEP_SECONDS, requests)
        shares = uniforms(needs.bits("pod", number), len(times))
        now += STEP_SECONDS
        needed = work.service.quantiles(shares) * work.cpu_seconds
        found.append(queue.settle(now, times, needed, workers=workers, speed=1.0).latencies)
    return np.concatenate(found)


def _cell(found: Outcome, exact: Outcome) -> str:
    pairs = zip(found.quantiles(), exact.quantiles(), strict=True)
    return " / ".join(f"{100.0 * (one / other - 1.0):+.1f}" for one, other in pairs)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print one of the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--requests",
        type=float,
        default=2e6,
        metavar="N",
        help="requests per cell (default: 2,000,000)",
    )
    parser.add_argument(
        "--workers",
        type=int,
        nargs="*",
        default=WORKERS,
        metavar="N",
        help="numbers of workers, some rows each (default: %(default)s)",
    )
    parser.add_argument(
        "--cvs",
        type=float,
        nargs="*",
        default=CVS,
        metavar="X",
        help="coefficients of variation of the service time (default: %(default)s)",
    )
    parser.add_argument(
        "--closed-form", action="store_true", help="the exact mode beside Erlang's formula instead"
    )
    options = parser.parse_args(arguments)
    if options.closed_form:
        for line in closed_form_rows(options.requests):
            print(line, flush=True)
        return
    for line in rows(options.requests, options.workers, options.cvs):
        print(line, flush=True)


if __name__ == "__main__":
    main()
