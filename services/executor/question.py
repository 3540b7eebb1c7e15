"""What every guard rail is asked, and how it answers."""

from __future__ import annotations

from dataclasses import dataclass

from schemas.outcome import GuardCheck
from schemas.reasons import Reason
from services.executor.lease import Lead
from services.executor.ledger import Execution, Ledger, PendingDecision
from services.executor.plans.planned import OperationPlan
from services.executor.reach import Reach
from services.executor.scope import EVERYWHERE, Scope
from services.executor.settings import ExecutorSettings


@dataclass(frozen=True)
class Question:
    """May this decision be executed now?"""

    due: PendingDecision
    state: Ledger
    settings: ExecutorSettings
    now_seconds: float
    """Cluster time."""
    planned: OperationPlan | None = None
    reaches: tuple[Reach, ...] = ()
    """What each operation to be written touches, read just before."""
    scope: Scope = EVERYWHERE
    """What may be written."""
    zone: str = ""
    """Zone of the node that it is about; empty: it is about none, or no label says."""
    lead: Lead | None = None
    """How this executor stands to the Lease; None: no Lease is needed for it."""

    def recent(self, seconds: float) -> list[Execution]:
        """Return executions that began within the last `seconds` of cluster time."""
        return [
            execution
            for execution in self.state.executions
            if self.now_seconds - execution.time_seconds < seconds
        ]

    def on_target(self, executions: list[Execution]) -> list[Execution]:
        """Return those that hit the same target."""
        return [
            execution
            for execution in executions
            if execution.action.target == self.due.action.target
        ]


def guard_check(
    guard: str,
    *,
    passed: bool,
    reason: Reason,
    measured: float | None = None,
    limit: float | None = None,
    unit: str = "",
    text: str = "",
) -> GuardCheck:
    """Return a guard's answer; the reason is kept only when it failed."""
    return GuardCheck(
        guard=guard,
        passed=passed,
        measured=measured,
        limit=limit,
        unit=unit,
        reason=None if passed else reason,
        text=text,
    )
