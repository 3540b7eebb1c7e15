"""admission: open or close the queue of pending workloads.

admit: give back what we held (un-suspend Jobs, restore Deployments). queue: suspend Jobs whose pods
all wait, newest first. deprioritize: the same for the lowest priority only. reject: like queue, and
Deployments that wait are scaled to 0. What waits because it was told to (a selector, a gate, a queue of
Kueue's), or for its volume, takes no room from others and is never held. Everything we hold carries an
annotation with its former value, so that admit can restore it. Removing demand is a cost to whoever
wanted it; the reward does not count it as success.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from schemas.actions import AdmissionAction
from schemas.outcome import Operation
from schemas.reasons import Reason
from services.executor.facts import Facts, WorkloadFacts
from services.executor.plans.planned import OperationPlan, PlanRefusal, workload_patch
from services.executor.settings import ExecutorSettings
from services.held import HELD


def plan(
    action: AdmissionAction, facts: Facts, settings: ExecutorSettings
) -> OperationPlan | PlanRefusal:
    """Choose the workloads, then state each one's end."""
    wish = action.admission
    own = [
        workload
        for workload in facts.workloads
        if not workload.protected and workload.namespace not in settings.protected_namespaces
    ]
    chosen = _choose_workloads(wish, own)[: settings.workloads_per_admission]
    if not chosen:
        text = "nothing is held" if wish == "admit" else "no waiting workload may be held"
        reason = Reason.ALREADY_IN_STATE if wish == "admit" else Reason.NO_WORKLOAD
        return PlanRefusal(reason=reason, text=text)
    operations = tuple(
        _restore(workload) if wish == "admit" else _hold(workload) for workload in chosen
    )
    names = ", ".join(f"{workload.namespace}/{workload.name}" for workload in chosen)
    return OperationPlan(
        operations=operations,
        text=f"{wish}: {'restore' if wish == 'admit' else 'hold'} {names}",
        direction="open" if wish == "admit" else "close",
        workloads=tuple(workload.id for workload in chosen),
    )


def _choose_workloads(wish: str, workloads: Sequence[WorkloadFacts]) -> list[WorkloadFacts]:
    if wish == "admit":
        held_workloads = [workload for workload in workloads if annotated_state(workload)]
        return sorted(
            held_workloads,
            key=lambda held_workload: (
                -held_workload.priority,
                held_workload.created_time_seconds,
                held_workload.id,
            ),
        )
    waiting = [
        workload
        for workload in workloads
        if HELD not in workload.annotations
        and workload.pending_pods >= max(1, workload.replicas)
        and not workload.suspended
        and not workload.queued
    ]
    if wish != "reject":
        waiting = [workload for workload in waiting if workload.kind == "Job"]
    if wish == "deprioritize" and waiting:
        lowest = min(workload.priority for workload in waiting)
        waiting = [workload for workload in waiting if workload.priority == lowest]
    return sorted(
        waiting,
        key=lambda workload: (workload.priority, -workload.created_time_seconds, workload.id),
    )


def _hold(workload_facts: WorkloadFacts) -> Operation:
    if workload_facts.kind == "Job":
        patch = {
            "metadata": {"annotations": {HELD: json.dumps({"suspend": False})}},
            "spec": {"suspend": True},
        }
        undo = {"metadata": {"annotations": {HELD: None}}, "spec": {"suspend": False}}
        return workload_patch(
            workload_facts,
            patch,
            undo,
            f"suspend job {workload_facts.namespace}/{workload_facts.name}",
        )
    patch = {
        "metadata": {"annotations": {HELD: json.dumps({"replicas": workload_facts.replicas})}},
        "spec": {"replicas": 0},
    }
    undo = {
        "metadata": {"annotations": {HELD: None}},
        "spec": {"replicas": workload_facts.replicas},
    }
    return workload_patch(
        workload_facts,
        patch,
        undo,
        f"scale deployment {workload_facts.namespace}/{workload_facts.name} to 0",
    )


def _restore(workload_facts: WorkloadFacts) -> Operation:
    before = annotated_state(workload_facts)
    patch = {"metadata": {"annotations": {HELD: None}}, "spec": before}
    spec = (
        {"suspend": workload_facts.suspended}
        if workload_facts.kind == "Job"
        else {"replicas": workload_facts.replicas}
    )
    undo = {"metadata": {"annotations": {HELD: workload_facts.annotations[HELD]}}, "spec": spec}
    return workload_patch(
        workload_facts,
        patch,
        undo,
        f"restore {workload_facts.kind.lower()} {workload_facts.namespace}/{workload_facts.name}",
    )


def annotated_state(workload_facts: WorkloadFacts) -> dict[str, Any]:
    """Return what to restore; empty when nothing is held or the annotation is not ours to read.

    Anybody may write annotations, so only the two values that we write ourselves are taken.
    """
    try:
        former = json.loads(workload_facts.annotations.get(HELD, ""))
    except ValueError:
        return {}
    if workload_facts.kind == "Job":
        return {"suspend": False} if former == {"suspend": False} else {}
    replicas = former.get("replicas") if isinstance(former, dict) else None
    return {"replicas": replicas} if type(replicas) is int and replicas >= 0 else {}
