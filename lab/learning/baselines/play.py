"""Play a stream under a rule, and what came of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf

from lab.learning.backend import Backend
from lab.learning.jobs import State
from lab.learning.measures import bounded_slowdown
from lab.learning.simulator import count_states


@dataclass(frozen=True, slots=True)
class PlayResult:
    """Figures of one stream; every job is in one state, and only jobs that have started have a wait."""

    states: dict[str, int]
    """Jobs by state, at the end."""
    mean_bounded_slowdown: float
    """Over jobs that have ended; 10 s are the least running time."""
    mean_wait_seconds: float
    largest_wait_seconds: float
    end_seconds: float
    cpu_utilization: float
    """Cpu-seconds of ended jobs over the quota's until the end."""


def play(
    cluster: Backend, rule: Callable[[Backend], int | None], *, until_seconds: float = inf
) -> PlayResult:
    """Let a rule decide at every arrival and every end, until nothing is left or `until_seconds`.

    Nothing is left, too, when jobs wait that the rule never admits, and nothing else will happen.
    """
    while True:
        while (index := rule(cluster)) is not None:
            if not cluster.admit(index):
                raise ValueError(f"the rule chose job {index}, which cannot start now")
        soonest = cluster.next_event_seconds()
        if soonest == inf or soonest > until_seconds:
            break
        cluster.advance(soonest)
    if until_seconds != inf:
        cluster.advance(until_seconds)
    return result_of(cluster)


def result_of(cluster: Backend) -> PlayResult:
    """Return the figures of what has been played so far."""
    ended = [
        index
        for index in cluster.admitted
        if cluster.records[index].state in (State.COMPLETED, State.FAILED)
    ]
    waits = [cluster.wait_seconds(index) for index in cluster.admitted]
    slowdowns = [
        bounded_slowdown(cluster.wait_seconds(index), cluster.job(index).running_seconds)
        for index in ended
    ]
    used = sum(
        cluster.job(i).requests.cpu_millicores * cluster.job(i).running_seconds for i in ended
    )
    offered = cluster.quota.cpu_millicores * cluster.now
    return PlayResult(
        states=count_states(cluster.records),
        mean_bounded_slowdown=sum(slowdowns) / len(slowdowns) if slowdowns else 1.0,
        mean_wait_seconds=sum(waits) / len(waits) if waits else 0.0,
        largest_wait_seconds=max(waits, default=0.0),
        end_seconds=cluster.now,
        cpu_utilization=used / offered if offered else 0.0,
    )
