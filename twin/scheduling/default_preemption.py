"""DefaultPreemption: whom a pod that fits nowhere may displace, and where that costs least.

Upstream: pkg/scheduler/framework/preemption/preemption.go and
plugins/defaultpreemption/default_preemption.go. On each node all pods of lower priority are taken
away in thought and put back, the most important first and those of exhausted disruption budgets
before the others, as long as the pod still fits. The node is chosen by fewest budget violations,
lowest highest victim, smallest sum of priorities, fewest victims, latest start.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from twin.config.scheduling import SchedulerConfig
from twin.records import Object, ObjectRecord, PodRecord
from twin.scheduling.cycle import Cycle, Diagnosis
from twin.scheduling.node_resources_fit import PODS_ROW, FitReport
from twin.scheduling.node_table import Ints, NodeTable
from twin.scheduling.sentences import (
    NO_VICTIMS,
    POLICY_NEVER,
    VICTIMS_LEAVING,
    preemption_error,
)
from twin.selectors import matches
from twin.world import World

PREEMPTED = "PreemptionByScheduler"
"""Reason of the DisruptionTarget condition of victims."""
_OFFSET = 2**31  # makes every priority positive, so that more victims never cost less


@dataclass(frozen=True, slots=True)
class PreemptionCandidate:
    """One node and the pods that would have to go, the most important first."""

    row: int
    victims: tuple[PodRecord, ...]
    violations: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """Outcome of a preemption: a candidate, or the sentence why there is none."""

    candidate: PreemptionCandidate | None = None
    sentence: str = ""
    keeps_nomination: bool = False
    """True when the pod waits on for the node that it was promised."""


@dataclass(slots=True)
class Budget:
    """How many of the pods that a PodDisruptionBudget selects may go."""

    namespace: str
    selector: Object
    allowed: int
    disrupted: tuple[str, ...] = field(default=())


class Preemption:
    """Finds victims; deletes nobody."""

    def __init__(self, world: World, nodes: NodeTable, config: SchedulerConfig) -> None:
        self._world = world
        self._nodes = nodes
        self._config = config
        self._offsets = world.chance.draws("preemption offsets")

    def possible(self, pod: PodRecord) -> bool:
        """True when some bound pod has a lower priority."""
        return any(priority < pod.shape.priority for priority in self._nodes.priorities)

    def find(self, cycle: Cycle, diagnosis: Diagnosis) -> Outcome:
        """Return the best node and its victims for a pod that found no node."""
        pod, total = cycle.pod, diagnosis.nodes
        if not pod.shape.needs.may_preempt:
            return Outcome(sentence=POLICY_NEVER, keeps_nomination=True)
        if self._victims_leaving(pod, diagnosis):
            return Outcome(sentence=VICTIMS_LEAVING, keeps_nomination=True)
        rows = np.flatnonzero(diagnosis.helpable)
        if not len(rows):
            return Outcome(sentence=preemption_error(total, Counter()))
        if not self.possible(pod):
            return Outcome(sentence=preemption_error(total, Counter({NO_VICTIMS: len(rows)})))
        reasons: Counter[str] = Counter()
        candidates = self._candidates(cycle, rows, reasons)
        if not candidates:
            return Outcome(sentence=preemption_error(total, reasons))
        return Outcome(candidate=cheapest(candidates, self._world.now))

    def _victims_leaving(self, pod: PodRecord, diagnosis: Diagnosis) -> bool:
        """True when the pod has a node and displaced pods are still leaving it."""
        row = self._nodes.row_of.get(pod.nominated_node)
        if row is None or not diagnosis.helpable[row]:
            return False
        return any(
            other.deletion_at is not None
            and other.disruption == PREEMPTED
            and other.shape.priority < pod.shape.priority
            for other in self._world.pods_on.get(pod.nominated_node, {}).values()
        )

    def _candidates(
        self, cycle: Cycle, rows: Ints, reasons: Counter[str]
    ) -> list[PreemptionCandidate]:
        """Examine nodes from a drawn one on, until enough candidates are found.

        `reasons` collects why each other node cannot be helped.
        """
        offset = self._nodes.first_drawn(self._offsets, cycle.pod.uid, rows)
        share = len(rows) * self._config.candidate_nodes_percentage // 100
        enough = min(len(rows), max(share, self._config.candidate_nodes_absolute))
        rows = np.concatenate((rows[offset:], rows[:offset]))
        rows = self._worth_trying(cycle.pod, rows, reasons)
        budgets = self._budgets()
        clean: list[PreemptionCandidate] = []
        violating: list[PreemptionCandidate] = []
        for row in rows.tolist():
            found = self._victims(cycle, row, budgets)
            if isinstance(found, PreemptionCandidate):
                (violating if found.violations else clean).append(found)
                if clean and len(clean) + len(violating) >= enough:
                    break
            else:
                reasons.update(found)
        return [*clean, *violating]

    def _worth_trying(self, pod: PodRecord, rows: Ints, reasons: Counter[str]) -> Ints:
        """Leave out nodes without lower pods, and those that would lack something even so."""
        held = self._nodes.held_below(pod.shape.priority)
        inhabited = held[PODS_ROW] > 0
        among = np.zeros(self._nodes.count, np.bool_)
        among[rows] = True
        lonely = int(np.count_nonzero(among & ~inhabited))
        if lonely:
            reasons[NO_VICTIMS] += lonely
        good = inhabited
        if "NodeResourcesFit" in self._config.filters and not pod.shape.needs.extra:
            report = FitReport(self._nodes, pod.shape.needs, held)
            refused = report.refused()
            reasons.update(report.count(among & inhabited & refused))
            good = inhabited & ~refused
        rest: Ints = rows[good[rows]]
        return rest

    def _victims(
        self, cycle: Cycle, row: int, budgets: list[Budget]
    ) -> PreemptionCandidate | tuple[str, ...]:
        """Return the fewest pods of a node that have to go, or why that would not help."""
        priority, now = cycle.pod.shape.priority, self._world.now
        lower = [
            pod
            for pod in self._world.pods_on.get(self._nodes.names[row], {}).values()
            if pod.shape.priority < priority and not pod.terminal
        ]
        if not lower:
            return (NO_VICTIMS,)
        trial = cycle.trial(row)
        for pod in lower:
            trial.shift(pod, -1)
        refused = trial.reasons()
        if refused:
            return refused
        lower.sort(key=lambda pod: importance(pod, now))
        violating = _violating(lower, budgets) if budgets else set()
        victims, violations = [], 0
        for pod in sorted(lower, key=lambda pod: pod.uid not in violating):
            trial.shift(pod, 1)
            if trial.reasons():
                trial.shift(pod, -1)
                victims.append(pod)
                violations += pod.uid in violating
        if not victims:  # it would fit as it is: nothing to be done here
            return (NO_VICTIMS,)
        victims.sort(key=lambda pod: importance(pod, now))
        return PreemptionCandidate(row, tuple(victims), violations)

    def _budgets(self) -> list[Budget]:
        found = []
        for record in self._world.store.records("poddisruptionbudgets"):
            assert isinstance(record, ObjectRecord)
            selector = record.body["spec"].get("selector")
            status = record.body.get("status") or {}
            if selector:  # none and an empty one are about no pod here
                disrupted = tuple(status.get("disruptedPods") or ())
                allowed = int(status.get("disruptionsAllowed", 0))
                found.append(Budget(record.namespace, selector, allowed, disrupted))
        return found


def importance(pod: PodRecord, now: float) -> tuple[int, float]:
    """Return what sorts pods from the most to the least important: priority, then age."""
    return (-pod.shape.priority, pod.started_at if pod.started_at is not None else now)


def cheapest(candidates: list[PreemptionCandidate], now: float) -> PreemptionCandidate:
    """Return the candidate whose loss is smallest; the first of equals."""

    def cost(entry: PreemptionCandidate) -> tuple[int, int, int, int, float]:
        priorities = [pod.shape.priority for pod in entry.victims]
        highest = max(priorities)
        first_start = min(
            importance(pod, now)[1] for pod in entry.victims if pod.shape.priority == highest
        )
        return (
            entry.violations,
            highest,
            sum(priority + _OFFSET for priority in priorities),
            len(priorities),
            -first_start,
        )

    return min(candidates, key=cost)


def _violating(pods: list[PodRecord], budgets: list[Budget]) -> set[str]:
    """Return the uids of pods whose going would exceed a budget, the most important first."""
    left = [budget.allowed for budget in budgets]
    found: set[str] = set()
    for pod in pods:
        for index, budget in enumerate(budgets):
            if (
                pod.labels
                and budget.namespace == pod.namespace
                and pod.name not in budget.disrupted
                and matches(budget.selector, pod.labels)
            ):
                left[index] -= 1
                if left[index] < 0:
                    found.add(pod.uid)
    return found
