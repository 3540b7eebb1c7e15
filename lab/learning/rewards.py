"""What a step earns: SKRueue's reward, our experiment score's money, or bounded slowdown.

Money and slowdown add up over an episode to what a report says of it: the sum of `score` is the score of the stream
in dollars, the sum of `slowdown` is minus the bounded slowdown of all jobs above 1: a policy is paid for nothing else.
`aged` is `slowdown` less the square of each job's wait in units of `AGING_SECONDS`: a long job's slowdown hardly grows
while it waits, so that slowdown alone pays for letting it wait for all others, and the square does not. `held` is
`score` where nothing costs but waiting: minus the pod-hours that jobs wait.
"""

from __future__ import annotations

from typing import Literal

from lab.learning.backend import Backend
from lab.learning.jobs import MILLICORES_PER_CORE, State, utilization
from lab.learning.measures import bounded_slowdown
from projections.score.prices import ScorePrices

Reward = Literal["skrueue", "score", "slowdown", "aged", "held"]
REWARDS: tuple[Reward, ...] = ("skrueue", "score", "slowdown", "aged", "held")
MONEY: tuple[Reward, ...] = ("score", "held")
HOUR_SECONDS = 3_600.0
THROUGHPUT, UTILIZATION, WAIT, FAILURE = 0.4, 0.3, 0.2, 0.1
"""`rl.reward_weights` of SKRueue."""
AGING_SECONDS = 7_200.0
"""A wait of two hours costs in `aged` what a slowdown of one costs, one of twenty hours a hundred times that. Our own
choice; no other was tried.
"""


def skrueue_reward(cluster: Backend, pending_before: int, *, failed: bool) -> float:
    """Return SKRueue's reward of a step, in [-1, 1].

    Args:
        cluster: after the step.
        pending_before: length of the queue before it.
        failed: whether it was an admission that did not happen.
    """
    if not (cluster.quota.cpu_millicores and cluster.quota.memory_bytes):
        return -1.0
    drop = max(0, pending_before - cluster.pending_count)
    used = sum(utilization(cluster.quota, cluster.free)) / 2
    wait = min(cluster.mean_wait_seconds / HOUR_SECONDS, 1.0)
    reward = THROUGHPUT * drop + UTILIZATION * used - WAIT * wait - FAILURE * failed
    return max(-1.0, min(1.0, reward))


HELD_PRICES = ScorePrices(
    held_pod_hour=1.0,
    job_completed=0.0,
    job_failed=0.0,
    job_cpu_hour_done=0.0,
    job_cpu_hour_lost=0.0,
)
"""Of the reward `held`."""


class ScoreReward:
    """Money of the outcome score (docs/outcome-score.md) that a stream earns and costs as time passes.

    Suspended pods cost by the hour; a job that is completed earns its CPU-hours, one that fails costs them.
    Machines and energy are left out: no admission changes what is rented.
    """

    def __init__(self, cluster: Backend, prices: ScorePrices) -> None:
        """Begin with a cluster at its beginning."""
        self._cluster, self._prices = cluster, prices
        self._settled: set[int] = set()

    def since(self, then: float) -> float:
        """Return the dollars between `then` and the cluster's present; what has ended is settled once."""
        cluster, prices = self._cluster, self._prices
        money = 0.0
        for index in range(len(cluster.records)):
            if index in self._settled:
                continue
            record, job = cluster.records[index], cluster.job(index)
            if record.state is State.NOT_YET:
                break
            until = cluster.now if record.state is State.PENDING else record.start_seconds
            held = max(0.0, until - max(then, job.arrival_seconds))
            money -= prices.held_pod_hour * job.pods * held / HOUR_SECONDS
            if record.state in (State.COMPLETED, State.FAILED):
                self._settled.add(index)
                money += self._settle(index)
        return money

    def _settle(self, index: int) -> float:
        job, state, prices = (
            self._cluster.job(index),
            self._cluster.records[index].state,
            self._prices,
        )
        cores = job.requests.cpu_millicores / MILLICORES_PER_CORE
        hours = cores * job.running_seconds / HOUR_SECONDS
        if state is State.COMPLETED:
            return prices.job_completed + prices.job_cpu_hour_done * hours
        return -prices.job_failed - prices.job_cpu_hour_lost * hours


def slowdown_reward(cluster: Backend, then: float, *, aged: bool = False) -> float:
    """Return minus the bounded slowdown that those who waited since `then` gained by it, with `aged` their age, too.

    A job of r seconds that waits w seconds ends with a slowdown of max(1, (w + r) / max(r, 10)); the truth is used, as
    the measure itself does. What is summed is the part above 1, moment by moment.
    """
    total = 0.0
    for index, record in enumerate(cluster.records):
        if record.state is State.NOT_YET:
            break
        job = cluster.job(index)
        until = cluster.now if record.state is State.PENDING else record.start_seconds
        if until <= then:
            continue
        before = max(0.0, then - job.arrival_seconds)
        after = until - job.arrival_seconds
        total += bounded_slowdown(after, job.running_seconds)
        total -= bounded_slowdown(before, job.running_seconds)
        if aged:
            total += (after**2 - before**2) / AGING_SECONDS**2
    return -total
