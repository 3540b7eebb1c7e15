"""Print how closely the twin's two ways of serving requests agree: `python -m lab.serving_agreement`.

Rows are workers, CV of service and load; figures are by how many per cent the aggregate mode is above the exact
one. An overload is one minute at load 0.5, five at 1.5 and two at 0.5, with a timeout of 100 mean services.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from twin.chance import Chance
from twin.serving.aggregate import AggregateQueue, Work
from twin.serving.draws import poisson_times, uniforms
from twin.serving.exact import ExactQueue
from twin.serving.latency import SIZE, Floats, count_latencies, quantile
from twin.serving.service_time import ServiceTime

CPU_SECONDS, STEP_SECONDS = 0.02, 15.0
WORKERS, CVS, LOADS = (1, 2, 4, 16, 64), (0.5, 1.0, 2.0), (0.3, 0.5, 0.7, 0.8, 0.9)
OVERLOAD = ((60.0, 0.5), (300.0, 1.5), (120.0, 0.5))
SHARES = (0.5, 0.95, 0.99)
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


def _cell(found: Outcome, exact: Outcome) -> str:
    pairs = zip(found.quantiles(), exact.quantiles(), strict=True)
    return " / ".join(f"{100.0 * (one / other - 1.0):+.1f}" for one, other in pairs)


def main() -> None:
    """Print the table."""
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
    options = parser.parse_args()
    for line in rows(options.requests, options.workers, options.cvs):
        print(line, flush=True)


if __name__ == "__main__":
    main()
