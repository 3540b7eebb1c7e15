"""What still belongs to one action after its writes, when nothing else is done any more. Pure.

- A machine that was emptied to save its energy is put to sleep once nothing runs on it.
- A machine that sleeps by this action is woken when pods wait for capacity.
- Replicas that were given back are added again when the Service violates its objective.
- After replicas elsewhere the machine that is about to go is emptied, a minute later.

Each happens once, at the first look that shows its reason.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from projections.score.tally import Slo, service_violates
from schemas.actions import (
    Action,
    MigrateAction,
    PowerStateAction,
    ReplicateAction,
    Target,
    TargetKind,
)
from schemas.outcome import OutcomeExecution
from schemas.view import ObservationView

EMPTIED_SECONDS = 60.0
"""After replicas were added elsewhere, until the machine is emptied: what agent A waits at most."""
VIOLATED_LOOKS = 2
"""Looks in a row at which a Service violates its objective before replicas are added again."""


@dataclass(slots=True)
class Continuation:
    """The rest of one action; ask it at every look."""

    kind: str
    started: OutcomeExecution
    slo: Slo
    done: list[str] = field(default_factory=list)
    """Kinds of what was done beyond the action's own writes."""
    _asleep: bool = False
    _violated: int = 0

    def __post_init__(self) -> None:
        self._asleep = self.kind == "power_state:sleep"

    def next_action(self, before: ObservationView, now: ObservationView) -> Action | None:
        """Return what is to be done now, by what was seen at the look before and is seen now."""
        action = self._next(before, now)
        if action is not None:
            self.done.append(action.full_kind)
        return action

    def _next(self, before: ObservationView, now: ObservationView) -> Action | None:
        if self._asleep:
            return self._wake(now)
        if self.kind == "migrate:pack" and not self.done:
            return self._put_to_sleep(now)
        if self.kind == "replicate:fewer" and not self.done:
            return self._add_again(before, now)
        if self.kind == "replicate:before_end" and not self.done:
            return self._empty(now)
        return None

    def _wake(self, now: ObservationView) -> Action | None:
        if waiting_for_capacity(now) == 0:
            return None
        self._asleep = False
        return PowerStateAction(target=self.started.action.target, power_state="on")

    def _put_to_sleep(self, now: ObservationView) -> Action | None:
        assert isinstance(self.started.action, MigrateAction)
        row = now.nodes.index().get(self.started.action.target.name)
        if row is None or now.nodes.pods[row] > 0 or waiting_for_capacity(now):
            return None
        self._asleep = True
        return PowerStateAction(target=self.started.action.target, power_state="sleep")

    def _empty(self, now: ObservationView) -> Action | None:
        since = now.cluster_time_seconds - self.started.cluster_time_seconds
        if since < EMPTIED_SECONDS or now.occupancy is None:
            return None
        for listed in now.occupancy.nodes:
            here = any(pod.workload == self.started.action.target.name for pod in listed.pods)
            if listed.notices and here:
                return MigrateAction(target=Target(kind=TargetKind.NODE, name=listed.node))
        return None

    def _add_again(self, before: ObservationView, now: ObservationView) -> Action | None:
        workload = self.started.action.target.name
        self._violated = self._violated + 1 if _violates(workload, before, now, self.slo) else 0
        replicas = replicas_before(self.started)
        if self._violated < VIOLATED_LOOKS or replicas is None:
            return None
        target = Target(kind=TargetKind.WORKLOAD, name=workload)
        return ReplicateAction(target=target, replicas=replicas)


def waiting_for_capacity(view: ObservationView) -> int:
    """Return how many pods wait because no machine has room for them."""
    waiting = view.totals.pending_by_class
    return int(sum(waiting[name] for name in waiting if name.startswith("insufficient_")))


def replicas_before(started: OutcomeExecution) -> int | None:
    """Return the number that a change of replicas would be taken back to; None where it names none."""
    for operation in started.operations:
        spec = json.loads(operation.undo or "{}").get("spec") or {}
        for name in ("replicas", "minReplicas"):
            if name in spec:
                return int(spec[name])
    return None


def _violates(workload: str, before: ObservationView, now: ObservationView, slo: Slo) -> bool:
    earlier = {one.service: one for one in (before.work and before.work.services) or ()}
    return any(
        one.workload == workload and service_violates(earlier.get(one.service), one, slo)
        for one in (now.work and now.work.services) or ()
    )
