"""Carrying out a decision: read, plan, ask the guard rails, store `started`, write, store `finished`."""

from __future__ import annotations

from dataclasses import replace

from schemas.actions import ActionKind, ResizeAction
from schemas.outcome import ExecutionPhase, GuardCheck, OutcomeExecution
from schemas.reasons import Reason
from services.cluster import ClusterRefused, ClusterUnavailable
from services.executor.execution.context import SideEffectContext, reason_for
from services.executor.execution.planning import plan_within
from services.executor.facts import Facts
from services.executor.guards import Needs, Question, ask_guards
from services.executor.ledger import Execution, Ledger, PendingDecision
from services.executor.plans.planned import OperationPlan, PlanRefusal
from services.executor.reading.facts import read_facts
from services.executor.reading.machines import add_node_claim
from services.executor.reading.moves import add_moves
from services.executor.reading.namespaces import add_namespaces
from services.executor.reading.pod_amounts import RESIZED
from services.executor.reading.reach import read_scope


async def execute(context: SideEffectContext, state: Ledger, due: PendingDecision) -> None:
    """Execute a decision within the guard rails, or publish why not."""
    settings = context.settings
    question = Question(due, state, settings, state.seen.cluster_time_seconds)
    checks = ask_guards(Needs.LOG, question)
    if due.action.kind is ActionKind.NOOP or not _all_passed(checks):
        await _refuse(context, state, due, checks)
        return
    try:
        facts = await _read_facts(context, due)
        scope = await read_scope(context.transport, settings, context.mode(state))
        question_with_facts = Question(due, state, settings, facts.time_seconds, scope=scope)
        planned, within = await plan_within(context.transport, question_with_facts, facts)
    except (ClusterUnavailable, ClusterRefused) as error:
        refusal = PlanRefusal(reason=reason_for(error), text=str(error)[:300])
        await _refuse(context, state, due, checks, refusal)
        return
    checks = (*checks, *within)
    if isinstance(planned, PlanRefusal):
        await _refuse(context, state, due, checks, planned)
        return
    checks = (
        *checks,
        *ask_guards(Needs.PLAN, replace(question_with_facts, planned=planned)),
    )
    if not _all_passed(checks):
        await _refuse(context, state, due, checks)
        return
    await _start(context, state, due, facts, planned, checks)


async def _read_facts(context: SideEffectContext, due: PendingDecision) -> Facts:
    """Read what the plan of this kind looks at."""
    settings, kind = context.settings, due.action.kind
    facts = await read_facts(context.transport, due.action)
    if kind is ActionKind.MIGRATE:
        return await add_moves(context.transport, facts)
    if kind is ActionKind.POWER_STATE:
        return await add_node_claim(context.transport, facts, settings)
    if isinstance(due.action, ResizeAction):
        return await context.pod_reader.add_sizes(facts, due.action)
    if settings.node_limits == "kubernetes" and kind in RESIZED:
        return await context.pod_reader.add_amounts(facts)
    if settings.node_limits == "kubernetes" and kind is ActionKind.RESOURCE_CAP:
        facts = await add_namespaces(context.transport, facts)
        return facts.model_copy(update={"decision_id": due.decision_id})
    return facts


async def resume(context: SideEffectContext, state: Ledger, execution: Execution) -> None:
    """Complete a plan that an earlier process started, or abandon it when it is too old."""
    started = OutcomeExecution(
        cycle=execution.cycle,
        part=execution.part,
        cluster_time_seconds=execution.time_seconds,
        decision_id=execution.decision_id,
        phase=ExecutionPhase.STARTED,
        mode=context.mode_for(state, execution),
        action=execution.action,
        operations=execution.operations,
        direction=execution.direction,
        workloads=execution.workloads,
        missing_replicas=execution.missing_replicas,
        means=execution.means,
        text=f"completed after a restart: {execution.action.kind}",
    )
    if state.seen.cycle - execution.cycle <= context.settings.stale_cycles and not (
        state.killed or state.paused
    ):
        await context.write_plan(state, started, execution.execution_id)
        return
    abandoned = started.model_copy(
        update={
            "phase": ExecutionPhase.FINISHED,
            "succeeded": False,
            "reason": Reason.ABANDONED_AFTER_RESTART,
            "text": "the plan was too old when the executor came back",
        }
    )
    await context.publish(abandoned, (execution.execution_id,))


async def _start(
    context: SideEffectContext,
    state: Ledger,
    due: PendingDecision,
    facts: Facts,
    planned: OperationPlan,
    checks: tuple[GuardCheck, ...],
) -> None:
    started = OutcomeExecution(
        cycle=due.cycle,
        part=due.part,
        cluster_time_seconds=facts.time_seconds,
        decision_id=due.decision_id,
        phase=ExecutionPhase.STARTED,
        mode=context.mode(state),
        action=due.action,
        operations=planned.operations,
        direction=planned.direction,
        workloads=planned.workloads,
        missing_replicas=planned.missing_replicas,
        means=planned.means,
        guards=checks,
        text=planned.text,
    )
    started_id = await context.publish(started, (due.decision_id, due.observation_id))
    await context.write_plan(state, started, started_id)


async def _refuse(
    context: SideEffectContext,
    state: Ledger,
    due: PendingDecision,
    checks: tuple[GuardCheck, ...],
    refusal: PlanRefusal | None = None,
) -> None:
    failed = next((check for check in checks if not check.passed), None)
    if failed is not None:
        reason, text = failed.reason, failed.text
    elif refusal is not None:
        reason, text = refusal.reason, refusal.text
    else:
        reason, text = Reason.NOOP, "the decision was to do nothing"
    refused = OutcomeExecution(
        cycle=due.cycle,
        part=due.part,
        cluster_time_seconds=state.seen.cluster_time_seconds,
        decision_id=due.decision_id,
        phase=ExecutionPhase.REFUSED,
        mode=context.mode(state),
        action=due.action,
        guards=checks,
        reason=reason,
        text=text,
    )
    await context.publish(refused, (due.decision_id, due.observation_id))


def _all_passed(checks: tuple[GuardCheck, ...]) -> bool:
    return all(check.passed for check in checks)
