"""One file per kind of action, all of the same shape: `plan(action, facts, settings)` returns a
`OperationPlan` or a `PlanRefusal`.

`example.py` is the template. Plans are pure and complete: they state absolute ends and leave no
choice to whoever applies them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from schemas.actions import ActionKind
from services.executor.facts import Facts
from services.executor.plans import (
    admission,
    migrate,
    node_limits,
    noop,
    power_state,
    replicate,
    resize,
    resource_cap,
    right_size,
)
from services.executor.plans.planned import OperationPlan, PlanRefusal
from services.executor.settings import ExecutorSettings

Plan = Callable[[Any, Facts, ExecutorSettings], OperationPlan | PlanRefusal]
"""(the action of the kind it is listed under, facts, settings) -> plan or refusal."""

PLANS: Mapping[ActionKind, Plan] = {
    ActionKind.MIGRATE: migrate.plan,
    ActionKind.REPLICATE: replicate.plan,
    ActionKind.THROTTLE: resize.plan,
    ActionKind.POWER_STATE: power_state.plan,
    ActionKind.DVFS: node_limits.plan,
    ActionKind.MEMORY_BALLOON: resize.plan,
    ActionKind.ADMISSION: admission.plan,
    ActionKind.RESOURCE_CAP: resource_cap.plan,
    ActionKind.RESIZE: right_size.plan,
    ActionKind.NOOP: noop.plan,
}
"""Every kind has a plan."""
