"""Pods that wait for a node: ready to be tried, backing off, or waiting for a helpful change.

As in kube-scheduler: highest priority first, then the oldest; a failed pod backs off 1, 2, 4 ...
10 s; it is tried again only after something happened that can make room, and at the latest after
5 minutes.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass

from twin.config import TwinConfig
from twin.part import Part, keepable
from twin.records import PodRecord, PodShape

FLUSH_SECONDS = 300.0


@keepable
@dataclass(slots=True)
class Waiter:
    """One unbound pod."""

    uid: str
    shape: PodShape
    order: tuple[int, float, int]  # (-priority, created, number)
    attempts: int = 0
    next_try_at: float = 0.0  # end of its back-off
    parked: bool = False  # waits for a change


class WaitingPods(Part):
    """All unbound pods by uid, and the heap of those that may be tried."""

    KEEPS = ("_waiters", "_active", "_parked", "_number")

    def __init__(self, config: TwinConfig) -> None:
        self._config = config
        self._waiters: dict[str, Waiter] = {}
        self._active: list[tuple[tuple[int, float, int], str]] = []
        self._parked: dict[PodShape, dict[str, Waiter]] = {}
        self._number = 0

    def __contains__(self, uid: str) -> bool:
        return uid in self._waiters

    def __len__(self) -> int:
        return len(self._waiters)

    def add(self, pod: PodRecord) -> None:
        """Enter a new pod."""
        self._number += 1
        order = (-pod.shape.priority, pod.created_at, self._number)
        waiter = Waiter(pod.uid, pod.shape, order)
        self._waiters[pod.uid] = waiter
        heapq.heappush(self._active, (order, pod.uid))

    def drop(self, uid: str) -> None:
        """Take out a pod that is bound or gone."""
        waiter = self._waiters.pop(uid, None)
        if waiter is not None and waiter.parked:
            self._unpark(waiter)

    def pop(self) -> Waiter | None:
        """Return the next pod to try, None when no pod is active."""
        while self._active:
            order, uid = heapq.heappop(self._active)
            waiter = self._waiters.get(uid)
            if waiter is not None and waiter.order == order and not waiter.parked:
                return waiter
        return None

    def park(self, waiter: Waiter, now: float) -> None:
        """Put a pod that found no node aside."""
        first, longest = (
            self._config.scheduler_backoff_seconds,
            self._config.scheduler_backoff_max_seconds,
        )
        waiter.next_try_at = now + min(longest, first * 2.0 ** min(waiter.attempts, 16))
        waiter.attempts += 1
        waiter.parked = True
        self._parked.setdefault(waiter.shape, {})[waiter.uid] = waiter

    def parked_shapes(self) -> list[PodShape]:
        """Return the shapes of parked pods, in the order in which they were first parked."""
        return list(self._parked)

    def wake(self, shape: PodShape, most: int, now: float) -> list[Waiter]:
        """Unpark at most `most` pods of a shape, those first whose turn comes first.

        The caller activates each at its `next_try_at`.
        """
        group = list(self._parked.get(shape, {}).values())
        if most < len(group):
            group.sort(key=lambda waiter: (max(waiter.next_try_at, now), waiter.order))
        for waiter in group[:most]:
            self._unpark(waiter)
        return group[:most]

    def wake_one(self, uid: str) -> Waiter | None:
        """Unpark one pod."""
        waiter = self._waiters.get(uid)
        if waiter is None or not waiter.parked:
            return None
        self._unpark(waiter)
        return waiter

    def activate(self, uid: str) -> bool:
        """Let a woken pod be tried; True when it still waits."""
        waiter = self._waiters.get(uid)
        if waiter is None or waiter.parked:
            return False
        heapq.heappush(self._active, (waiter.order, uid))
        return True

    def _unpark(self, waiter: Waiter) -> None:
        waiter.parked = False
        group = self._parked.get(waiter.shape, {})
        group.pop(waiter.uid, None)
        if not group:
            self._parked.pop(waiter.shape, None)
