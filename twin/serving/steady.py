"""The wait in a queue at rest: M/G/c after Tijms, Van Hoorn and Federgruen, with clients that give up.

Who has to wait at all is Erlang's C. Who waits, waits for the first of c requests under way to end,
and then for a geometric number of services at the speed of all c:

    W | W > 0  =  first + sum of N residual services / c,    P(N = n) = (1 - load) load^n
    P(first > x) = P(residual > x)^c

It is exact for M/M/c and for M/G/1 (Pollaczek-Khinchine), an approximation otherwise
(H. C. Tijms, A First Course in Stochastic Models, 2003, section 9.6); two fitted factors correct it for
many servers. With a timeout T for the wait:
failed = (1 - load) P(W > T) / (1 - load P(W > T)) and the wait of the others is W | W <= T
(N. K. Boots and H. Tijms, Management Science 45 (1999) 444-448; exact for M/M/c and M/G/1).
All times are over the mean service time.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from twin.serving.portable_math import renewals, total, weighted
from twin.serving.service_time import ServiceTime

Floats = npt.NDArray[np.float64]
POINTS: Floats = np.array([10.0 ** (place / 20) for place in range(-4 * 20, 5 * 20 + 1)])
"""Latencies at which the distribution is given."""
_GRID = 2_048
_GROUPS = 256
_DELAYED_MORE, _DELAYED_LESS = 0.035, 0.06
_SHORTER_WAITS = 0.0072
"""Waits behind many servers that vary more than the exponential are shorter than the formula says (longer when
they vary less), by this times log(servers) squared; fitted as `delay_probability`."""
_MEANS = 14.0  # the grid of waits reaches so many mean waits


@dataclass(frozen=True, slots=True, eq=False)
class Steady:
    """Latency (wait and service) of requests that are served, and the share that fails."""

    below: Floats
    """Share of the served with at most POINTS."""
    mean_latency: float
    mean_wait: float
    failed_ratio: float


def erlang_c(servers: int, load: float) -> float:
    """Return the probability of waiting in M/M/c at a load below 1."""
    blocked, offered = 1.0, load * servers
    for number in range(1, servers + 1):
        blocked = offered * blocked / (number + offered * blocked)
    return blocked / (1.0 - load * (1.0 - blocked))


def delay_probability(service: ServiceTime, servers: int, load: float) -> float:
    """Return the share of requests that wait: Erlang's C, corrected for services that vary otherwise.

    The correction is fitted to 6 million simulated requests for each of 16 to 64 servers, CV 0.5 and 2,
    loads 0.7 to 0.95; it is 1 for one server and for CV 1, and at most 9 % in that range.
    """
    if servers == 1:
        return load
    excess = _excess(service)
    slope = _DELAYED_MORE if excess > 0.0 else _DELAYED_LESS
    factor = math.exp(slope * excess * (math.sqrt(servers) - 1.0) * (1.0 - load) ** 0.6)
    return min(1.0, erlang_c(servers, load) * factor)


def steady_queue(
    service: ServiceTime, servers: int, load: float, timeout: float = math.inf
) -> Steady:
    """Return the state at rest; `load` is below 1, `timeout` over the mean service time."""
    waits, shares = _waits(service, servers, load)
    busy = delay_probability(service, servers, load)
    kept = int(np.searchsorted(waits, timeout))
    over = busy * total(shares[kept:])
    failed = (1.0 - load) * over / (1.0 - load * over)
    none = (1.0 - busy) / (1.0 - over)
    below = none * service.cdf(POINTS)
    waits, shares = _grouped(waits[:kept], busy * shares[:kept] / (1.0 - over))
    if len(waits):
        below = below + _below(service, waits, shares)
    mean_wait = total(shares * waits)
    return Steady(below, mean_wait + 1.0, mean_wait, failed)


def _excess(service: ServiceTime) -> float:
    square = service.cv**2
    return (square - 1.0) / (square + 1.0)


@lru_cache(maxsize=256)  # asked for by several timeouts; 32 kB each
def _waits(service: ServiceTime, servers: int, load: float) -> tuple[Floats, Floats]:
    """Return waits of those who wait, in equal steps, with their shares."""
    residual_mean = (1.0 + service.cv**2) / (2.0 * servers)
    reach = _MEANS * residual_mean / (1.0 - load) + 6.0 * max(1.0, service.cv**2)
    step = reach / _GRID
    edges: Floats = np.arange(_GRID + 1, dtype=np.float64) * step
    first = np.diff(1.0 - (1.0 - service.residual_cdf(edges)) ** servers)
    more = np.diff(service.residual_cdf(edges * servers))
    shares = renewals(first / total(first), _split_cells(more), load)
    scale = 1.0 - _SHORTER_WAITS * _excess(service) * math.log(servers) ** 2
    return (edges[:-1] + step / 2.0) * scale, shares / total(shares)


def _split_cells(masses: Floats) -> Floats:
    """Return masses each split between the ends of its cell, so that sums keep their means."""
    masses = masses / total(masses)
    split = masses / 2.0
    split[1:] += masses[:-1] / 2.0
    return split


def _below(service: ServiceTime, waits: Floats, shares: Floats) -> Floats:
    """Return the share of those who waited with a latency of at most POINTS."""
    rest = np.maximum(POINTS - waits[:, None], 0.0)
    rows = service.cdf(rest.ravel()).reshape(rest.shape)
    return weighted(shares, rows)


def _grouped(waits: Floats, shares: Floats) -> tuple[Floats, Floats]:
    """Merge neighbours: fine where waits are short, coarse where they are long."""
    if len(waits) < _GROUPS:
        return waits, shares
    ratio = (len(waits) - 1) ** (1.0 / _GROUPS)
    marks = np.unique(np.array([0, *(int(ratio**place) for place in range(_GROUPS + 1))]))
    ends = np.append(marks[1:], len(waits))
    sums = np.array([total(shares[a:b]) for a, b in zip(marks, ends, strict=True)])
    means = np.array([total(shares[a:b] * waits[a:b]) for a, b in zip(marks, ends, strict=True)])
    held = sums > 0.0
    return means[held] / sums[held], sums[held]
