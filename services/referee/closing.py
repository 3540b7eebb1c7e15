"""When and how a cycle closes.

A pure function of the open cycles and whether the newest is overdue.

- The newest cycle closes when every expected agent has proposed (`all`), or when its deadline has
  passed (`deadline`).
- It closes as `restart` when it was complete although older cycles are still open: the referee had
  been away (restart or outage) and decides from the log. A referee that comes back within one cycle
  finds no older cycle open and closes it as `all`, which is as true.
- An older open cycle closes as `superseded`, with one exception: the newest complete one, when the
  newest cycle of all is not complete yet. Its proposals are all there and nothing newer can be
  decided, so it is ruled on (`all`).

So after an outage at most one ruling is made from old observations, and never one older than the
newest complete cycle.
"""

from __future__ import annotations

from collections.abc import Sequence

from schemas.decision import ClosedBy
from services.referee.state import PendingCycle


def closings(
    cycles: Sequence[PendingCycle], *, overdue: bool
) -> tuple[tuple[PendingCycle, ClosedBy], ...]:
    """Return which open cycles close now and how, oldest first.

    Args:
        cycles: open cycles, oldest first.
        overdue: whether the newest has waited longer than the deadline.
    """
    if not cycles:
        return ()
    complete = [cycle.cycle for cycle in cycles if not cycle.missing]
    *older, newest = cycles
    closed = [
        (cycle, ClosedBy.ALL if complete and cycle.cycle == complete[-1] else ClosedBy.SUPERSEDED)
        for cycle in older
    ]
    if not newest.missing:
        closed.append((newest, ClosedBy.RESTART if older else ClosedBy.ALL))
    elif overdue:
        closed.append((newest, ClosedBy.DEADLINE))
    return tuple(closed)
