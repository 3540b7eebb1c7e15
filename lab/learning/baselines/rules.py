"""Rules by name: each looks at a cluster and says whom to admit now, or that it is time to wait.

An order alone blocks: nobody is admitted until whoever is first by then fits. `ORDER+commit` also keeps to the first
once it is chosen, although better ones arrive, as RLScheduler's published comparison does. `ORDER+fit` lets whoever
fits pass, `ORDER+easy` only those who do not delay the first (EASY backfilling).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import inf
from random import Random

from inputs.errors import InputError
from lab.learning.backend import Backend
from lab.learning.baselines.backfilling import admit_conservatively, admit_easily
from lab.learning.baselines.orders import ORDERS, Order
from lab.learning.baselines.untrained import untrained_rule
from lab.learning.jobs import Amounts, State

Rule = Callable[[Backend], int | None]
"""From a cluster to the index of the job to admit now; None: wait. It changes nothing."""
FIT, EASY, COMMIT = "+fit", "+easy", "+commit"


def _rank(order: Order, cluster: Backend) -> Callable[[int], tuple[float, int]]:
    """Return the sort key of an order; equals go by arrival."""
    return lambda index: (order(cluster.job(index), cluster.wait_seconds(index)), index)


def strict_fifo(cluster: Backend) -> int | None:
    """Kueue's StrictFIFO: the head of its queue or nobody."""
    head = cluster.slots(1)
    return head[0] if head and cluster.fits(head[0]) else None


def best_effort_fifo(cluster: Backend) -> int | None:
    """Kueue's BestEffortFIFO: the first of its queue that fits."""
    return next((index for index in cluster.pending if cluster.fits(index)), None)


def first_fit(cluster: Backend) -> int | None:
    """The oldest that fits, whatever its priority."""
    return min(filter(cluster.fits, cluster.pending), default=None)


def best_fit(cluster: Backend) -> int | None:
    """Whoever leaves least free: the largest dominant share of the quota among those that fit."""
    fitting = filter(cluster.fits, cluster.pending)
    return max(
        fitting,
        key=lambda i: (dominant_share(cluster.job(i).requests, cluster.quota), -i),
        default=None,
    )


def blocking(order: Order, cluster: Backend) -> int | None:
    """The first in an order or nobody."""
    first = min(cluster.pending, key=_rank(order, cluster), default=None)
    return first if first is not None and cluster.fits(first) else None


def passing(order: Order, cluster: Backend) -> int | None:
    """The first in an order that fits."""
    return min(filter(cluster.fits, cluster.pending), key=_rank(order, cluster), default=None)


class Committed:
    """The first in an order, which is kept to until it starts."""

    def __init__(self, order: Order) -> None:
        """Begin with nobody chosen."""
        self._order = order
        self._chosen: int | None = None

    def __call__(self, cluster: Backend) -> int | None:
        """Return the chosen one once it fits."""
        if self._chosen is None or cluster.records[self._chosen].state is not State.PENDING:
            self._chosen = min(cluster.pending, key=_rank(self._order, cluster), default=None)
        return self._chosen if self._chosen is not None and cluster.fits(self._chosen) else None


def backfilling(order: Order, cluster: Backend) -> int | None:
    """EASY: the first in an order, or one behind it that does not delay it."""
    return admit_easily(cluster, sorted(cluster.pending, key=_rank(order, cluster)))


def conservative(cluster: Backend) -> int | None:
    """Conservative backfilling: whoever delays nobody that came before."""
    return admit_conservatively(cluster, sorted(cluster.pending))


def at_random(random: Random, cluster: Backend) -> int | None:
    """Anyone who fits, or nobody as long as something else will happen, with equal chance."""
    fitting: list[int | None] = [index for index in cluster.pending if cluster.fits(index)]
    if cluster.next_event_seconds() != inf:
        fitting.append(None)
    return random.choice(fitting) if fitting else None


def dominant_share(requests: Amounts, quota: Amounts) -> float:
    """Return the largest share of a resource that is asked for."""
    return max(
        requests.cpu_millicores / (quota.cpu_millicores or 1),
        requests.memory_bytes / (quota.memory_bytes or 1),
        requests.gpus / (quota.gpus or 1),
    )


PLAIN: dict[str, Rule] = {
    "strict-fifo": strict_fifo,
    "best-effort-fifo": best_effort_fifo,
    "first-fit": first_fit,
    "best-fit": best_fit,
    "conservative": conservative,
}
WAYS = {"": blocking, FIT: passing, EASY: backfilling}
SEEDED = ("random", "untrained")


def rule_names() -> tuple[str, ...]:
    """Return every rule's name."""
    named = (f"{order}{how}" for order in ORDERS for how in ("", FIT, EASY, COMMIT))
    return (*PLAIN, *named, *SEEDED)


def rule_of(name: str, seed: int = 0) -> Rule:
    """Return a rule by name; `easy` stands for `fcfs+easy`.

    Args:
        name: one of `rule_names()`.
        seed: of `random` and `untrained`.

    Raises:
        InputError: no rule has that name.
    """
    if name in PLAIN:
        return PLAIN[name]
    if name == "random":
        return partial(at_random, Random(f"{seed}/random"))
    if name == "untrained":
        return untrained_rule(seed)
    order, plus, how = ("fcfs+easy" if name == "easy" else name).partition("+")
    if order in ORDERS and plus + how == COMMIT:
        return Committed(ORDERS[order])
    if order in ORDERS and plus + how in WAYS:
        return partial(WAYS[plus + how], ORDERS[order])
    raise InputError("rule", name, f"use one of {', '.join(rule_names())}")
