"""Writes the operations of a stored plan one by one; each is judged again right before it is sent."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from schemas.control import Command, Control
from schemas.outcome import GuardCheck, Mode, Operation, OperationResult, OutcomeExecution, Verb
from schemas.reasons import Reason
from services.cluster import ClusterRefused, ClusterUnavailable, Transport
from services.executor.guards import Question, Stage, ask_guards
from services.executor.ledger import Ledger, PendingDecision
from services.executor.reading.machines import ends_machine, pods_left
from services.executor.reading.reach import read_reach, read_scope
from services.executor.settings import ExecutorSettings
from services.executor.writing.commands import run_command
from services.executor.writing.operations import apply_operation


class OperationWriter:
    """Sends operations; the guards decide on each, however long ago it was planned."""

    def __init__(
        self,
        settings: ExecutorSettings,
        transport: Transport,
        newest_control: Callable[[], Awaitable[Control | None]] | None,
        newest_cycle: Callable[[], Awaitable[int | None]] | None = None,
    ) -> None:
        """Write through `transport`; both callables ask the log before every single write, for the
        operator's newest command and for the newest observed cycle.
        """
        self._settings = settings
        self._transport = transport
        self._newest_control = newest_control
        self._newest_cycle = newest_cycle

    async def write(
        self, state: Ledger, started: OutcomeExecution
    ) -> tuple[tuple[OperationResult, ...], tuple[GuardCheck, ...]]:
        """Write a plan until an operation does not go through; what takes back goes on, unless a command failed, and
        past a pod that a disruption budget holds the next one is tried.

        Returns:
            A result for each operation, and the guards that refused one.
        """
        results: list[OperationResult] = []
        checks: list[GuardCheck] = []
        for operation in started.operations:
            results.append(await self._write_operation(state, started, operation, checks))
            goes_on = _goes_on(started, operation, results[-1])
            if results[-1].status in {"refused", "failed"} and not goes_on:
                break
        skipped = [
            OperationResult(
                status="refused",
                reason=results[-1].reason,
                message="an earlier operation did not go through",
            )
            for _ in started.operations[len(results) :]
        ]
        return (*results, *skipped), tuple(checks)

    async def _write_operation(
        self,
        state: Ledger,
        started: OutcomeExecution,
        operation: Operation,
        checks: list[GuardCheck],
    ) -> OperationResult:
        async def check_guards() -> OperationResult | None:
            if await self._is_killed(state):
                return _refused_result(Reason.KILL_SWITCH, "the kill switch came on")
            if (cycle := await self._cycle_beyond(started)) is not None:
                text = f"cycle {cycle} was observed before this could be written"
                return _refused_result(Reason.STALE_DECISION, text)
            failed = await self._failed_guards(state, started, operation)
            checks.extend(failed)
            if failed:
                return _refused_result(failed[0].reason, failed[0].text)
            return await self._refusal_of_end(started, operation)

        dry_run = started.mode is Mode.SHADOW
        if operation.verb is Verb.RUN:
            return await self._run(operation, check_guards, dry_run=dry_run)
        return await apply_operation(
            self._transport, operation, dry_run=dry_run, check_guards=check_guards
        )

    async def _run(
        self,
        operation: Operation,
        check_guards: Callable[[], Awaitable[OperationResult | None]],
        *,
        dry_run: bool,
    ) -> OperationResult:
        try:
            refusal = await check_guards()
        except ClusterRefused as error:
            return _refused_result(Reason.API_ERROR, error.message)
        except ClusterUnavailable as error:
            return OperationResult(
                status="failed", reason=Reason.API_UNREACHABLE, message=str(error)[:300]
            )
        seconds = self._settings.command_seconds
        return refusal or await run_command(operation, seconds=seconds, dry_run=dry_run)

    async def _refusal_of_end(
        self, started: OutcomeExecution, operation: Operation
    ) -> OperationResult | None:
        """Refuse to end a machine on which a pod has arrived since it was found empty."""
        if started.direction != "off" or not ends_machine(operation):
            return None
        left = await pods_left(self._transport, started.action.target.name)
        if not left:
            return None
        text = f"{left[0]} and {len(left) - 1} more pods are on {started.action.target.name}"
        return _refused_result(Reason.NODE_NOT_EMPTY, text)

    async def _failed_guards(
        self, state: Ledger, started: OutcomeExecution, operation: Operation
    ) -> tuple[GuardCheck, ...]:
        """Return the guards that forbid an operation as the cluster is now."""
        scope = await read_scope(self._transport, self._settings, started.mode)
        reach = await read_reach(self._transport, operation, scope)
        due = PendingDecision(
            cycle=started.cycle,
            part=started.part,
            decision_id=started.decision_id,
            observation_id="",
            action=started.action,
            score=0.0,
            cluster_time_seconds=started.cluster_time_seconds,
        )
        now = started.cluster_time_seconds
        question = Question(due, state, self._settings, now, reaches=(reach,), scope=scope)
        return tuple(
            check for check in ask_guards(Stage.BEFORE_WRITING, question) if not check.passed
        )

    async def _cycle_beyond(self, started: OutcomeExecution) -> int | None:
        """Return the newest observed cycle if a decision is too old by now; a rollback never is.

        The event `started` may have waited through an outage until the log took it.
        """
        if started.rollback_of or self._newest_cycle is None:
            return None
        cycle = await self._newest_cycle()
        if cycle is None or cycle - started.cycle <= self._settings.stale_cycles:
            return None
        return cycle

    async def _is_killed(self, state: Ledger) -> bool:
        """Ask the log itself: the operator may have published a command that `state` does not show yet."""
        newest = None if self._newest_control is None else await self._newest_control()
        if newest is not None and newest.command in {Command.KILL, Command.RESUME}:
            return newest.command is Command.KILL
        return state.killed


def _refused_result(reason: Reason | None, message: str) -> OperationResult:
    return OperationResult(status="refused", reason=reason, message=message[:300])


def _goes_on(started: OutcomeExecution, operation: Operation, result: OperationResult) -> bool:
    """Say whether the rest of a plan is written after an operation that did not go through."""
    held = operation.verb is Verb.EVICT and result.reason is Reason.PDB
    return held or bool(started.rollback_of and operation.verb is not Verb.RUN)
