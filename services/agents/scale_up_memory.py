"""Whether more replicas helped: what one remembers of the newest raise that answered a violation. Pure.

Replicas cure a lack of replicas. Where each of them has had less to do since and requests are as late as before,
it was something else (a dependency, a slow machine, a leak), and more of the same will not help either.
"""

from __future__ import annotations

from typing import NamedTuple

from schemas.model import DataModel
from schemas.numbers import Rounded, rounded

RELIEVED_RATIO = 0.9
"""A replica was relieved when it gets less than this share of the requests that it had."""
HELPED_RATIO = 0.9
"""A raise helped when at most this share of the bad requests is left: our own guess."""
MOSTLY_BAD_RATIO = 0.5
"""Where fewer requests are bad, a little more of everything may do: only what hits most has another cause for sure."""
SERVED_RATIO = 1.1
"""A raise helped, too, when so many times the requests are answered, or in time: there were far too few replicas."""
LEAST_IN_TIME_RATIO = 0.01
"""Where fewer of the answers are in time, a little more of them says nothing."""
NOTABLE_IN_TIME_RATIO = 0.1
"""Where fewer of the answers are in time, a little more of them is no step towards the objective: our own guess."""
GROWN_RATIO = 1.2
"""Replicas may help when each has so many times the requests that it had when they did not."""


class ScaleUpMemory(DataModel):
    """The Service as it was when replicas were added, and how often that did not help."""

    replica_rate: Rounded = 0.0
    """Requests a second of one ready replica."""
    bad_ratio: Rounded = 0.0
    served_rate: Rounded = 0.0
    """Requests a second that were answered, in time or late."""
    in_time_rate: Rounded = 0.0
    """Those that were answered in time."""
    curing_rate: Rounded | None = None
    """Requests a second of one ready replica at which the objective would be kept, by what the raise changed, at most;
    0: at none; None where it says nothing.
    """
    tried_rate: Rounded = 0.0
    """Greatest rate of one ready replica at which a raise was made since the objective was last kept."""
    vain: int = 0
    """Raises in a row that relieved the replicas and did not help; 0 again once the objective was kept for long."""


NO_SCALE_UP = ScaleUpMemory()


class LoadStep(NamedTuple):
    """A Service in one step, as `ScaleUpMemory` compares it."""

    replica_rate: float
    bad_ratio: float
    served_rate: float
    in_time_rate: float


def remember_scale_up(
    memory: ScaleUpMemory,
    loads: tuple[LoadStep, LoadStep],
    *,
    raised: bool,
    settled: bool,
    judged: bool,
    cured: bool,
    quiet: bool,
    slo_bad_ratio: float,
) -> ScaleUpMemory:
    """Return the memory after a look.

    Args:
        memory: after the look before.
        loads: the Service at the look before, and now.
        raised: replicas that were asked for are seen for the first time.
        settled: the newest raise has had time to settle.
        judged: it had not at the look before.
        cured: the objective is kept.
        quiet: it was kept for long.
        slo_bad_ratio: share of bad requests from which it is violated.
    """
    before, now = loads
    if quiet:
        return NO_SCALE_UP
    if raised:
        tried_rate = max(memory.tried_rate, before.replica_rate)
        return ScaleUpMemory.model_construct(
            **before._asdict(), tried_rate=tried_rate, vain=memory.vain
        )
    if not settled:
        return memory
    if judged and cured:
        return memory.model_copy(update={"vain": 0, "curing_rate": None, "tried_rate": 0.0})
    if now.replica_rate >= RELIEVED_RATIO * memory.replica_rate:
        return memory
    vain = judged and not _has_helped(memory, now)
    curing_rate = _curing_rate(memory, now, slo_bad_ratio)
    return memory.model_copy(update={"vain": memory.vain + vain, "curing_rate": curing_rate})


def _curing_rate(memory: ScaleUpMemory, now: LoadStep, slo_bad_ratio: float) -> float | None:
    """Return where a straight line through the look before the raise and now meets the objective.

    While fewer than half are bad, their share grows ever faster with what a replica has to do, so the line lies
    below it: it promises too much rather than too little. Where more are bad than before, something else came.
    """
    if memory.bad_ratio >= MOSTLY_BAD_RATIO or HELPED_RATIO * now.bad_ratio > memory.bad_ratio:
        return memory.curing_rate
    slope = (memory.bad_ratio - now.bad_ratio) / (memory.replica_rate - now.replica_rate)
    if slope <= 0.0:
        return 0.0
    return rounded(max(0.0, now.replica_rate - (now.bad_ratio - slo_bad_ratio) / slope))


def _has_helped(memory: ScaleUpMemory, now: LoadStep) -> bool:
    in_time = max(SERVED_RATIO * memory.in_time_rate, LEAST_IN_TIME_RATIO * now.served_rate)
    return (
        now.bad_ratio < MOSTLY_BAD_RATIO
        or now.bad_ratio <= HELPED_RATIO * memory.bad_ratio
        or now.served_rate >= SERVED_RATIO * memory.served_rate
        or now.in_time_rate >= in_time
    )


def serves_more(memory: ScaleUpMemory, now: LoadStep) -> bool:
    """Say whether many more requests are answered, or in time, than before the newest raise.

    Then replicas are still lacking, which is no sign that they do not help.
    """
    in_time = max(SERVED_RATIO * memory.in_time_rate, NOTABLE_IN_TIME_RATIO * now.served_rate)
    return now.served_rate >= SERVED_RATIO * memory.served_rate or now.in_time_rate >= in_time


def is_ineffective(memory: ScaleUpMemory, replica_rate: float, least_rate: float) -> bool:
    """Say whether one more scale-up would not help, for all that is known.

    Args:
        memory: of the newest raise.
        replica_rate: requests a second of one ready replica.
        least_rate: the same with as many replicas as may be.
    """
    never = memory.curing_rate is not None and memory.curing_rate < least_rate
    return (memory.vain > 0 or never) and replica_rate < GROWN_RATIO * memory.tried_rate
