"""A day of a cluster: what a person looks at, sampled over time, whoever watched it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

SAMPLES = 288
"""Of a day: one in five minutes."""
MARKS = {
    "evicted": "pods evicted",
    "oom": "out of memory",
    "failed": "pods failed",
    "restart": "containers restarted",
    "rescale": "replicas scaled",
    "resize": "pods resized",
    "added": "machines added",
    "removed": "machines removed",
    "action": "our actions",
}
"""What happens at a moment, and its name in the picture, in order."""


@dataclass(frozen=True, slots=True)
class Moment:
    """Means over one sample, unless they say otherwise."""

    at_seconds: float
    """Its end, since the start of the play."""
    capacity_cores: float
    """Allocatable CPU of ready nodes."""
    requested_cores: float
    """Of bound pods that have not ended."""
    used_cores: float
    pending: int
    """Pods without a node, the most of the sample."""
    machines: dict[str, int]
    """Ready nodes by type."""
    dollars_per_hour: float
    requests_per_second: float
    latency_p95_seconds: float
    """Of all Services together; NaN while nothing is served."""
    failed_ratio: float
    """Of the requests that came: failed or lost."""
    marks: dict[str, int]
    """How often each of MARKS happened in it."""


FAULTS = "faults played"
NOT_READY = "nodes not ready"
NOT_OBSERVED = "not observed"
SPOT_NOTICES = "spot notices"
LEVELS = "weather"
LEAKS = "memory leaks"
WEATHER = {
    "node": "machines fail",
    "flap": "machines flap",
    "rack": "racks fail",
    "zone": "zones lose power",
    "slow": "machines are slow",
    "leak": LEAKS,
    "crash": "pods crash",
    "outbreak": "images crash",
}
"""What the weather does, by kind (`twin.health.weather`), and its lane."""
GROUPS = {
    "What was done to it": (FAULTS,),
    "What went wrong by itself": (LEVELS, *WEATHER.values(), SPOT_NOTICES),
    "What followed": (NOT_OBSERVED, NOT_READY),
}
"""Lanes of spans by heading, in order; marks follow below the last."""


@dataclass(slots=True)
class Period:
    """Something that lasted, or a moment; times are seconds since the start."""

    lane: str
    name: str
    begin: float
    end: float = math.inf


@dataclass(slots=True)
class Day:
    """Result of a play."""

    start_time: float
    """Unix seconds."""
    seconds: float
    moments: list[Moment] = field(default_factory=list)
    spans: list[Period] = field(default_factory=list)
    dollars: float = 0.0
    work_cpu_seconds: dict[str, float] = field(default_factory=dict)
    """Of Jobs, by what became of it: in time, late, lost."""
    missing: tuple[str, ...] = ()
    """What who watched could not know."""

    @property
    def serves(self) -> bool:
        """True when there were requests."""
        return any(moment.requests_per_second > 0.0 for moment in self.moments)

    @property
    def rents(self) -> bool:
        """True when a machine cost something."""
        return any(moment.dollars_per_hour > 0.0 for moment in self.moments)

    def groups(self) -> list[tuple[str, list[tuple[str, list[Period]]]]]:
        """Return headings with their lanes and the spans of each, as far as there are any."""
        found = []
        for heading, lanes in GROUPS.items():
            rows = [(lane, [span for span in self.spans if span.lane == lane]) for lane in lanes]
            held = [(lane, spans) for lane, spans in rows if spans]
            if held or heading == next(reversed(GROUPS)):
                found.append((heading, held))
        return found

    def count(self, mark: str) -> int:
        """Return how often something happened."""
        return sum(moment.marks.get(mark, 0) for moment in self.moments)


def mean(values: Sequence[float]) -> float:
    """Return the mean of those that are known, NaN without any."""
    known = [value for value in values if not math.isnan(value)]
    return math.fsum(known) / len(known) if known else math.nan
