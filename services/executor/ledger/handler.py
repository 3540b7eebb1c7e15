"""How each stored event changes the ledger, and the handler that keeps it; `service.py` acts on what it holds."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

from projections.standing import is_reversible, standing_after
from schemas.breaker import OutcomeBreaker
from schemas.capabilities import OutcomeCapabilities
from schemas.control import EVERYTHING, Command, Control
from schemas.decision import Decision
from schemas.envelope import Event, NewEvent
from schemas.observation import Observation
from schemas.outcome import (
    ExecutionPhase,
    Mode,
    OutcomeExecution,
    OutcomeVerification,
    VerificationStatus,
)
from schemas.reasons import Reason
from schemas.signals import SignalStatus
from schemas.stimulus import Stimulus
from schemas.subjects import parse
from services.executor.ledger import ClusterSummary, Execution, Ledger, PendingDecision, Place
from services.executor.ledger.work import work_counts_of

NAME = "executor"
KEPT_EXECUTIONS = 250
"""At about 2 kB each they keep the checkpoint well below one message."""
KEPT_DECISIONS = 1_000
KEPT_LOOKS = 8
"""Enough for an execution verified up to five observations later to be compared with before it."""
UNDO = re.compile(r"([0-9]{1,18})(?:\.([0-9]{1,3}))?")
"""What the operator's `undo` names: a cycle, and perhaps a part of it."""
API_SOURCE = "kubernetes_api"
OUTAGE_SECONDS, OUTAGE_INTERVALS = 30.0, 3.0
"""A longer time without an observation is an outage, in cluster seconds and in cycles."""


class ExecutorHandler:
    """The pure part; what is published depends on the cluster, so `decide` returns nothing."""

    name = NAME
    reads = (
        Observation.PATTERN,
        Decision.PATTERN,
        Control.PATTERN,
        OutcomeExecution.PATTERN,
        OutcomeVerification.PATTERN,
        OutcomeBreaker.PATTERN,
        OutcomeCapabilities.PATTERN,
        Stimulus.PATTERN,
    )
    state_version = 1
    deadline_seconds = None

    def initial(self) -> Ledger:
        """Return the state before any event."""
        return Ledger()

    def evolve(self, state: Ledger, event: Event[Any]) -> Ledger:
        """Return the state after one stored event."""
        return evolve(state, event)

    def decide(self, state: Ledger, *, overdue: bool) -> tuple[NewEvent, ...]:
        """Return nothing."""
        del state, overdue
        return ()

    def open_cycle(self, state: Ledger) -> int | None:
        """No cycle waits on a deadline here."""
        del state
        return None


def evolve(state: Ledger, event: Event[Any]) -> Ledger:
    """Return the state after one stored event."""
    match event.data:
        case Observation():
            look = work_counts_of(event.data)
            update = {"seen": _summarise(event, state.seen), "replayed": _is_replay(event)}
            if look is not None:
                update["looks"] = (*state.looks, look)[-KEPT_LOOKS:]
            return state.model_copy(update=update)
        case Decision():
            return state.model_copy(
                update={"due": (*state.due, *_pending_parts(event))[-KEPT_DECISIONS:]}
            )
        case OutcomeExecution():
            return _apply_execution(state, event)
        case OutcomeVerification() as data:
            worse = data.status is VerificationStatus.WORSE
            return _update_execution(state, (data.cycle, data.part), verified=True, worse=worse)
        case Control() as data:
            return _apply_control(state, data)
        case OutcomeBreaker() as data:
            return state.model_copy(update={"breakers": data.standing})
        case OutcomeCapabilities() as data:
            return state.model_copy(update={"missing_means": data.missing})
        case Stimulus() as data:
            cycles = (data.since_cycle, data.until_cycle)
            return state.model_copy(update={"exercised": None if None in cycles else cycles})
        case _:
            return state


