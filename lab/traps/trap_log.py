"""What is kept of a played trap: executions, what each observation shows, and what acting changed."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from itertools import pairwise

from lab.traps.trap import MINUTE, TrapCheck
from schemas.actions import ReplicateAction
from schemas.envelope import Event
from schemas.model import EventData
from schemas.observation import Observation
from schemas.outcome import ExecutionPhase, OutcomeExecution
from schemas.reasons import Reason
from schemas.score import OutcomeCounterfactual
from schemas.view import ObservationView, update_view


@dataclass(frozen=True, slots=True)
class TrapObservation:
    """State at one observation."""

    seconds: float
    """Since the first one."""
    waiting: int
    """Pods that wait for capacity."""
    asleep: int
    replicas: dict[str, int]
    """Wanted, by Service."""


@dataclass(slots=True)
class TrapLog:
    """Takes in the log of one run; `measure` answers a check."""

    executions: list[OutcomeExecution] = field(default_factory=list)
    observations: list[TrapObservation] = field(default_factory=list)
    changed: OutcomeCounterfactual | None = None
    """Effect of acting, newest."""
    _view: ObservationView | None = None
    _began: float | None = None

    def take(self, event: Event[EventData]) -> None:
        """Take in an event of the log."""
        if isinstance(event.data, OutcomeExecution):
            self.executions.append(event.data)
        elif isinstance(event.data, OutcomeCounterfactual):
            self.changed = event.data
        elif isinstance(event.data, Observation):
            self._look(event)

    def measure(self, check: TrapCheck) -> float:
        """Return the number that a check is about."""
        match check.what:
            case "executed" | "refused":
                return float(len(self._matching(check)))
            case "written":
                return float(self._written(check))
            case "turns":
                return float(self._turns(check.target))
            case "replicas":
                return float(self._observation_at(check).replicas.get(check.service, 0))
            case "asleep":
                return float(self._observation_at(check).asleep)
            case "waiting_seconds":
                return self._waiting_seconds(check)
            case "difference":
                return self._difference(check.component)
            case "gain":
                return 0.0 if self.changed is None else self.changed.total_money

    def _look(self, event: Event[EventData]) -> None:
        view = self._view = update_view(self._view, event)
        if view is None:
            return
        if self._began is None:
            self._began = view.cluster_time_seconds
        by_class, table = view.totals.pending_by_class, view.services
        self.observations.append(
            TrapObservation(
                seconds=view.cluster_time_seconds - self._began,
                waiting=sum(
                    by_class[name] for name in by_class if name.startswith("insufficient_")
                ),
                asleep=sum(state == "sleep" for state in view.nodes.power_state),
                replicas={} if table is None else dict(zip(table.ids, table.wanted, strict=True)),
            )
        )

    def _seconds(self, execution: OutcomeExecution) -> float:
        return execution.cluster_time_seconds - (self._began or 0.0)

    def _within(self, seconds: float, check: TrapCheck) -> bool:
        until = math.inf if check.until_minute is None else check.until_minute * MINUTE
        return check.after_minute * MINUTE <= seconds < until

    def _matching(self, check: TrapCheck) -> list[OutcomeExecution]:
        return [
            one
            for one in self.executions
            if self._is_meant(one, refused=check.what == "refused")
            and self._within(self._seconds(one), check)
            and fnmatchcase(one.action.full_kind, check.kind)
            and fnmatchcase(one.action.target.name, check.target)
        ]

    @staticmethod
    def _is_meant(one: OutcomeExecution, *, refused: bool) -> bool:
        if refused:  # a noop is called refused, too
            return one.phase is ExecutionPhase.REFUSED and one.reason is not Reason.NOOP
        return (
            one.phase is ExecutionPhase.FINISHED and one.succeeded is True and not one.rollback_of
        )

    def _written(self, check: TrapCheck) -> int:
        plans = {
            (one.cycle, one.part): one.operations
            for one in self.executions
            if one.phase is ExecutionPhase.STARTED and not one.rollback_of
        }
        return sum(
            result.status == "applied"
            and fnmatchcase(operation.verb, check.verb)
            and fnmatchcase(operation.resource, check.resource)
            for one in self.executions
            if self._is_meant(one, refused=False) and self._within(self._seconds(one), check)
            for operation, result in zip(plans[one.cycle, one.part], one.results, strict=True)
        )

    def _turns(self, target: str) -> int:
        steps: dict[str, list[int]] = {}
        for one in self.executions:
            action = one.action
            if (
                self._is_meant(one, refused=False)
                and isinstance(action, ReplicateAction)
                and action.replicas is not None
                and fnmatchcase(action.target.name, target)
            ):
                steps.setdefault(action.target.name, []).append(action.replicas)
        turns = 0
        for numbers in steps.values():
            moves = [later > earlier for earlier, later in pairwise(numbers) if later != earlier]
            turns += sum(one is not other for one, other in pairwise(moves))
        return turns

    def _observation_at(self, check: TrapCheck) -> TrapObservation:
        until = math.inf if check.until_minute is None else check.until_minute * MINUTE
        return [observation for observation in self.observations if observation.seconds <= until][
            -1
        ]

    def _waiting_seconds(self, check: TrapCheck) -> float:
        """Each time is counted to the first look at which nobody waits."""
        longest, since = 0.0, None
        for observation in self.observations:
            if since is not None:
                longest = max(longest, observation.seconds - since)
            if not observation.waiting or not self._within(observation.seconds, check):
                since = None
            elif since is None:
                since = observation.seconds
        return longest

    def _difference(self, component: str) -> float:
        if self.changed is None:
            return 0.0
        return math.fsum(
            part.total
            for part in self.changed.components
            if part.name.partition("/")[0] == component
        )
