"""How demand has risen so far, and how likely it outgrows what is free. Pure."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence

from agent_registry.demand import DemandSample


def rises_within(
    demand: tuple[DemandSample, ...], seconds: float
) -> tuple[tuple[float, float], ...]:
    """Return by how many cores and GiB demand rose at most within so many seconds of each sample."""
    ends: list[int] = []
    last = 0
    for sample in demand:
        while last < len(demand) and demand[last].time_seconds - sample.time_seconds <= seconds:
            last += 1
        ends.append(last)
    cores = _rises([one.cores for one in demand], ends)
    return tuple(zip(cores, _rises([one.memory_gib for one in demand], ends), strict=True))


def _rises(values: Sequence[float], ends: Sequence[int]) -> Iterator[float]:
    """Yield how far above each value the greatest is of those from it up to its end; ends do not fall."""
    falling: deque[int] = deque()  # places that no later one so far exceeds
    reached = 0
    for place, end in enumerate(ends):
        for later in range(reached, end):
            while falling and values[falling[-1]] <= values[later]:
                falling.pop()
            falling.append(later)
        reached = end
        if falling[0] < place:
            falling.popleft()
        yield values[falling[0]] - values[place]


def shortfall_ratio(
    rises: tuple[tuple[float, float], ...], free_cores: float, free_memory: float
) -> float:
    """Return the chance that demand outgrows what is free within a horizon: Laplace's rule of succession."""
    above = sum(cores > free_cores or memory > free_memory for cores, memory in rises)
    return (above + 1) / (len(rises) + 2)