def _summarise(event: Event[Any], before: ClusterSummary) -> ClusterSummary:
    data: Observation = event.data
    pressure = sum(
        count
        for name, count in data.totals.pending_by_class.items()
        if name.startswith("insufficient_")
    )
    return ClusterSummary(
        id=event.id,
        cycle=data.cycle,
        cluster_time_seconds=data.cluster_time_seconds,
        nodes=data.totals.nodes,
        nodes_available=min(data.totals.nodes_ready, data.totals.nodes_schedulable),
        pressure=pressure,
        pods_running=data.totals.pods_running,
        nodes_unready=max(0, data.totals.nodes - data.totals.nodes_ready),
        steady_since_seconds=_steady_since(data, before),
    )


def _steady_since(data: Observation, before: ClusterSummary) -> float | None:
    """Return since when nothing was missing; a gap between two observations begins anew."""
    api = [signal for signal in data.signals if signal.source == API_SOURCE]
    if any(signal.status is not SignalStatus.FRESH for signal in api):
        return None
    gap_seconds = data.cluster_time_seconds - before.cluster_time_seconds
    longest_seconds = max(OUTAGE_SECONDS, OUTAGE_INTERVALS * data.interval_seconds)
    if before.steady_since_seconds is None or gap_seconds > longest_seconds:
        return data.cluster_time_seconds
    return before.steady_since_seconds


def _is_replay(event: Event[Any]) -> bool:
    return parse(event.subject).cluster.startswith("replay-")


def _pending_parts(event: Event[Any]) -> tuple[PendingDecision, ...]:
    data: Decision = event.data
    return tuple(
        PendingDecision(
            cycle=data.cycle,
            part=number,
            decision_id=event.id,
            observation_id=data.observation_id,
            action=part.action,
            score=part.score,
            cluster_time_seconds=data.cluster_time_seconds,
        )
        for number, part in enumerate(data.parts)
    )


def _apply_execution(state: Ledger, event: Event[Any]) -> Ledger:
    data: OutcomeExecution = event.data
    place = data.cycle, data.part
    if data.rollback_of:
        if data.phase is ExecutionPhase.STARTED:
            return _update_execution(state, place, rollback_id=event.id)
        failed = data.phase is ExecutionPhase.FINISHED and not data.succeeded
        practice = not failed and state.in_exercise(data.cycle)
        ended = _update_execution(
            state, place, rolled_back=True, rollback_failed=failed, exercised=practice
        )
        return _without_wish(ended, place)
    due = next((pending for pending in state.due if pending.place == place), None)
    left = tuple(pending for pending in state.due if pending.place != place)
    if data.phase is ExecutionPhase.REFUSED:
        return state.model_copy(update={"due": left})
    if data.phase is ExecutionPhase.FINISHED:
        finished = _update_execution(
            state,
            place,
            phase=data.phase,
            succeeded=data.succeeded,
            half_done=_is_half_done(data),
            execution_id=event.id,
        )
        return finished.model_copy(update={"due": left})
    started = Execution(
        cycle=data.cycle,
        part=data.part,
        decision_id=data.decision_id,
        execution_id=event.id,
        phase=data.phase,
        mode=data.mode,
        action=data.action,
        score=0.0 if due is None else due.score,
        operations=data.operations,
        direction=data.direction,
        namespaces=tuple(
            dict.fromkeys(
                operation.namespace for operation in data.operations if operation.namespace
            )
        ),
        workloads=data.workloads,
        missing_replicas=data.missing_replicas,
        means=data.means,
        time_seconds=data.cluster_time_seconds,
        pressure=state.seen.pressure,
    )
    update: dict[str, Any] = {"due": left, "executions": _newest((*state.executions, started))}
    wanted_back = state.undo_until is not None and place[0] <= state.undo_until
    if wanted_back and is_reversible(started):  # it had begun when the operator spoke
        update["undo_parts"] = (*state.undo_parts, place)
    return state.model_copy(update=update)


