"""Watches a simulated run while it happens: every stored event and every write to the cluster.

It repeats the guard rails from the log alone, in a few plain lines each, so that a mistake in the
executor's own bookkeeping (a cool-down forgotten at a restart, a budget counted twice) cannot hide.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from math import ceil
from typing import Any

from bus.events import event_of
from bus.port import StoredMessage
from schemas.actions import TargetKind
from schemas.decision import Decision
from schemas.envelope import Event
from schemas.identity import Origin, event_id
from schemas.observation import Observation
from schemas.outcome import ExecutionPhase, OutcomeExecution
from schemas.surge import OWNER_REPLICAS
from services.executor.settings import ExecutorSettings


@dataclass
class LogMonitor:
    """Collects what must never happen, at the position where it happened."""

    origin: Origin
    settings: ExecutorSettings
    late_cycles: int
    """Cycles that may pass between the executor's look at the log and its word in it."""
    problems: list[str] = field(default_factory=list)
    newest_cycle: int = 0
    nodes: int = 0
    """The larger one of the newest two observations."""
    newest_nodes: int = 0
    started: list[Event[OutcomeExecution]] = field(default_factory=list)
    rolled_back: set[tuple[int, int]] = field(default_factory=set)
    open_plans: dict[tuple[int, int, bool], Event[OutcomeExecution]] = field(default_factory=dict)
    late_starts: dict[tuple[int, int, bool], int] = field(default_factory=dict)
    """The newest observed cycle when a plan was stored too late to be carried out."""

    def on_stored(self, message: StoredMessage) -> None:
        """Look at one event at the moment it is stored."""
        event: Event[Any] = event_of(message)
        self._check_identity(event)
        match event.data:
            case Observation() as data:
                self.newest_cycle = max(self.newest_cycle, data.cycle)
                # An executor may act on the observation before this one; one list of nodes that
                # failed must not count as a cluster without any.
                self.nodes, self.newest_nodes = (
                    max(self.newest_nodes, data.totals.nodes),
                    data.totals.nodes,
                )
            case Decision() as data:
                if data.missing and data.closed_by == "all":
                    self._report(event, "closed by all although somebody is missing")
            case OutcomeExecution():
                self._check_execution(event)

    def on_write(self, method: str, path: str) -> None:
        """Look at one real write of the executor just before it happens."""
        plans = [
            plan
            for plan in self.open_plans.values()
            if any(_is_written_by(operation, path) for operation in plan.data.operations)
        ]
        if not plans:
            self.problems.append(f"{method} {path} was written before its plan was stored")
            return
        decided = [plan for plan in plans if not plan.data.rollback_of]
        if len(decided) == len(plans) and all(self._is_too_old(plan) for plan in decided):
            self.problems.append(f"{method} {path} was written for a decision that is too old")

    def _check_identity(self, event: Event[Any]) -> None:
        expected = event_id(
            self.origin, event.producer, event.type, cycle=event.cycle, key=event.data.key()
        )
        if event.id != expected:
            self._report(event, "its id does not follow from what it is about")

    def _check_execution(self, event: Event[OutcomeExecution]) -> None:
        data = event.data
        about = (data.cycle, data.part, bool(data.rollback_of))
        if data.phase is not ExecutionPhase.STARTED:
            self.open_plans.pop(about, None)
            if about in self.late_starts and data.succeeded:
                self._report(
                    event, f"carried out although it was started in cycle {self.late_starts[about]}"
                )
            if data.rollback_of:
                self.rolled_back.add((data.cycle, data.part))
            return
        self.open_plans[about] = event
        if data.rollback_of:
            return
        if self._is_too_old(event):
            # The log may have taken it after an outage; nothing may be done for it any more.
            self.late_starts[about] = self.newest_cycle
        self._check_guard_rails(event)
        self._check_parts(event)
        self.started.append(event)

    def _is_too_old(self, plan: Event[OutcomeExecution]) -> bool:
        age = self.newest_cycle - plan.data.cycle
        return age > self.settings.stale_cycles + self.late_cycles

    def _check_guard_rails(self, event: Event[OutcomeExecution]) -> None:
        data, limits = event.data, self.settings
        now = data.cluster_time_seconds
        on_target = [
            event.data for event in self.started if event.data.action.target == data.action.target
        ]
        for earlier in on_target:
            age = now - earlier.cluster_time_seconds
            same = earlier.action.kind is data.action.kind and earlier.direction == data.direction
            if same and age < limits.cool_down_seconds:
                self._report(event, f"{data.action.kind} again after {age:g} s, in its cool-down")
        if data.action.target.kind is TargetKind.WORKLOAD:
            self._check_workload(event)
        if data.action.target.kind is not TargetKind.NODE:
            return
        recent = [
            earlier
            for earlier in on_target
            if now - earlier.cluster_time_seconds < limits.caps.window_seconds
        ]
        if len(recent) >= limits.caps.per_node:
            self._report(event, f"{len(recent)} executions on one node already")
        for budget in limits.budgets:
            used = {
                event.data.action.target.name
                for event in self.started
                if now - event.data.cluster_time_seconds < budget.window_seconds
                and event.data.action.kind in budget.reasons
                and event.data.action.target.kind is TargetKind.NODE
                and (event.data.cycle, event.data.part) not in self.rolled_back
            } | {data.action.target.name}
            if data.action.kind in budget.reasons and len(used) > budget.limit(self.nodes):
                self._report(event, f"{len(used)} nodes disrupted; the budget is {budget.nodes}")

    def _check_workload(self, event: Event[OutcomeExecution]) -> None:
        """Look at the number of executions on a workload, and at the owner's number in each write."""
        data, caps = event.data, self.settings.caps
        recent = [
            earlier
            for earlier in self.started
            if set(earlier.data.workloads) & set(data.workloads)
            and data.cluster_time_seconds - earlier.data.cluster_time_seconds < caps.window_seconds
        ]
        if len(recent) >= caps.per_workload:
            self._report(event, f"{len(recent)} executions on one workload already")
        for operation in data.operations:
            written, before = json.loads(operation.patch), json.loads(operation.undo)
            known = [text for text in (_remembered(before), _remembered(written)) if text]
            number = next(iter(written["spec"].values()))
            if not known or number < json.loads(known[0])["owner"]:
                self._report(event, f"{operation.text}: below what its owner asked for")

    def _check_parts(self, event: Event[OutcomeExecution]) -> None:
        touched = _touched(event.data)
        for earlier in self.started:
            if earlier.data.cycle == event.data.cycle and touched & _touched(earlier.data):
                self._report(event, f"touches what part {earlier.data.part} has touched")

    def _report(self, event: Event[Any], text: str) -> None:
        self.problems.append(f"seq {event.seq}: {event.type} of cycle {event.cycle}: {text}")


def _remembered(patch: dict[str, Any]) -> str | None:
    """Return what a patch leaves in the annotation with the owner's number."""
    text: str | None = patch["metadata"]["annotations"][OWNER_REPLICAS]
    return text


def _touched(data: OutcomeExecution) -> set[str]:
    """Return the target, the workloads and the objects of an execution, by name."""
    objects = {f"{one.resource} {one.namespace}/{one.name}" for one in data.operations}
    return {f"{data.action.target.kind} {data.action.target.name}", *data.workloads, *objects}


def _is_written_by(operation: Any, path: str) -> bool:
    """Say whether a path is that of an operation's object or of one of its subresources."""
    parts = path.strip("/").split("/")
    return operation.resource in parts and operation.name in parts


def late_cycles(longest_pause_seconds: float, interval_seconds: float) -> int:
    """Return how many cycles can pass while a process is paused between reading and publishing."""
    return 1 + ceil(longest_pause_seconds / interval_seconds)
