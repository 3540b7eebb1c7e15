"""surge: how far raised workloads may go beyond what their owners asked for, each and all together."""

from __future__ import annotations

import json
from typing import Any

from schemas.outcome import GuardCheck, Mode
from schemas.reasons import Reason
from schemas.surge import surge_limit
from services.executor.guards import Guard, Needs, Question, guard_check
from services.executor.ledger import Execution
from services.executor.plans.scale_ups import read_scale_up


def check_ratio(question: Question) -> GuardCheck | None:
    """Fail when one workload would get too many times the replicas that it had."""
    surge = None if question.planned is None else question.planned.surge
    if surge is None:
        return None
    limit = int(surge.base * question.settings.caps.surge_ratio)
    within = surge.replicas <= limit
    text = f"{surge.workload} had {surge.base} replicas without us; at most {limit} are allowed"
    return guard_check(
        "cap_surge_ratio",
        passed=within,
        reason=Reason.CAP_SURGE_RATIO,
        measured=surge.replicas,
        limit=limit,
        unit="replicas",
        text="" if within else text,
    )


def check_pods(question: Question) -> GuardCheck | None:
    """Fail when all raises together would add too many pods."""
    surge = None if question.planned is None else question.planned.surge
    if surge is None:
        return None
    added = surge.added_pods + surge.other_pods + _pods_of_dry_runs(question)
    limit = surge_limit(question.settings.caps.surge_pods, question.state.seen.pods_running)
    within = added <= limit
    text = f"raised workloads would have {added} pods more than without us; {limit} are allowed"
    return guard_check(
        "cap_surge_pods",
        passed=within,
        reason=Reason.CAP_SURGE_PODS,
        measured=added,
        limit=limit,
        unit="pods",
        text="" if within else text,
    )


def _pods_of_dry_runs(question: Question) -> int:
    """Return the pods that recent dry runs on other workloads would have added.

    The cluster shows none of them, and nothing gives them back, so they count for as long as for other caps.
    """
    newest: dict[str, Execution] = {}
    for execution in question.recent(question.settings.caps.window_seconds):
        if execution.mode is Mode.SHADOW and execution.direction == "up":
            newest.update(dict.fromkeys(execution.workloads, execution))
    own = set(question.planned.workloads) if question.planned is not None else set()
    return sum(
        _added_pods(execution) for workload, execution in newest.items() if workload not in own
    )


def _added_pods(execution: Execution) -> int:
    total = 0
    for operation in execution.operations:
        if operation.resource != "deployments":
            continue
        patch: dict[str, Any] = json.loads(operation.patch or "{}")
        remembered = read_scale_up((patch.get("metadata") or {}).get("annotations") or {})
        total += 0 if remembered is None else remembered.added_pods
    return total


GUARDS = (
    Guard("cap_surge_ratio", Needs.PLAN, 52, check_ratio),
    Guard("cap_surge_pods", Needs.PLAN, 54, check_pods),
)