def _newest(executions: tuple[Execution, ...]) -> tuple[Execution, ...]:
    """Return as many as are kept. What stands outlives older ones of which nothing does, so that it can be taken
    back; the newer half is kept in any case, for the guard rails.
    """
    if len(executions) <= KEPT_EXECUTIONS:
        return executions
    older = executions[: KEPT_EXECUTIONS // 2]
    stands = {one.place for one in what_stands(executions)}
    going = next((one for one in older if one.place not in stands), older[0])
    return tuple(one for one in executions if one is not going)


def what_stands(executions: Iterable[Execution]) -> tuple[Execution, ...]:
    """Return the executions of which something may stand on the cluster, oldest first."""
    standing: tuple[Execution, ...] = ()
    for one in executions:
        if not one.rolled_back and (one.succeeded or is_reversible(one)):
            standing = standing_after(standing, one)
    return standing


def _is_half_done(data: OutcomeExecution) -> bool:
    done = [
        operation
        for operation, result in zip(data.operations, data.results, strict=False)
        if result.status == "applied"
    ]
    stopped = data.reason is Reason.KILL_SWITCH  # the operator wants nothing more written
    failed = data.succeeded is False and not stopped
    return failed and bool(done) and all(one.undo for one in done)


def _without_wish(state: Ledger, place: Place) -> Ledger:
    """Return the state without the operator's wish for a part, and for its cycle once no other part stands."""
    cycle = place[0]
    stands = any(one.cycle == cycle and not one.rolled_back for one in state.executions)
    update: dict[str, Any] = {"undo_parts": tuple(one for one in state.undo_parts if one != place)}
    if not stands:
        update["undo"] = tuple(one for one in state.undo if one != cycle)
    return state.model_copy(update=update)


def _update_execution(state: Ledger, place: Place, **update: Any) -> Ledger:
    executions = tuple(
        execution.model_copy(update=update) if execution.place == place else execution
        for execution in state.executions
    )
    return state.model_copy(update={"executions": executions})


def _apply_control(state: Ledger, data: Control) -> Ledger:
    match data.command:
        case Command.KILL:
            return state.model_copy(update={"killed": True})
        case Command.PAUSE:
            return state.model_copy(update={"paused": True})
        case Command.RESUME:
            return state.model_copy(update={"killed": False, "paused": False})
        case Command.MODE:
            return (
                state.model_copy(update={"mode": Mode(data.value)})
                if data.value in set(Mode)
                else state
            )
        case Command.UNDO:
            return _apply_undo(state, data.value)
        case Command.REARM:
            return state  # the scoreboard answers with what stands then


def _apply_undo(state: Ledger, value: str) -> Ledger:
    """Note the operator's wish: `17` is every part of a cycle, `17.1` one of them, `all` whatever stands; else
    nothing.
    """
    if value == EVERYTHING:
        state = _reopen(state, lambda _: True)
        places = tuple(one.place for one in what_stands(state.executions))
        return state.model_copy(
            update={"undo_until": state.seen.cycle, "undo_parts": (*state.undo_parts, *places)}
        )
    match = UNDO.fullmatch(value)
    if match is None:
        return state
    cycle, part = int(match[1]), match[2]
    if part is None:
        state = _reopen(state, lambda place: place[0] == cycle)
        return state.model_copy(update={"undo": (*state.undo, cycle)})
    wanted = (cycle, int(part))
    state = _reopen(state, lambda place: place == wanted)
    return state.model_copy(update={"undo_parts": (*state.undo_parts, wanted)})


def _reopen(state: Ledger, is_wanted: Callable[[Place], bool]) -> Ledger:
    """Return the state in which what could not be taken back is tried once more, where it is wanted."""
    again = tuple(
        one.model_copy(
            update={
                "rolled_back": False,
                "rollback_failed": False,
                "rollback_id": "",
                "rollbacks_failed": one.rollbacks_failed + 1,
            }
        )
        if one.rollback_failed and is_wanted(one.place)
        else one
        for one in state.executions
    )
    return state.model_copy(update={"executions": again})
