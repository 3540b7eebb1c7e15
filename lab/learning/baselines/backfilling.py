"""EASY and conservative backfilling over users' estimates, for any number of resources.

A running job is taken to end when its user said, or now when that is past. Sources: D. Lifka, "The ANL/IBM SP
scheduling system", JSSPP 1995 (EASY); A. Mu'alem and D. Feitelson, IEEE TPDS 12(6), 2001 (both).
"""

from __future__ import annotations

from collections.abc import Sequence

from lab.learning.backend import Backend
from lab.learning.jobs import Amounts

Step = tuple[float, Amounts]
"""From a moment on so much is free."""


def admit_easily(cluster: Backend, order: Sequence[int]) -> int | None:
    """Return the first of an order, or who may pass it because it still starts when it would; None: nobody."""
    if not order:
        return None
    head = order[0]
    if cluster.fits(head):
        return head
    wanted = cluster.job(head).requests
    begin, free = next(step for step in free_from_now(cluster) if wanted.fits(step[1]))
    spare = free - wanted
    for index in order[1:]:
        job = cluster.job(index)
        ends_before = cluster.now + job.estimate_seconds <= begin
        if cluster.fits(index) and (ends_before or job.requests.fits(spare)):
            return index
    return None


def admit_conservatively(cluster: Backend, order: Sequence[int]) -> int | None:
    """Return the first of an order that may start now when all before it have a place; None: nobody."""
    profile = free_from_now(cluster)
    for index in order:
        job = cluster.job(index)
        begin = _earliest(profile, job.requests, job.estimate_seconds)
        if begin <= cluster.now and cluster.fits(index):
            return index
        profile = _reserve(profile, begin, begin + job.estimate_seconds, job.requests)
    return None


def free_from_now(cluster: Backend) -> list[Step]:
    """Return what is free from now on as running jobs end by their estimates, in order of time."""
    ends = sorted(
        (max(cluster.now, cluster.records[i].start_seconds + cluster.job(i).estimate_seconds), i)
        for i in cluster.running
    )
    steps = [(cluster.now, cluster.free)]
    for end, index in ends:
        free = steps[-1][1] + cluster.job(index).requests
        # An overdue job may end any moment, not now: its room is no room to start in yet.
        if end == steps[-1][0] and len(steps) > 1:
            steps[-1] = (end, free)
        else:
            steps.append((end, free))
    return steps


def _earliest(profile: Sequence[Step], wanted: Amounts, seconds: float) -> float:
    """Return the first moment from which `wanted` is free for so long; the last step has all of it."""
    for place, (begin, _) in enumerate(profile):
        inside = (
            free
            for number, (at, free) in enumerate(profile)
            if number == place or begin < at < begin + seconds
        )
        if all(wanted.fits(free) for free in inside):
            return begin
    return profile[-1][0]


def _reserve(profile: Sequence[Step], begin: float, end: float, amounts: Amounts) -> list[Step]:
    """Return a profile without what is taken between two moments."""
    times = sorted({at for at, _ in profile} | {begin, end})
    steps: list[Step] = []
    for at in times:
        free = next(step[1] for step in reversed(profile) if step[0] <= at)
        steps.append((at, free - amounts if begin <= at < end else free))
    return steps
