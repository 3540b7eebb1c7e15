"""What tripped breakers hold: decisions not to be executed, and executions to be taken back."""

from __future__ import annotations

from collections.abc import Iterable

from projections.breaker.text import standing_text
from projections.standing import GIVES_BACK, is_reversible
from schemas.actions import ActionKind
from schemas.breaker import WHOLE, Breaker, BreakerCause, BreakerState
from services.executor.ledger import Execution, Ledger

DID_HARM = frozenset({BreakerCause.HARM, BreakerCause.SWITCHBACK, BreakerCause.WORSE})
"""Causes for which what stands is taken back: the others say nothing against what was done already."""


def breakers_of(state: Ledger, kind: ActionKind) -> tuple[Breaker, ...]:
    """Return the breakers that are not closed and hold a kind of action; that of everything first."""
    return tuple(one for one in state.breakers if one.unit in (WHOLE, kind))


def tried_since(breaker: Breaker, executions: Iterable[Execution]) -> tuple[Execution, ...]:
    """Return the executions of a breaker's unit since its state began, which probation counts."""
    return tuple(
        one
        for one in executions
        if breaker.unit in (WHOLE, one.action.kind)
        and one.direction not in GIVES_BACK
        and one.time_seconds >= breaker.since_seconds
    )


def tripped_cause(state: Ledger, execution: Execution) -> str:
    """Return why an execution has to be taken back by a breaker; empty where it has not.

    What was added before a breaker tripped for harm goes on doing it. What gave something back stays so.
    """
    if not is_reversible(execution):
        return ""
    harmful = (
        one
        for one in breakers_of(state, execution.action.kind)
        if one.state is BreakerState.SHADOW and one.cause in DID_HARM
    )
    breaker = next(harmful, None)
    return "" if breaker is None else standing_text(breaker)
