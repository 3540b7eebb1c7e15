"""Harm that an execution can cause, by kind of action: what is measured, against which limit.

Each check compares with what was before the execution, so that a cluster that was in trouble already is
not held against it. A rise at the same time is no proof of the cause; the limits leave room for noise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from schemas.actions import ActionKind
from schemas.outcome import GuardCheck
from services.executor.ledger import Execution, Ledger
from services.executor.ledger.work import RequestCounts, WorkStep, step_between

LEAST_REQUESTS = 20.0
"""Requests before and after, without which a Service's share of bad ones says nothing."""
REQUEST_RISE_RATIO = 0.05
"""By how much a Service's share of bad requests may rise."""
OVERDUE_RISE_PODS = 1.0
"""By how many pods, on average, the overdue ones may become more; by half where there were many."""


@dataclass(frozen=True, slots=True)
class AffectedPods:
    """State of the workloads that an execution moves or scales."""

    waiting: tuple[str, ...] = ()
    """`<namespace>/<name>` of their pods that were made since the execution and have no node."""
    missing_replicas: Mapping[str, int] | None = None
    """By Deployment: replicas wanted but not ready."""
    troubles: tuple[str, ...] | None = None
    """What went wrong with pods that were resized; None: none were."""


HarmCheck = Callable[[Execution, Ledger, AffectedPods], GuardCheck | None]


def harm_checks(
    execution: Execution, state: Ledger, affected: AffectedPods
) -> tuple[GuardCheck, ...]:
    """Return the checks of the execution's kind; one that has nothing to compare is left out."""
    if execution.direction in {"on", "open", "down"}:
        return ()  # it ends a limit or a raise of ours
    answers = (check(execution, state, affected) for check in HARMS.get(execution.action.kind, ()))
    return tuple(answer for answer in answers if answer is not None)


def check_capacity(
    execution: Execution, state: Ledger, affected: AffectedPods
) -> GuardCheck | None:
    """Fail when more pods wait for capacity than before."""
    del affected
    now, before = state.seen.pressure, execution.pressure
    worse = now > before
    text = (
        f"pods waiting for capacity rose from {before} to {now}"
        if worse
        else f"{now} pods wait for capacity, {before} before"
    )
    return GuardCheck(
        guard="capacity_pressure",
        passed=not worse,
        measured=now,
        limit=before,
        unit="pods",
        text=text,
    )


def check_waiting_pods(
    execution: Execution, state: Ledger, affected: AffectedPods
) -> GuardCheck | None:
    """Fail when a pod that the execution made necessary has no node."""
    del execution, state
    waiting = affected.waiting
    return GuardCheck(
        guard="pods_without_node",
        passed=not waiting,
        measured=len(waiting),
        limit=0,
        unit="pods",
        text=f"{waiting[0]} and {len(waiting) - 1} more wait for a node" if waiting else "",
    )


def check_replicas(
    execution: Execution, state: Ledger, affected: AffectedPods
) -> GuardCheck | None:
    """Fail when a Deployment lacks more of its wanted replicas than before."""
    del state
    rises = {
        name: now - execution.missing_replicas.get(name, 0)
        for name, now in sorted((affected.missing_replicas or {}).items())
    }
    if not rises:
        return None
    name = max(rises, key=lambda one: rises[one])
    now, before = (affected.missing_replicas or {})[name], execution.missing_replicas.get(name, 0)
    return GuardCheck(
        guard="replicas_ready",
        passed=now <= before,
        measured=now,
        limit=before,
        unit="replicas",
        text=f"{name} lacks {now} of its replicas, {before} before",
    )


def check_requests(
    execution: Execution, state: Ledger, affected: AffectedPods
) -> GuardCheck | None:
    """Fail when a Service fails or slows down a larger share of its requests than before."""
    del affected
    steps = _steps(execution, state)
    if steps is None:
        return None
    before, after = steps
    shares = {
        service: (_bad_ratio(before.requests[service]), _bad_ratio(counts))
        for service, counts in after.requests.items()
        if service in before.requests
        and min(counts.asked, before.requests[service].asked) >= LEAST_REQUESTS
    }
    if not shares:
        return None
    service = max(shares, key=lambda name: (shares[name][1] - shares[name][0], name))
    earlier, now = shares[service]
    return GuardCheck(
        guard="requests",
        passed=now <= earlier + REQUEST_RISE_RATIO,
        measured=now,
        limit=earlier + REQUEST_RISE_RATIO,
        unit="ratio",
        text=f"{service} failed or slowed down {now:.1%} of its requests, {earlier:.1%} before",
    )


def check_overdue(execution: Execution, state: Ledger, affected: AffectedPods) -> GuardCheck | None:
    """Fail when clearly more pods are overdue than before."""
    del affected
    steps = _steps(execution, state)
    if steps is None:
        return None
    before, after = steps[0].overdue_pods, steps[1].overdue_pods
    limit = before + max(OVERDUE_RISE_PODS, before / 2)
    return GuardCheck(
        guard="overdue_waiting",
        passed=after <= limit,
        measured=after,
        limit=limit,
        unit="pods",
        text=f"{after:.1f} pods were overdue on average, {before:.1f} before",
    )


def check_resized(execution: Execution, state: Ledger, affected: AffectedPods) -> GuardCheck | None:
    """Fail when a resized pod ran out of memory since, or its kubelet will not resize it."""
    del execution, state
    troubles = affected.troubles
    if troubles is None:
        return None
    return GuardCheck(
        guard="resized_pods",
        passed=not troubles,
        measured=len(troubles),
        limit=0,
        unit="pods",
        text=troubles[0] if troubles else "",
    )


def _steps(execution: Execution, state: Ledger) -> tuple[WorkStep, WorkStep] | None:
    """Return the time up to the execution and the time since; None where either is not known."""
    earlier = [look for look in state.looks if look.time_seconds <= execution.time_seconds]
    if len(earlier) < 2:
        return None
    before = step_between(earlier[0], earlier[-1])
    after = step_between(earlier[-1], state.looks[-1])
    return None if before is None or after is None else (before, after)


def _bad_ratio(counts: RequestCounts) -> float:
    return counts.bad / counts.asked


HARMS: Mapping[ActionKind, tuple[HarmCheck, ...]] = {
    ActionKind.MIGRATE: (check_waiting_pods, check_replicas),
    ActionKind.REPLICATE: (check_waiting_pods,),
    ActionKind.THROTTLE: (check_resized, check_requests),
    ActionKind.DVFS: (check_requests,),
    ActionKind.MEMORY_BALLOON: (check_resized, check_requests),
    ActionKind.RESIZE: (check_resized, check_requests),
    ActionKind.RESOURCE_CAP: (check_capacity, check_replicas, check_requests),
    ActionKind.POWER_STATE: (check_capacity,),
    ActionKind.ADMISSION: (check_overdue,),
}
"""Every kind that writes has at least one; docs/actions.md lists them."""
WAITS_FOR_PODS = frozenset(kind for kind, checks in HARMS.items() if check_waiting_pods in checks)
"""Kinds that make new pods necessary, which need time to get a node and to become ready."""
