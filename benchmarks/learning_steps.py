"""Environment steps per second: the fast simulator, beside a Gymnasium loop over SimPy of the same model.

256 clusters play SKRueue's hour under random actions, variant skrueue; each thread steps its share of the clusters, so
that no thread waits for another. Steps per CPU second leave out what else the machine does. Needs numba (extra learn).

    python -m benchmarks.learning_steps [--clusters 256] [--seconds 5]
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from random import Random
from typing import Any

import numpy as np
import simpy

from benchmarks.machine import parser, report
from lab.learning.environments.admission import KueueAdmissionEnv
from lab.learning.fast.clusters import FastClusters
from lab.learning.fast.compiling import COMPILED
from lab.learning.jobs import JobStream
from lab.learning.simulator import Cluster
from lab.learning.workloads.sources import stream_source

THREADS = os.cpu_count() or 1
DRAWN = 64
"""Rows of random actions that are played over and over."""
CHECKED_STEPS = 500


class SimpyCluster(Cluster):
    """The plain cluster's queue and quota, with arrivals and ends as processes of SimPy."""

    def __init__(self, stream: JobStream) -> None:
        """Begin with the jobs of 0 s in the queue."""
        self._world = simpy.Environment()
        super().__init__(stream)
        self._world.process(self._arrivals())

    def _arrivals(self) -> Generator[Any, Any, None]:
        while self._next < len(self.records):
            arrival = self.stream.jobs[self._next].arrival_seconds
            yield self._world.timeout(arrival - self._world.now)
            self.now = self._world.now
            self._arrive()

    def _run(self, index: int) -> Generator[Any, Any, None]:
        yield self._world.timeout(self.stream.jobs[index].running_seconds)
        super().advance(self._world.now)

    def admit(self, index: int) -> bool:
        """Start a job as a process."""
        admitted = super().admit(index)
        if admitted:
            self._world.process(self._run(index))
        return admitted

    def advance(self, until_seconds: float) -> None:
        """Let SimPy run, to the end of the events of that moment."""
        self._world.run(until=np.nextafter(until_seconds, np.inf))
        super().advance(until_seconds)


def main() -> int:
    """Print steps per second, wall and CPU, and how many times SimPy's."""
    given = parser(__doc__)
    given.add_argument("--clusters", type=int, default=256)
    given.add_argument("--seconds", type=float, default=5.0, help="of each measurement")
    options = given.parse_args()
    slow = {
        "Gymnasium over SimPy": partial(_loop, SimpyCluster),
        "Gymnasium over the plain simulator": partial(_loop, Cluster),
    }
    check_same_model(options.seed)
    rows = [_row(name, *loop(options.seed, options.seconds)) for name, loop in slow.items()]
    notes = "numba is missing (pip install 'foresail[learn]'): the fast simulator is not measured"
    if COMPILED:
        fast = _fast(options.seed, options.clusters, options.seconds)
        rows.append(_row(f"fast, {options.clusters} clusters, {THREADS} threads", *fast))
        notes = ""
    for row in rows:
        row["times SimPy (CPU)"] = row["steps/CPU s"] / rows[0]["steps/CPU s"]
    report("Environment steps, variant skrueue, random actions", options, rows, notes)
    return 0


def check_same_model(seed: int) -> None:
    """Play the same actions over SimPy and the plain simulator; raises AssertionError where they differ."""
    random = Random(f"{seed}/check")
    envs = [KueueAdmissionEnv(make_backend=made) for made in (SimpyCluster, Cluster)]
    seen = [env.reset(seed=seed)[0] for env in envs]
    for _ in range(CHECKED_STEPS):
        assert np.array_equal(*seen)
        action = random.randrange(11)
        steps = [env.step(action) for env in envs]
        assert steps[0][1:4] == steps[1][1:4]
        ends = steps[0][2] or steps[0][3]
        seen = [env.reset()[0] if ends else step[0] for env, step in zip(envs, steps, strict=True)]


def _row(name: str, steps: int, wall: float, cpu: float) -> dict[str, Any]:
    return {"loop": name, "steps/s": steps / wall, "steps/CPU s": steps / cpu}


def _loop(make_backend: Any, seed: int, seconds: float) -> tuple[int, float, float]:
    """Return steps, wall and CPU seconds of one environment."""
    env = KueueAdmissionEnv(make_backend=make_backend)
    random, steps = Random(seed), 0
    env.reset(seed=seed)
    wall, cpu = time.perf_counter(), time.process_time()
    while time.perf_counter() - wall < seconds:
        _, _, over, cut, _ = env.step(random.randrange(11))
        steps += 1
        if over or cut:
            env.reset()
    return steps, time.perf_counter() - wall, time.process_time() - cpu


def _fast(seed: int, clusters: int, seconds: float) -> tuple[int, float, float]:
    """Return steps, wall and CPU seconds of all threads together."""
    source = stream_source("uniform")
    shares = [clusters // THREADS + (n < clusters % THREADS) for n in range(THREADS)]
    made = []
    for number, share in enumerate(shares):
        fast = FastClusters(
            [source(seed * clusters + number * share + n) for n in range(share)], share
        )
        fast.reset()
        random = Random(f"{seed}/{number}")
        drawn = [np.array([random.randrange(11) for _ in range(share)]) for _ in range(DRAWN)]
        fast.step(drawn[0])  # compiles
        made.append((fast, drawn))
    wall, cpu = time.perf_counter(), time.process_time()
    with ThreadPoolExecutor(THREADS) as threads:
        counts = threads.map(lambda one: _step_on(*one, wall + seconds), made)
        steps = sum(counts)
    return steps, time.perf_counter() - wall, time.process_time() - cpu


def _step_on(fast: FastClusters, drawn: list[Any], until: float) -> int:
    steps = 0
    while time.perf_counter() < until:
        for actions in drawn:
            fast.step(actions)
        steps += fast.count * len(drawn)
    return steps


if __name__ == "__main__":
    sys.exit(main())
