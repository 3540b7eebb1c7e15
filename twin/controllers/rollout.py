"""How a rolling update moves replicas between ReplicaSets: pure arithmetic.

Sources: kubernetes/kubernetes pkg/controller/deployment/rolling.go, sync.go and
util/deployment_util.go. Guarantee: the sum of what is returned never passes replicas + maxSurge,
and no step takes a ready pod away that maxUnavailable does not allow.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from twin.records import Object


@dataclass(frozen=True, slots=True)
class Size:
    """One ReplicaSet: spec.replicas, pods that are available, and the replicas plus surge of its
    Deployment when it was last scaled (None when nothing says so).
    """

    replicas: int
    available: int = 0
    room_before: int | None = None


def room(strategy: Object, replicas: int) -> tuple[int, int]:
    """Return (surge, unavailable) in pods; percentages round up and down, never both zero."""
    if strategy["type"] != "RollingUpdate":
        return 0, 0
    rolling = strategy["rollingUpdate"]
    surge = math.ceil(part_of(rolling["maxSurge"], replicas))
    unavailable = math.floor(part_of(rolling["maxUnavailable"], replicas))
    return surge, (1 if surge == unavailable == 0 else unavailable)


def part_of(amount: int | str, whole: int) -> float:
    """Return an absolute number, or a percentage of `whole`."""
    if isinstance(amount, str) and amount.endswith("%"):
        return int(amount[:-1]) * whole / 100
    return int(amount)


def new_replicas(desired: int, surge: int, new: int, total: int) -> int:
    """Return how many replicas the new ReplicaSet may have, given the sum over all of them."""
    free = desired + surge - total
    return new if free <= 0 else new + min(free, max(0, desired - new))


def old_replicas(old: Sequence[Size], new: Size, least: int) -> list[int]:
    """Return the replicas of the old ReplicaSets, oldest first, when `least` pods must stay.

    Pods that are not available go first; they cost nothing.
    """
    sizes = [entry.replicas for entry in old]
    available = [min(entry.available, entry.replicas) for entry in old]
    pending = new.replicas - min(new.available, new.replicas)
    spare = sum(sizes) + new.replicas - least - pending
    if spare <= 0:
        return sizes
    for place, entry in enumerate(old):
        taken = min(spare, entry.replicas - available[place])
        sizes[place] -= taken
        spare -= taken
    spare = sum(available) + min(new.available, new.replicas) - least
    for place in range(len(old)):
        taken = max(0, min(sizes[place], spare))
        sizes[place] -= taken
        spare -= taken
    return sizes


def proportional(sizes: Sequence[Size], desired: int, surge: int) -> list[int]:
    """Return replicas for active ReplicaSets in a scaling during a rollout.

    `sizes` are the largest first; the first takes what rounding leaves over.
    """
    allowed = desired + surge if desired else 0
    change = allowed - sum(entry.replicas for entry in sizes)
    if not change or not sizes:
        return [entry.replicas for entry in sizes]
    result, moved = [], 0
    for entry in sizes:
        share = _share(entry, desired, surge)
        left = change - moved
        step = 0 if not entry.replicas else min(share, left) if change > 0 else max(share, left)
        moved += step
        result.append(entry.replicas + step)
    result[0] = max(0, result[0] + change - moved)
    return result


def _share(entry: Size, desired: int, surge: int) -> int:
    if not desired:
        return -entry.replicas
    if not entry.room_before:
        return 0
    size = entry.replicas * (desired + surge) / entry.room_before
    return int(size + 0.5) - entry.replicas
