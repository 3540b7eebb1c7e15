"""Pods that wait for a node: ready to be tried, backing off, or waiting for a helpful change.

As in kube-scheduler (plugins/queuesort/priority_sort.go, backend/queue): highest priority first,
then who has been in the queue for longest; a failed pod goes to the end of its priority, backs off
1, 2, 4 ... 10 s, and is tried again only after something happened that can help it, and at the
latest after 5 minutes.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass

from twin.config.scheduling import SchedulerConfig
from twin.part import Part, keepable
from twin.records import PodRecord, PodShape
from twin.scheduling.group_amounts import Group, GroupAmounts
from twin.scheduling.node_table import Ints

Order = tuple[int, float, int]
"""(-priority, in the queue since, number)"""


@keepable
@dataclass(slots=True, eq=False)
class Waiter:
    """One unbound pod."""

    uid: str
    shape: PodShape
    order: Order
    attempts: int = 0
    next_try_at: float = 0.0  # end of its back-off
    group: Group | None = None  # while it waits for a change


class WaitingPods(Part):
    """All unbound pods by uid, and the heap of those that may be tried."""

    KEEPS = ("_waiters", "_active", "_parked", "_number")
    LEAVES = ("_amounts", "_particular")

    def __init__(self, config: SchedulerConfig) -> None:
        self._config = config
        self._waiters: dict[str, Waiter] = {}
        self._active: list[tuple[Order, str]] = []
        self._parked: dict[Group, dict[str, Waiter]] = {}
        self._number = 0
        self._amounts = GroupAmounts()
        self._particular: dict[Group, None] = {}  # groups of one pod, which depend on other pods

    def restored(self) -> None:
        """Rebuild the columns from the groups."""
        self._amounts = GroupAmounts()
        self._particular.clear()
        for group in self._parked:
            self._note(group)

    def __contains__(self, uid: str) -> bool:
        return uid in self._waiters

    def __len__(self) -> int:
        return len(self._waiters)

    def add(self, pod: PodRecord, now: float) -> None:
        """Enter a new pod, or one whose spec has changed, to be tried at once."""
        self.drop(pod.uid)
        waiter = Waiter(pod.uid, pod.shape, self._order(pod.shape, now))
        self._waiters[pod.uid] = waiter
        heapq.heappush(self._active, (waiter.order, pod.uid))

    def drop(self, uid: str) -> None:
        """Remove a pod that is bound or deleted, if it is waiting."""
        waiter = self._waiters.pop(uid, None)
        if waiter is not None:
            self._unpark(waiter)

    def shape_of(self, uid: str) -> PodShape | None:
        """Return the shape with which a pod waits."""
        waiter = self._waiters.get(uid)
        return None if waiter is None else waiter.shape

    def peek(self) -> Waiter | None:
        """Return the next pod to try, None when no pod is active."""
        while self._active:
            order, uid = self._active[0]
            waiter = self._waiters.get(uid)
            if waiter is not None and waiter.order == order and waiter.group is None:
                return waiter
            heapq.heappop(self._active)
        return None

    def pop(self) -> None:
        """Take out what `peek` returned."""
        heapq.heappop(self._active)

    def park(self, waiter: Waiter, plugins: tuple[str, ...], own: str, now: float) -> None:
        """Add a pod that found no node; `own` is its uid when no other pod has the same needs."""
        first, longest = self._config.backoff_seconds, self._config.backoff_max_seconds
        waiter.next_try_at = now + min(longest, first * 2.0 ** min(waiter.attempts, 16))
        waiter.attempts += 1
        waiter.order = self._order(waiter.shape, now)
        waiter.group = (waiter.shape, ",".join(plugins), own)
        members = self._parked.get(waiter.group)
        if members is None:
            members = self._parked[waiter.group] = {}
            self._note(waiter.group)
        members[waiter.uid] = waiter

    def parked_groups(self) -> list[Group]:
        """Return the groups of parked pods, in the order in which they were first parked."""
        return list(self._parked)

    def particular_groups(self) -> list[Group]:
        """Return those groups for whose one pod it matters which other pods come and go."""
        return list(self._particular)

    def fitting_groups(self, amounts: Ints, *, lacking: bool = False) -> list[Group]:
        """Return the groups whose pods fit into these basic amounts; see `GroupAmounts`."""
        return self._amounts.fitting(amounts, lacking=lacking)

    def wake(self, group: Group, most: int, now: float) -> list[Waiter]:
        """Unpark at most `most` pods of a group, those first whose turn comes first.

        The caller activates each at its `next_try_at`.
        """
        members = list(self._parked.get(group, {}).values())
        if most < len(members):
            members.sort(key=lambda waiter: (max(waiter.next_try_at, now), waiter.order))
        for waiter in members[:most]:
            self._unpark(waiter)
        return members[:most]

    def wake_one(self, uid: str) -> Waiter | None:
        """Unpark one pod; None when it is not parked."""
        waiter = self._waiters.get(uid)
        if waiter is None or waiter.group is None:
            return None
        self._unpark(waiter)
        return waiter

    def activate(self, uid: str) -> bool:
        """Let a woken pod be tried; True when it still waits."""
        waiter = self._waiters.get(uid)
        if waiter is None or waiter.group is not None:
            return False
        heapq.heappush(self._active, (waiter.order, uid))
        return True

    def _order(self, shape: PodShape, now: float) -> Order:
        self._number += 1
        return (-shape.priority, now, self._number)

    def _note(self, group: Group) -> None:
        self._amounts.add(group)
        if group[2]:
            self._particular[group] = None

    def _unpark(self, waiter: Waiter) -> None:
        if waiter.group is None:
            return
        members = self._parked[waiter.group]
        del members[waiter.uid]
        if not members:
            del self._parked[waiter.group]
            self._amounts.drop(waiter.group)
            self._particular.pop(waiter.group, None)
        waiter.group = None
