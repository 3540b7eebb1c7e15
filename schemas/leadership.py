"""Layer 6: who may act on a cluster, by a Lease that one executor holds at a time."""

from __future__ import annotations

from enum import StrEnum
from typing import ClassVar

from schemas.model import EventData
from schemas.numbers import Count, Cycle, Seconds
from schemas.reasons import Reason


class LeadState(StrEnum):
    """How an executor stands to the Lease."""

    LEADING = "leading"
    """It holds the Lease and has renewed it in time: it may write."""
    SUSPENDED = "suspended"
    """It had the Lease and could not renew it in time: it writes nothing until it has it again."""
    REFUSED = "refused"
    """It does not get the Lease: another stack acts on the cluster, or rights are missing."""


class OutcomeLeadership(EventData):
    """An executor says how it stands to the Lease; one that leads, again together with each plan it starts.

    The log stores it only while nobody else has said so since (one writer for each subject), and a plan that starts
    only together with it. So an executor that was overtaken stores no plan any more, whatever its clock says.
    """

    TYPE: ClassVar[str] = "foresail.outcome.leadership.v1"
    PRODUCER: ClassVar[str] = "executor"
    PATTERN: ClassVar[tuple[str, ...]] = ("outcome", "leadership")

    cycle: Cycle
    """Newest cycle that it knew; 0 before it has read the log."""
    cluster_time_seconds: Seconds
    state: LeadState
    lease: str
    """The Lease, `<namespace>/<name>`."""
    executor: str
    """Who says so, as the Lease names its holder."""
    number: Count
    """Counts what this executor has said here, from 1."""
    term: Count = 0
    """spec.leaseTransitions: how often the Lease had passed to another holder."""
    holder: str = ""
    """Who holds the Lease; empty: nobody, or it is not known."""
    held_since_seconds: Seconds | None = None
    """Since when, by the holder's clock."""
    reason: Reason | None = None
    """Why it may not write: `lease_lost` or `not_leader`."""
    text: str

    def key(self) -> str:
        """Return who says so, and its number."""
        return f"{self.executor} {self.number}"
