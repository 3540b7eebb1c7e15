"""A minute of settled requests as one piece of evidence.

Single looks hold too few requests to tell one bad one in a hundred, and neighbours resemble each other; so looks
are added up. A look counts while the number of ready replicas is the wanted one and has been for a while: after a
change, requests of before it are still in the pods.
"""

from __future__ import annotations

from collections.abc import Sequence

from schemas.model import DataModel
from schemas.numbers import Rounded, Seconds
from schemas.work import LATENCY_BOUNDS, ServiceCounters

WINDOW_SECONDS = 60.0
FEWEST_REQUESTS = 30.0
"""Requests without which a window says nothing."""
SETTLED_LOOKS = 2
"""Looks after a change of replicas or version that do not count."""


class Objective(DataModel):
    """When a Service is well."""

    latency_seconds: float = 0.5
    """One of `schemas.work.LATENCY_BOUNDS`."""
    bad_ratio: float = 0.01
    """Largest share of requests that may fail or be answered later."""


class Counts(DataModel):
    """Requests so far of all Services of one workload."""

    every: Rounded = 0.0
    """Those that reached a pod that was ready and was not lost."""
    bad: Rounded = 0.0
    """Of these, failed or late."""
    offered: Rounded = 0.0
    """All that were wanted."""


class Window(DataModel):
    """Sums so far."""

    seconds: Seconds = 0.0
    replica_seconds: Rounded = 0.0
    every: Rounded = 0.0
    bad: Rounded = 0.0

    @property
    def is_over(self) -> bool:
        """Whether it is long enough to be judged."""
        return self.seconds >= WINDOW_SECONDS

    @property
    def replica_rate(self) -> float:
        """Requests a second of one ready replica."""
        return self.every / self.replica_seconds if self.replica_seconds else 0.0

    def holds(self, objective: Objective) -> bool:
        """Say whether the objective was kept."""
        return self.bad <= objective.bad_ratio * self.every

    def add(self, before: Counts, now: Counts, seconds: float, replicas: int) -> Window:
        """Return the window after the requests between two looks."""
        return Window.model_construct(
            seconds=self.seconds + seconds,
            replica_seconds=self.replica_seconds + seconds * replicas,
            every=self.every + now.every - before.every,
            bad=self.bad + max(0.0, now.bad - before.bad),
        )


def count_requests(counters: Sequence[ServiceCounters], objective: Objective) -> Counts:
    """Return the requests so far of some Services.

    Requests that ended with a machine or met no ready pod say nothing of what a ready pod bears.
    """
    place = LATENCY_BOUNDS.index(objective.latency_seconds)
    every = bad = offered = 0.0
    for one in counters:
        failed = max(0.0, one.failed - (one.refused or 0.0))
        late = one.served - one.served_within[place] if one.served_within else 0.0
        every += one.served + failed
        bad += failed + max(0.0, late)
        offered += one.served + one.failed + one.lost
    return Counts.model_construct(every=every, bad=bad, offered=offered)


def is_earlier(before: Counts, now: Counts) -> bool:
    """Say whether counters went on; those that fell began anew, and say nothing."""
    return now.every >= before.every and now.offered >= before.offered
