"""What a log shows to be wrong, Service by Service: the answer to a problem comes from nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from schemas.actions import ReplicateAction
from schemas.envelope import Event
from schemas.observation import Observation
from schemas.outcome import ExecutionPhase, OutcomeExecution
from schemas.view import ObservationView, update_view
from schemas.work import LATENCY_BOUNDS, ServiceCounters

LONG_SECONDS = 45.0
"""A start or an update is over by then; what is not as it should be for longer is a finding."""
SLOW_SECONDS = 0.5
BAD_RATIO = 0.01
"""The outcome score's usual objective: at most 1 % of the requests fail or take longer."""
MISSES = 3
"""So many observations in a row miss it: one burst is no finding."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One sign that something is wrong."""

    service: str
    """Name of the Deployment, which is the Service's, too."""
    sign: str
    at_seconds: float
    """Cluster time at which it was known."""


@dataclass(slots=True)
class Findings:
    """Takes in a log; `found` has the first time of each sign."""

    found: list[Finding] = field(default_factory=list)
    last: ObservationView | None = None
    _since: dict[tuple[str, str], float] = field(default_factory=dict)
    _restarts: dict[str, int] = field(default_factory=dict)
    _settled: set[str] = field(default_factory=set)
    _requests: dict[str, ServiceCounters] = field(default_factory=dict)
    _misses: dict[str, int] = field(default_factory=dict)

    def take(self, event: Event[Any]) -> None:
        """Take in an event."""
        if isinstance(event.data, OutcomeExecution):
            self._act(event.data)
        if not isinstance(event.data, Observation):
            return
        view = update_view(self.last, event)
        if view is None:
            return
        self.last = view
        now = view.cluster_time_seconds
        lasting = set(self._lasting(view))
        for sign in lasting:
            since = self._since.setdefault(sign, now)
            if now - since >= LONG_SECONDS:
                self._add(*sign, now)
        self._since = {sign: since for sign, since in self._since.items() if sign in lasting}
        for name in self._restarted(view):
            self._add(name, "containers restarted", now)
        for name in self._missing(view):
            self._add(name, "objective missed", now)

    def _act(self, execution: OutcomeExecution) -> None:
        """Count a raise: whoever adds replicas found that there are too few."""
        action = execution.action
        if execution.phase is ExecutionPhase.STARTED and isinstance(action, ReplicateAction):
            self._add(name_of(action.target.name), "replicas added", execution.cluster_time_seconds)

    def _add(self, service: str, sign: str, now: float) -> None:
        if all((one.service, one.sign) != (service, sign) for one in self.found):
            self.found.append(Finding(service, sign, now))

    def _lasting(self, view: ObservationView) -> Iterator[tuple[str, str]]:
        pods = view.pods
        for workload, phase, waits in zip(
            pods.workload, pods.phase, pods.pending_class, strict=True
        ):
            if phase == "Pending" and waits is not None:
                yield name_of(workload), f"pods wait: {waits}"
        table = view.services
        if table is None:
            return
        for workload, wanted, ready in zip(table.workload, table.wanted, table.ready, strict=True):
            name = name_of(workload)
            if wanted and ready >= wanted:
                self._settled.add(name)
            elif name in self._settled:
                yield name, "no replicas wanted" if not wanted else "pods not ready"

    def _restarted(self, view: ObservationView) -> Iterator[str]:
        pods = view.pods
        for pod, workload, restarts in zip(pods.ids, pods.workload, pods.restarts, strict=True):
            if restarts > self._restarts.get(pod, 0):
                yield name_of(workload)
            self._restarts[pod] = restarts

    def _missing(self, view: ObservationView) -> Iterator[str]:
        """Yield Services that missed their objective in several observations in a row."""
        for now in (view.work.services or ()) if view.work is not None else ():
            before = self._requests.get(now.service)
            self._requests[now.service] = now
            name = name_of(now.service)
            missed = name in self._settled and before is not None and _misses(before, now)
            self._misses[name] = self._misses.get(name, 0) + 1 if missed else 0
            if self._misses[name] >= MISSES:
                yield name

    def healthy(self, services: Iterable[str]) -> bool:
        """Say whether at the end no pod needs help, and these Services want replicas and have them all.

        So AIOpsLab's mitigation is scored: every container ready, none ended, and the Deployment back.
        """
        view = self.last
        if view is None or view.services is None or view.totals.sla_violations:
            return False
        rows: Mapping[str, tuple[int, int]] = {
            name_of(workload): (wanted, ready)
            for workload, wanted, ready in zip(
                view.services.workload, view.services.wanted, view.services.ready, strict=True
            )
        }
        return all(
            0 < wanted <= ready for wanted, ready in (rows.get(name, (0, 0)) for name in services)
        )


def name_of(workload: str) -> str:
    """Return the last part of `<namespace>/<kind>/<name>`."""
    return workload.rpartition("/")[2]


def _misses(before: ServiceCounters, now: ServiceCounters) -> bool:
    served, failed = now.served - before.served, now.failed - before.failed
    lost = now.lost - before.lost
    if min(served, failed, lost) < 0:  # the Service was made anew, and its counters with it
        return False
    slow = 0.0
    if now.served_within and before.served_within:
        bucket = LATENCY_BOUNDS.index(SLOW_SECONDS)
        slow = max(0.0, served - (now.served_within[bucket] - before.served_within[bucket]))
    return failed + lost + slow > BAD_RATIO * (served + failed + lost) + 1e-6
