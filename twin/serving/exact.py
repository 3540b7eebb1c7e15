"""A pod as a queue, event by event: first come, first served, by so many workers.

A request takes its CPU time over the speed of a worker. Speed and workers hold for an interval; at its
end what is left of each request is kept in CPU-seconds, so a change of speed is exact. A client gives
up when its request has waited `timeout_seconds` and no worker has begun it: it then costs no CPU.

Guarantee: each request that came is in the queue or has ended once: served, failed, or lost with it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from heapq import heapify, heapreplace

import numpy as np
import numpy.typing as npt

from twin.part import keepable
from twin.serving.portable_math import total

Floats = npt.NDArray[np.float64]
_LEAST_SPEED = 1e-9


@dataclass(frozen=True, slots=True)
class Ended:
    """Events of an interval; seconds are cluster seconds."""

    latencies: Floats
    """From arrival to answer, of requests that were served, in order of arrival."""
    failed: int
    """Requests whose client gave up."""
    failed_seconds: float
    """What those had waited."""
    present_seconds: float
    """Integral over the interval of the number of requests in the queue."""


@keepable
@dataclass(slots=True, eq=False)
class ExactQueue:
    """The requests in one pod, at `now`."""

    now: float
    begun: list[tuple[float, float]] = field(default_factory=list)
    """Arrival and CPU-seconds left of requests that workers are at."""
    waiting: list[tuple[float, float]] = field(default_factory=list)
    """Arrival and CPU-seconds of requests that no worker has begun, in order of arrival."""

    @property
    def present(self) -> int:
        """Requests that wait or are being served."""
        return len(self.begun) + len(self.waiting)

    @property
    def work_seconds(self) -> float:
        """CPU-seconds that all requests present still need."""
        return math.fsum(left for _, left in self.begun) + math.fsum(
            work for _, work in self.waiting
        )

    def settle(
        self,
        until: float,
        arrivals: Floats,
        work: Floats,
        *,
        workers: int,
        speed: float,
        timeout_seconds: float = math.inf,
    ) -> Ended:
        """Let the time from `now` to `until` pass.

        `arrivals` are the times of new requests, in order and within the interval, `work` their CPU-seconds;
        `speed` is CPU-seconds per second of one worker (0: nothing moves).
        """
        began = self.now
        speed = max(speed, _LEAST_SPEED)
        slowness = 1.0 / speed
        came = [arrival for arrival, _ in self.begun]
        ends = [began + left * slowness for _, left in self.begun]
        free = ends + [began] * (workers - len(ends))
        heapify(free)
        times = [arrival for arrival, _ in self.waiting] + arrivals.tolist()
        needs = [need for _, need in self.waiting] + work.tolist()
        given_up: list[float] = []
        for arrival, need in zip(times, needs, strict=True):
            start = free[0]
            if start < arrival:
                start = arrival
            elif start >= until:
                break
            elif start - arrival > timeout_seconds:
                given_up.append(arrival)
                continue
            end = start + need * slowness
            heapreplace(free, end)
            came.append(arrival)
            ends.append(end)
        taken = len(ends) - len(self.begun) + len(given_up)
        rest = list(zip(times[taken:], needs[taken:], strict=True))
        patient = next(
            (at for at, entry in enumerate(rest) if entry[0] + timeout_seconds > until), len(rest)
        )
        given_up += [arrival for arrival, _ in rest[:patient]]
        self.waiting = rest[patient:]
        return self._close(until, speed, (np.array(came), np.array(ends)), np.array(given_up),
                           timeout_seconds)  # fmt: skip

    def _close(
        self,
        until: float,
        speed: float,
        begun: tuple[Floats, Floats],
        given_up: Floats,
        timeout_seconds: float,
    ) -> Ended:
        """Account for the interval and stand at its end."""
        came, ends = begun
        before = self.now
        done = ends <= until
        open_ends = ends[~done]
        self.begun = list(zip(came[~done].tolist(), ((open_ends - until) * speed).tolist(),
                              strict=True))  # fmt: skip
        waited = np.array([arrival for arrival, _ in self.waiting])
        left_at = np.concatenate((np.minimum(ends, until), given_up + timeout_seconds,
                                  np.full(len(waited), until)))  # fmt: skip
        came_at = np.concatenate((came, given_up, waited))
        self.now = until
        return Ended(
            latencies=ends[done] - came[done],
            failed=len(given_up),
            failed_seconds=timeout_seconds * len(given_up) if len(given_up) else 0.0,
            present_seconds=total(left_at - np.maximum(came_at, before)),
        )
