"""Writes the operations of a stored plan one by one; each is judged again right before it is sent."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

from schemas.control import Command, Control
from schemas.outcome import GuardCheck, Mode, Operation, OperationResult, OutcomeExecution, Verb
from schemas.reasons import Reason
from services.cluster import ClusterRefused, ClusterUnavailable, Transport
from services.executor.guards import Needs, Question, Write, ask_guards
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
            failed = await self._failed_guards(state, started, operation)
            checks.extend(failed)
            return _refused_result(failed[0].reason, failed[0].text) if failed else None

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

    async def _failed_guards(
        self, state: Ledger, started: OutcomeExecution, operation: Operation
    ) -> tuple[GuardCheck, ...]:
        """Return the guards that forbid an operation as log and cluster are now.

        Raises:
            ClusterUnavailable, ClusterRefused: the cluster could not be read.
        """
        due = PendingDecision(
            cycle=started.cycle,
            part=started.part,
            decision_id=started.decision_id,
            observation_id="",
            action=started.action,
            score=0.0,
            cluster_time_seconds=started.cluster_time_seconds,
        )
        write = Write(operation, takes_back=bool(started.rollback_of))
        newest, now = await self._newest_state(state), started.cluster_time_seconds
        question = Question(due, newest, self._settings, now, write=write)
        if failed := _failed(Needs.LOG, question):
            return failed
        scope = await read_scope(self._transport, self._settings, started.mode)
        reach = await read_reach(self._transport, operation, scope)
        question = replace(question, reaches=(reach,), scope=scope)
        failed = _failed(Needs.REACH, question)
        if failed or started.direction != "off" or not ends_machine(operation):
            return failed
        left = await pods_left(self._transport, started.action.target.name)
        return _failed(Needs.REACH, replace(question, write=replace(write, pods_left=left)))

    async def _newest_state(self, state: Ledger) -> Ledger:
        """Ask the log itself: an operator's command, or a cycle, may be there that `state` does not show yet."""
        command = None if self._newest_control is None else await self._newest_control()
        cycle = None if self._newest_cycle is None else await self._newest_cycle()
        update: dict[str, Any] = {}
        if command is not None and command.command in {Command.KILL, Command.RESUME}:
            update["killed"] = command.command is Command.KILL
        if cycle is not None:
            update["seen"] = state.seen.model_copy(update={"cycle": cycle})
        return state.model_copy(update=update)


def _failed(needs: Needs, question: Question) -> tuple[GuardCheck, ...]:
    return tuple(check for check in ask_guards(needs, question) if not check.passed)


def _refused_result(reason: Reason | None, message: str) -> OperationResult:
    return OperationResult(status="refused", reason=reason, message=message[:300])


def _goes_on(started: OutcomeExecution, operation: Operation, result: OperationResult) -> bool:
    """Say whether the rest of a plan is written after an operation that did not go through."""
    held = operation.verb is Verb.EVICT and result.reason is Reason.PDB
    return held or bool(started.rollback_of and operation.verb is not Verb.RUN)
