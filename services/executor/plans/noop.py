"""noop: nothing is planned, and the log says so."""

from __future__ import annotations

from schemas.actions import Action
from schemas.reasons import Reason
from services.executor.facts import Facts
from services.executor.plans.planned import OperationPlan, PlanRefusal
from services.executor.settings import ExecutorSettings


def plan(action: Action, facts: Facts, settings: ExecutorSettings) -> OperationPlan | PlanRefusal:
    """Return that the decision was to do nothing."""
    del action, facts, settings
    return PlanRefusal(reason=Reason.NOOP, text="the decision was to do nothing")
