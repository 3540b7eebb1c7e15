"""One cluster model written twice: as handlers on the twin's clock, and as SimPy processes.

A task arrives, waits in line for its cores, starts after a latency, works, and gives its cores back:
three events. The cluster is one pool (in SimPy a Container), or nodes among which a placement picks
one. Both get the same drawn numbers and must end every task at the same time on the same node, or
the comparison is refused.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator
from dataclasses import dataclass
from random import Random
from typing import Any, Protocol

import simpy

from twin.clock import Clock, exact

CORES = (1, 2, 4, 8)


@dataclass(frozen=True, slots=True)
class Tasks:
    """What is played, by task: seconds and cores."""

    arrivals: list[float]
    latencies: list[float]
    durations: list[float]
    cores: list[int]

    @classmethod
    def draw(cls, count: int, span_seconds: float, mean_seconds: float, seed: int) -> Tasks:
        """Draw a Poisson process with exponential work."""
        random, at, arrivals = Random(seed), 0.0, []
        for _ in range(count):
            at += random.expovariate(count / span_seconds)
            arrivals.append(exact(at))
        latencies = [exact(random.lognormvariate(0.5, 0.45)) for _ in range(count)]
        durations = [exact(random.expovariate(1.0 / mean_seconds)) for _ in range(count)]
        return cls(arrivals, latencies, durations, [random.choice(CORES) for _ in range(count)])


class Placement(Protocol):
    """Picks nodes."""

    def take(self, task: int) -> int | None:
        """Take room for a task; the node's row, None when it fits nowhere."""

    def give(self, task: int, row: int) -> None:
        """Give a task's room back."""


@dataclass(slots=True)
class Outcome:
    """What a model says happened: by task, the end in seconds and the node row; and how often."""

    finished: list[float]
    rows: list[int]
    events: int = 0

    @classmethod
    def of(cls, tasks: Tasks) -> Outcome:
        """Begin with nothing finished."""
        count = len(tasks.arrivals)
        return cls([0.0] * count, [0] * count)


class Pool:
    """All cores as one number: a placement that has nothing to choose."""

    def __init__(self, tasks: Tasks, cores: int) -> None:
        self._cores = tasks.cores
        self._free = cores

    def take(self, task: int) -> int | None:
        """Take room for a task."""
        if self._cores[task] > self._free:
            return None
        self._free -= self._cores[task]
        return 0

    def give(self, task: int, row: int) -> None:
        """Give a task's room back."""
        del row
        self._free += self._cores[task]


class OnTheClock:
    """The model as handlers; tasks that fit nowhere wait in line."""

    def __init__(self, tasks: Tasks, placement: Placement) -> None:
        self._arrivals = tasks.arrivals
        self._latencies = tasks.latencies
        self._durations = tasks.durations
        self._take, self._give = placement.take, placement.give
        self._line: deque[int] = deque()
        self._clock = clock = Clock(0.0)
        self._after = clock.after
        self.outcome = Outcome.of(tasks)
        clock.handle("arrive", self._arrive)
        clock.handle("start", self._start)
        clock.handle("finish", self._finish)

    def run(self) -> Outcome:
        """Play everything."""
        self._clock.at(self._arrivals[0], "arrive", 0)
        while self._clock.step(1_000_000):
            pass
        self.outcome.events = self._clock.handled
        return self.outcome

    def _arrive(self, task: int) -> None:
        self._line.append(task)
        self._serve()
        if task + 1 < len(self._arrivals):
            self._clock.at(self._arrivals[task + 1], "arrive", task + 1)

    def _serve(self) -> None:
        line = self._line
        while line:
            row = self._take(line[0])
            if row is None:
                return
            task = line.popleft()
            self.outcome.rows[task] = row
            self._after(self._latencies[task], "start", task)

    def _start(self, task: int) -> None:
        self._after(self._durations[task], "finish", task)

    def _finish(self, task: int) -> None:
        outcome = self.outcome
        outcome.finished[task] = self._clock.now
        self._give(task, outcome.rows[task])
        if self._line:
            self._serve()


class InSimpy:
    """The model as processes, as SimPy's documentation writes such models."""

    def __init__(self, tasks: Tasks, cores: int, placement: Placement | None = None) -> None:
        self._tasks = tasks
        self._env = simpy.Environment()
        self._pool = simpy.Container(self._env, cores, cores)
        self._placement = placement
        self._line: deque[tuple[int, simpy.Event]] = deque()
        self.outcome = Outcome.of(tasks)

    def run(self) -> Outcome:
        """Play everything; the model's events are counted, not what SimPy adds to them."""
        life = self._in_pool if self._placement is None else self._on_node
        self._env.process(self._source(life))
        self._env.run()
        self.outcome.events = 3 * len(self._tasks.arrivals)
        return self.outcome

    def _source(
        self, life: Callable[[int], Generator[Any, Any, None]]
    ) -> Generator[Any, Any, None]:
        env = self._env
        for task, arrival in enumerate(self._tasks.arrivals):
            yield env.timeout(max(0.0, arrival - env.now))
            env.process(life(task))

    def _in_pool(self, task: int) -> Generator[Any, Any, None]:
        env, tasks = self._env, self._tasks
        yield self._pool.get(tasks.cores[task])
        yield env.timeout(tasks.latencies[task])
        yield env.timeout(tasks.durations[task])
        self._pool.put(tasks.cores[task])
        self.outcome.finished[task] = env.now

    def _on_node(self, task: int) -> Generator[Any, Any, None]:
        env, tasks, outcome, placement = self._env, self._tasks, self.outcome, self._placement
        assert placement is not None
        row = None if self._line else placement.take(task)
        if row is None:
            turn = env.event()
            self._line.append((task, turn))
            row = yield turn
        outcome.rows[task] = row
        yield env.timeout(tasks.latencies[task])
        yield env.timeout(tasks.durations[task])
        outcome.finished[task] = env.now
        placement.give(task, row)
        while self._line:
            row = placement.take(self._line[0][0])
            if row is None:
                break
            self._line.popleft()[1].succeed(row)


def same(outcome: Outcome, other: Outcome) -> bool:
    """Say whether two models agree on every task, but for rounding on the way."""
    near = all(abs(a - b) < 5e-6 for a, b in zip(outcome.finished, other.finished, strict=True))
    return near and outcome.rows == other.rows and outcome.events == other.events
