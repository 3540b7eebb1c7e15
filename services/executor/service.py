"""The executor's shell: read, plan, ask the guard rails, store `started`, write, store `finished`;
then verify.

`started` with the whole plan is stored before the first write, and operations state absolute ends,
so after a crash a started plan is simply applied again or, when it is too old, abandoned. The mode
is decided here and nowhere else.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import replace

import structlog

from bus.clock import Clock
from bus.errors import Permanent, Temporary
from bus.follow import Follower, Publisher
from bus.handler_process import config_of
from bus.port import Bus
from schemas import subjects
from schemas.actions import ActionKind
from schemas.control import Control
from schemas.envelope import NewEvent
from schemas.identity import Origin
from schemas.outcome import (
    ExecutionPhase,
    GuardCheck,
    Mode,
    Operation,
    OutcomeExecution,
    OutcomeVerification,
)
from schemas.reasons import Reason
from schemas.registry import decode
from services.cluster import ClusterRefused, ClusterUnavailable, Transport
from services.executor.cluster import read_facts, read_object
from services.executor.facts import Facts
from services.executor.guards import BEFORE_ACTING, BEFORE_READING, ask
from services.executor.guards.question import Question
from services.executor.handler import NAME, ExecutorHandler
from services.executor.ledger import Due, Execution, Ledger
from services.executor.planning import plan_within
from services.executor.plans.planned import Planned, Refusal
from services.executor.reading import read_scope
from services.executor.settings import ExecutorSettings
from services.executor.verify import due_for_verification, end_reached, rollback, verdict
from services.executor.writing import Writer

__all__ = ["NAME", "Executor", "ExecutorHandler", "run"]
REMEMBERED = 10_000
"""Things done by this process; older ones are long in the log."""


async def run(
    settings: ExecutorSettings,
    bus: Bus,
    clock: Clock,
    origin: Origin,
    transport: Transport,
    *,
    code_version: str = "",
    on_progress: Callable[[str, int], None] | None = None,
) -> None:
    """Execute decisions until cancelled."""
    publisher = Publisher(bus, origin, NAME)
    await publisher.publish_config(
        config_of(NAME, settings.announcement(), code_version), clock.wall_ns() / 1e9
    )

    if settings.namespaces is not None and settings.mode is Mode.ACTIVE:
        early = "active mode on a real cluster is early"
        structlog.get_logger(NAME).warning(early, namespaces=settings.namespaces)

    async def newest_control() -> Control | None:
        stored = await bus.last(subjects.build(origin.cluster, Control.PATTERN))
        found = None if stored is None else decode(stored.subject, stored.headers, stored.data).data
        return found if isinstance(found, Control) else None

    executor = Executor(settings, publisher, transport, newest_control)
    await Follower(
        ExecutorHandler(), bus, clock, publisher, act=executor.act, on_progress=on_progress
    ).run()


class Executor:
    """Does what the newest decision asks for, within the guard rails."""

    def __init__(
        self,
        settings: ExecutorSettings,
        publisher: Publisher,
        transport: Transport,
        newest_control: Callable[[], Awaitable[Control | None]] | None = None,
    ) -> None:
        """Execute through `transport`; `newest_control` is asked before every single write."""
        self._settings = settings
        self._publisher = publisher
        self._transport = transport
        self._writer = Writer(settings, transport, newest_control)
        self._log = structlog.get_logger(NAME)
        self._handled: OrderedDict[str, None] = OrderedDict()

    async def act(self, state: Ledger) -> None:
        """Do what is owed in this state; each thing once per process."""
        for execution in state.executions:
            if execution.phase is ExecutionPhase.STARTED and self._take(
                f"execute-{execution.cycle}"
            ):
                await self._resume(state, execution)
        for due in state.due:
            if self._take(f"execute-{due.cycle}"):
                await self._execute(state, due)
        for execution in due_for_verification(state, self._settings.verify_cycles):
            if self._take(f"verify-{execution.cycle}"):
                await self._verify(state, execution)
        for execution in () if state.killed else state.executions:
            why = self._why_back(state, execution)
            if why and self._take(f"undo-{execution.cycle}"):
                await self._roll_back(state, execution, why)

    def _why_back(self, state: Ledger, execution: Execution) -> str:
        """Say why an execution has to be taken back; empty when it has not."""
        if execution.rolled_back or execution.phase is not ExecutionPhase.FINISHED:
            return ""
        if self._mode_of(state, execution) is not execution.mode:
            return ""  # it waits for the active mode: a dry run takes nothing back
        if execution.cycle in state.undo:
            return "the operator asked for it"
        return "it got worse" if execution.worse and self._settings.roll_back else ""

    def _take(self, what: str) -> bool:
        """Say whether this process has not done it yet; what it published may still be on its way
        back.
        """
        if what in self._handled:
            return False
        self._handled[what] = None
        while len(self._handled) > REMEMBERED:
            self._handled.popitem(last=False)
        return True

    def _mode(self, state: Ledger) -> Mode:
        return state.mode or self._settings.mode

    def _mode_of(self, state: Ledger, execution: Execution) -> Mode:
        """Return how an earlier plan may be written now: for real only while both modes say so."""
        return Mode.SHADOW if Mode.SHADOW in {execution.mode, self._mode(state)} else Mode.ACTIVE

    # ---- executing

    async def _execute(self, state: Ledger, due: Due) -> None:
        question = Question(due, state, self._settings, state.seen.cluster_time_seconds)
        checks = ask(BEFORE_READING, question)
        if due.action.kind is ActionKind.NOOP or not _passed(checks):
            await self._refuse(state, due, checks)
            return
        try:
            facts = await read_facts(self._transport, due.action)
            scope = await read_scope(self._transport, self._settings, self._mode(state))
            asked = Question(due, state, self._settings, facts.time_seconds, scope=scope)
            planned, within = await plan_within(self._transport, asked, facts)
        except (ClusterUnavailable, ClusterRefused) as error:
            await self._refuse(
                state, due, checks, Refusal(reason=_reason(error), text=str(error)[:300])
            )
            return
        checks = (*checks, *within)
        if isinstance(planned, Refusal):
            await self._refuse(state, due, checks, planned)
            return
        checks = (*checks, *ask(BEFORE_ACTING, replace(asked, planned=planned)))
        if not _passed(checks):
            await self._refuse(state, due, checks)
            return
        await self._start(state, due, facts, planned, checks)

    async def _start(
        self,
        state: Ledger,
        due: Due,
        facts: Facts,
        planned: Planned,
        checks: tuple[GuardCheck, ...],
    ) -> None:
        started = OutcomeExecution(
            cycle=due.cycle,
            cluster_time_seconds=facts.time_seconds,
            decision_id=due.decision_id,
            phase=ExecutionPhase.STARTED,
            mode=self._mode(state),
            action=due.action,
            operations=planned.operations,
            direction=planned.direction,
            workloads=planned.workloads,
            guards=checks,
            text=planned.text,
        )
        stored = await self._say(started, (due.decision_id, due.observation_id))
        await self._write(state, started, stored)

    async def _write(self, state: Ledger, started: OutcomeExecution, started_id: str) -> None:
        results, checks = await self._writer.write(state, started)
        succeeded = all(one.status in {"applied", "unchanged"} for one in results)
        failed = next((one for one in results if one.status in {"refused", "failed"}), None)
        finished = started.model_copy(
            update={
                "phase": ExecutionPhase.FINISHED,
                "results": results,
                "succeeded": succeeded,
                "guards": checks,
                "reason": None if failed is None else failed.reason,
                "text": started.text if failed is None else f"{started.text}: {failed.message}",
            }
        )
        await self._say(finished, (started_id,))
        self._log.info(
            "executed",
            cycle=started.cycle,
            kind=started.action.kind,
            succeeded=succeeded,
            mode=started.mode,
        )

    async def _refuse(
        self,
        state: Ledger,
        due: Due,
        checks: tuple[GuardCheck, ...],
        refusal: Refusal | None = None,
    ) -> None:
        failed = next((one for one in checks if not one.passed), None)
        if failed is not None:
            reason, text = failed.reason, failed.text
        elif refusal is not None:
            reason, text = refusal.reason, refusal.text
        else:
            reason, text = Reason.NOOP, "the decision was to do nothing"
        refused = OutcomeExecution(
            cycle=due.cycle,
            cluster_time_seconds=state.seen.cluster_time_seconds,
            decision_id=due.decision_id,
            phase=ExecutionPhase.REFUSED,
            mode=self._mode(state),
            action=due.action,
            guards=checks,
            reason=reason,
            text=text,
        )
        await self._say(refused, (due.decision_id, due.observation_id))

    async def _resume(self, state: Ledger, execution: Execution) -> None:
        """Complete a plan that an earlier process started, or abandon it when it is too old."""
        started = OutcomeExecution(
            cycle=execution.cycle,
            cluster_time_seconds=execution.time_seconds,
            decision_id=execution.decision_id,
            phase=ExecutionPhase.STARTED,
            mode=self._mode_of(state, execution),
            action=execution.action,
            operations=execution.operations,
            direction=execution.direction,
            workloads=execution.workloads,
            text=f"completed after a restart: {execution.action.kind}",
        )
        if state.seen.cycle - execution.cycle <= self._settings.stale_cycles and not (
            state.killed or state.paused
        ):
            await self._write(state, started, execution.execution_id)
            return
        abandoned = started.model_copy(
            update={
                "phase": ExecutionPhase.FINISHED,
                "succeeded": False,
                "reason": Reason.ABANDONED_AFTER_RESTART,
                "text": "the plan was too old when the executor came back",
            }
        )
        await self._say(abandoned, (execution.execution_id,))

    # ---- afterwards

    async def _verify(self, state: Ledger, execution: Execution) -> None:
        try:
            current = [await read_object(self._transport, one) for one in execution.operations]
        except (ClusterUnavailable, ClusterRefused) as error:
            self._handled.pop(f"verify-{execution.cycle}")
            self._log.warning("not verified yet", cycle=execution.cycle, error=str(error))
            return
        ends = tuple(
            end_reached(one, found)
            for one, found in zip(execution.operations, current, strict=True)
        )
        found = verdict(execution, ends, state)
        data = OutcomeVerification(
            cycle=execution.cycle,
            cluster_time_seconds=state.seen.cluster_time_seconds,
            decision_id=execution.decision_id,
            execution_id=execution.execution_id,
            observed_cycle=state.seen.cycle,
            status=found.status,
            checks=found.checks,
            lag_seconds=round(state.seen.cluster_time_seconds - execution.time_seconds, 6),
            reason=found.reason,
            text=found.text,
        )
        new_event = NewEvent(
            data, data.cycle, data.cluster_time_seconds, (execution.execution_id, state.seen.id)
        )
        await self._publisher.publish([new_event])

    async def _roll_back(self, state: Ledger, execution: Execution, why: str) -> None:
        """Undo what still stands; what others changed since is left to them."""
        try:
            operations = await self._standing(execution)
        except (ClusterUnavailable, ClusterRefused) as error:
            self._handled.pop(f"undo-{execution.cycle}")
            self._log.warning("not taken back yet", cycle=execution.cycle, error=str(error))
            return
        started = OutcomeExecution(
            cycle=execution.cycle,
            cluster_time_seconds=state.seen.cluster_time_seconds,
            decision_id=execution.decision_id,
            phase=ExecutionPhase.STARTED,
            mode=execution.mode,
            action=execution.action,
            operations=operations,
            text=f"take back {execution.action.kind}: {why}",
            rollback_of=execution.execution_id,
        )
        if not operations:
            refused = started.model_copy(
                update={
                    "phase": ExecutionPhase.REFUSED,
                    "reason": Reason.TARGET_CHANGED,
                    "text": "nothing of it is left that could be taken back",
                }
            )
            await self._say(refused, (execution.execution_id,))
            return
        stored = execution.rollback_id or await self._say(
            started, (execution.execution_id, state.seen.id)
        )
        await self._write(state, started, stored)

    async def _standing(self, execution: Execution) -> tuple[Operation, ...]:
        """Return the undo operations whose object still shows what the execution wrote."""
        standing = []
        for operation in execution.operations:
            found = await read_object(self._transport, operation)
            if found is not None and operation.undo and end_reached(operation, found):
                version = str(found["metadata"]["resourceVersion"])
                standing.append(operation.model_copy(update={"resource_version": version}))
        return rollback(execution.model_copy(update={"operations": tuple(standing)}))

    async def _say(self, data: OutcomeExecution, causes: tuple[str, ...]) -> str:
        """Publish one execution event and return its id once it is stored."""
        new_event = NewEvent(data, data.cycle, data.cluster_time_seconds, causes)
        return (await self._publisher.publish([new_event]))[0].id


def _passed(checks: tuple[GuardCheck, ...]) -> bool:
    return all(one.passed for one in checks)


def _reason(error: Temporary | Permanent) -> Reason:
    return Reason.API_UNREACHABLE if isinstance(error, Temporary) else Reason.API_ERROR
