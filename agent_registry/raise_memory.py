"""Whether more replicas helped: what one remembers of the newest raise that answered a violation. Pure.

Replicas cure a lack of replicas. Where each of them has had less to do since and requests are as late as before,
it was something else (a dependency, a slow machine, a leak), and more of the same will not help either.
"""

from __future__ import annotations

from typing import NamedTuple

from schemas.model import DataModel
from schemas.numbers import Rounded

RELIEVED_RATIO = 0.9
"""A replica was relieved when it gets at most this share of the requests that it had."""
HELPED_RATIO = 0.9
"""A raise helped when at most this share of the bad requests is left: our own guess."""
MOSTLY_BAD_RATIO = 0.5
"""Where fewer requests are bad, a little more of everything may do: only what hits most has another cause for sure."""
SERVED_RATIO = 1.1
"""A raise helped, too, when so many times the requests are answered, or in time: there were far too few replicas."""
LEAST_IN_TIME_RATIO = 0.01
"""Where fewer of the answers are in time, a little more of them says nothing."""
GROWN_RATIO = 1.2
"""Replicas may help when each has so many times the requests that it had when they did not."""


class RaiseMemory(DataModel):
    """The Service as it was when replicas were added, and how often that was in vain."""

    replica_rate: Rounded = 0.0
    """Requests a second of one ready replica."""
    bad_ratio: Rounded = 0.0
    served_rate: Rounded = 0.0
    """Requests a second that were answered, in time or late."""
    in_time_rate: Rounded = 0.0
    """Those that were answered in time."""
    vain: int = 0
    """Raises in a row that relieved the replicas and did not help; 0 again once the objective was kept for long."""


class Sight(NamedTuple):
    """A Service in one step, as `RaiseMemory` compares it."""

    replica_rate: float
    bad_ratio: float
    served_rate: float
    in_time_rate: float


def remember_raise(
    memory: RaiseMemory,
    sights: tuple[Sight, Sight],
    *,
    raised: bool,
    judged: bool,
    cured: bool,
    quiet: bool,
) -> RaiseMemory:
    """Return the memory after a look.

    Args:
        memory: after the look before.
        sights: the Service at the look before, and now.
        raised: replicas that were asked for are seen for the first time.
        judged: the newest raise has had time to settle.
        cured: the objective is kept.
        quiet: it was kept for long.
    """
    before, now = sights
    if quiet:
        return RaiseMemory()
    if raised:
        return RaiseMemory.model_construct(**before._asdict(), vain=memory.vain)
    if not judged:
        return memory
    if cured:
        return memory.model_copy(update={"vain": 0})
    relieved = now.replica_rate <= RELIEVED_RATIO * memory.replica_rate
    if relieved and not _has_helped(memory, now):
        return memory.model_copy(update={"vain": memory.vain + 1})
    return memory


def _has_helped(memory: RaiseMemory, now: Sight) -> bool:
    in_time = max(SERVED_RATIO * memory.in_time_rate, LEAST_IN_TIME_RATIO * now.served_rate)
    return (
        now.bad_ratio < MOSTLY_BAD_RATIO
        or now.bad_ratio <= HELPED_RATIO * memory.bad_ratio
        or now.served_rate >= SERVED_RATIO * memory.served_rate
        or now.in_time_rate >= in_time
    )


def is_vain(memory: RaiseMemory, replica_rate: float) -> bool:
    """Say whether one more raise would be in vain, for all that is known, at this rate of a ready replica."""
    return memory.vain > 0 and replica_rate < GROWN_RATIO * memory.replica_rate
