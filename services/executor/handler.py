"""The executor as a handler: it keeps the ledger and decides nothing by itself; `service.py` acts on it."""

from __future__ import annotations

from typing import Any

from schemas.approval import ControlApproval, OutcomeApproval
from schemas.breaker import OutcomeBreaker
from schemas.control import Control
from schemas.decision import Decision
from schemas.envelope import Event, NewEvent
from schemas.left_behind import OutcomeLeftBehind
from schemas.means import OutcomeMeans
from schemas.observation import Observation
from schemas.outcome import OutcomeExecution, OutcomeVerification
from services.executor.ledger import Ledger, evolve

NAME = "executor"


class ExecutorHandler:
    """The pure part; what is published depends on the cluster, so `decide` returns nothing."""

    name = NAME
    reads = (
        Observation.PATTERN,
        Decision.PATTERN,
        Control.PATTERN,
        OutcomeApproval.PATTERN,
        ControlApproval.PATTERN,
        OutcomeExecution.PATTERN,
        OutcomeVerification.PATTERN,
        OutcomeBreaker.PATTERN,
        OutcomeMeans.PATTERN,
        OutcomeLeftBehind.PATTERN,
    )
    state_version = 1
    deadline_seconds = None

    def initial(self) -> Ledger:
        """Return the state before any event."""
        return Ledger()

    def evolve(self, state: Ledger, event: Event[Any]) -> Ledger:
        """Return the state after one stored event."""
        return evolve(state, event)

    def decide(self, state: Ledger, *, overdue: bool) -> tuple[NewEvent, ...]:
        """Return nothing."""
        del state, overdue
        return ()

    def open_cycle(self, state: Ledger) -> int | None:
        """No cycle waits on a deadline here."""
        del state
        return None
