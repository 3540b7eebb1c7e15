"""Actions of ours on an incident, or before it: executions, refusals, and when they were seen to hold."""

from __future__ import annotations

from collections.abc import Iterator

from projections.figures import duration
from projections.incidents.history import ClusterHistory
from projections.incidents.incident import DamageGroup, DamageKind, Lane, Occurrence
from schemas.actions import TargetKind
from schemas.agents import action_label
from schemas.envelope import Event
from schemas.outcome import ExecutionPhase, Mode, OutcomeExecution, OutcomeVerification
from schemas.reasons import Reason

TAKES_CAPACITY = ("off", "limit", "close")
"""Directions of actions that can make pods wait; included although they came before."""

EXECUTED, REFUSED, SHADOWED = "executed", "refused", "executed_in_shadow"


def own_executions(
    history: ClusterHistory, group: DamageGroup, nodes: frozenset[str], since: float, until: float
) -> Iterator[Occurrence]:
    """Yield executions that concern the incident's nodes, workloads or queue."""
    waits = any(damage.kind is DamageKind.WAITING for damage in group.damages)
    workloads = set(group.workloads)
    verified = {event.data.execution_id: event.data for event in history.verifications}
    for event in history.executions:
        data = event.data
        at = data.cluster_time_seconds
        relevant = (
            data.action.target.name in nodes
            or bool(workloads & {*data.workloads, data.action.target.name})
            or (waits and data.action.target.kind is TargetKind.QUEUE)
            or (waits and data.direction in TAKES_CAPACITY)
        )
        if not since <= at <= until or data.reason is Reason.NOOP or not relevant:
            continue
        if at < group.begin_seconds and data.direction not in TAKES_CAPACITY:
            continue
        if data.phase is not ExecutionPhase.STARTED:
            yield _occurrence(event, verified.get(event.id))


def _occurrence(event: Event[OutcomeExecution], verified: OutcomeVerification | None) -> Occurrence:
    data = event.data
    refused = data.phase is ExecutionPhase.REFUSED
    back = "take back " if data.rollback_of else ""
    if refused:
        text = f"{{n}} x {action_label(data.action)} refused [{{details}}]"
        group = f"{action_label(data.action)} refused"
    else:
        shadow = " (shadow: nothing was written)" if data.mode is Mode.SHADOW else ""
        done = "" if data.succeeded else "FAILED: "
        held_text = (
            ""
            if verified is None
            else f"; {verified.status} {duration(verified.lag_seconds)} later"
        )
        text = f"{back}{action_label(data.action)}: {done}{data.text}{shadow or held_text}"
        group = f"{event.seq}"
    return Occurrence(
        time_seconds=data.cluster_time_seconds,
        lane=Lane.FORESAIL,
        kind=REFUSED if refused else SHADOWED if data.mode is Mode.SHADOW else EXECUTED,
        text=text,
        seq=event.seq,
        cycle=data.cycle,
        group=group,
        detail=str(data.reason or ""),
    )
