"""Inputs of incidents: reactions, risks at thresholds, what we did, and measured use."""

from __future__ import annotations

import math
from array import array
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from projections.foresight import log as foresight
from projections.incidents.compact import Differences, Samples
from projections.incidents.incident import Lane, Occurrence
from schemas.actions import ReplicateAction
from schemas.envelope import Event
from schemas.observation import Observation
from schemas.outcome import ExecutionPhase, OutcomeExecution, OutcomeVerification
from schemas.prediction import Prediction, PredictionShadow, prediction_table
from schemas.proposal import Proposal
from schemas.reaction import Reaction, ReactionItem
from schemas.reasons import Reason
from schemas.score import OutcomeCounterfactual
from schemas.snapshot import SnapshotPlacements
from schemas.view import ObservationView, update_view

READS = (
    "snapshot.placements",
    "prediction.>",
    "outcome.verification",
    "outcome.counterfactual",
    "reaction",
    *(subject for subject in foresight.READS if not subject.startswith("prediction.")),
)
"""Subjects that are read."""
USUAL_ALARM = 0.5
"""The lowest action threshold where neither the prediction nor a proposal states one."""


@dataclass(frozen=True, slots=True)
class LoggedReaction:
    """One reaction, and where it stands in the log."""

    item: ReactionItem
    seq: int
    cycle: int


@dataclass(frozen=True, slots=True)
class Crossing:
    """A node's predicted risk came to an action threshold, or fell below it."""

    model_id: str
    shadow: bool
    node: str
    value: float
    threshold: float
    time_seconds: float
    above: bool
    seq: int
    cycle: int


@dataclass(frozen=True, slots=True)
class UsageSample:
    """Measured use of every node at one moment, and pods that wait in the whole cluster."""

    time_seconds: float
    """When it was measured."""
    ids: tuple[str, ...]
    cores: array[float]


@dataclass
class ClusterHistory:
    """Inputs of incidents."""

    reactions: list[LoggedReaction] = field(default_factory=list)
    crossings: list[Crossing] = field(default_factory=list)
    usage: list[UsageSample] = field(default_factory=list)
    queue: list[tuple[float, int]] = field(default_factory=list)
    waiting_at: list[tuple[float, frozenset[str]]] = field(default_factory=list)
    """At each look the pods that wait for a node, where all of them are listed."""
    risks: dict[str, Samples] = field(default_factory=dict)
    """The active model's risk of each node that ever came to an action threshold."""
    executions: list[Event[OutcomeExecution]] = field(default_factory=list)
    """Those that are over and may have changed something."""
    verifications: list[Event[OutcomeVerification]] = field(default_factory=list)
    differences: Differences = field(default_factory=Differences)
    """What acting has changed up to each cycle of which both worlds were seen."""
    workloads_on: dict[str, dict[str, float]] = field(default_factory=dict)
    """By node the workloads that ever ran there, and since when."""
    ran_before: dict[str, dict[str, float]] = field(default_factory=dict)
    """By workload the nodes that it ran on, and since when, of reactions that are held no more."""
    pods_on: dict[str, int] = field(default_factory=dict)
    foresight: foresight.ForesightLog = field(default_factory=foresight.ForesightLog)
    first_seconds: float | None = None
    last_seconds: float = 0.0
    omitted: int = 0
    """Reactions that were left out of their events."""
    unreadable: int = 0
    """Messages that this version cannot read."""
    _view: ObservationView | None = None
    _alarm: float = USUAL_ALARM
    _above: set[tuple[str, str]] = field(default_factory=set)

    def copy(self) -> ClusterHistory:
        """Return a copy of its own, which events to come do not change."""
        return replace(
            self,
            reactions=self.reactions[:],
            crossings=self.crossings[:],
            usage=self.usage[:],
            queue=self.queue[:],
            waiting_at=self.waiting_at[:],
            risks={node: samples.copy() for node, samples in self.risks.items()},
            executions=self.executions[:],
            verifications=self.verifications[:],
            differences=self.differences.copy(),
            workloads_on={node: dict(ran) for node, ran in self.workloads_on.items()},
            ran_before={name: dict(nodes) for name, nodes in self.ran_before.items()},
            _above=set(self._above),
        )

    def add(self, event: Event[Any]) -> None:
        """Take one event of the log into account."""
        self.foresight = self.foresight.after(event)
        match event.data:
            case Reaction() as reaction:
                self._add_reactions(reaction, event.seq)
            case Observation():
                self._add_observation(event)
            case Prediction() as prediction:
                self._add_prediction(prediction, event.seq)
            case Proposal(agent="safety") as proposal:
                limits = [item.threshold for item in proposal.evidence if item.name == "risk_ratio"]
                self._alarm = min(
                    (limit for limit in limits if limit is not None), default=self._alarm
                )
            case OutcomeExecution() as execution:
                if may_matter(execution):
                    self.executions.append(event)
            case OutcomeVerification():
                self.verifications.append(event)
            case OutcomeCounterfactual() as difference:
                self.differences.add(difference)
            case SnapshotPlacements(placements=table, cluster_time_seconds=at) if table is not None:
                for row_id in table.ids:
                    node, _, workload = row_id.partition("|")
                    if "*" not in workload:  # large clusters are summed by namespace or node
                        self.workloads_on.setdefault(node, {}).setdefault(workload, at)
            case _:
                pass

    def _add_reactions(self, reaction: Reaction, seq: int) -> None:
        self.omitted += reaction.omitted
        for item in reaction.reactions:
            self.reactions.append(LoggedReaction(item, seq, reaction.cycle))
            if item.node and item.workload:
                ran = self.workloads_on.setdefault(item.node, {})
                ran[item.workload] = min(item.time_seconds, ran.get(item.workload, math.inf))

    def _add_observation(self, event: Event[Any]) -> None:
        data: Observation = event.data
        at = data.cluster_time_seconds
        self.first_seconds = at if self.first_seconds is None else self.first_seconds
        self.last_seconds = max(self.last_seconds, at)
        self.queue.append((at, data.totals.queue_length))
        self._view = view = update_view(self._view, event)
        if view is None:
            return
        nodes, pods = view.nodes, view.pods
        self.pods_on = dict(zip(nodes.ids, nodes.pods, strict=True))
        waiting = frozenset(
            name
            for name, node, phase in zip(pods.ids, pods.node, pods.phase, strict=True)
            if phase == "Pending" and not node
        )
        pending = sum(phase == "Pending" for phase in pods.phase)
        if pending == data.totals.queue_length:
            known = self.waiting_at[-1][1] if self.waiting_at else None
            self.waiting_at.append((at, known if known == waiting else waiting))
        usage = view.signal("node_usage")
        if usage is not None and usage.observed_time_seconds is not None:
            columns = zip(nodes.cpu_used_ratio, nodes.cpu_allocatable_cores, strict=True)
            cores = array("d", ((ratio or 0.0) * size for ratio, size in columns))
            before = self.usage[-1] if self.usage else None
            if before is None or before.time_seconds < usage.observed_time_seconds:
                ids = before.ids if before is not None and before.ids == nodes.ids else nodes.ids
                self.usage.append(UsageSample(usage.observed_time_seconds, ids, cores))

    def _add_prediction(self, prediction: Prediction, seq: int) -> None:
        what, ids, ratios = prediction_table(prediction)
        if what != "risk" or prediction.status != "result":
            return
        shadow = isinstance(prediction, PredictionShadow)
        stated = prediction.alarm_ratio
        alarm = self._alarm if stated is None else stated
        at = prediction.cluster_time_seconds
        for node, ratio in zip(ids, ratios, strict=True):
            key, above = (prediction.model_id, node), ratio >= alarm
            if not shadow and (above or node in self.risks):
                self.risks.setdefault(node, Samples()).add(at, ratio)
            if above is not (key in self._above):
                (self._above.add if above else self._above.discard)(key)
                crossing = Crossing(
                    *(prediction.model_id, shadow, node, ratio, alarm, at, above),
                    seq=seq,
                    cycle=prediction.cycle,
                )
                self.crossings.append(crossing)

    def ran_by(self, node: str, time_seconds: float) -> list[str]:
        """Return the workloads that had run on a node by a time."""
        return [name for name, at in self.workloads_on.get(node, {}).items() if at <= time_seconds]

    def ran_on(self, workloads: Collection[str], before_seconds: float) -> set[str]:
        """Return the nodes that workloads ran on before a time, as reactions tell."""
        ran = {
            reaction.item.node
            for reaction in self.reactions
            if reaction.item.node
            and reaction.item.workload in workloads
            and reaction.item.time_seconds < before_seconds
        }
        for workload in workloads:
            since = self.ran_before.get(workload, {})
            ran |= {node for node, at in since.items() if at < before_seconds}
        return ran

    def usage_of(self, nodes: frozenset[str]) -> list[tuple[float, float]]:
        """Return the measured cores of some nodes over time."""
        return [
            (
                sample.time_seconds,
                sum(
                    cores
                    for name, cores in zip(sample.ids, sample.cores, strict=True)
                    if name in nodes
                ),
            )
            for sample in self.usage
        ]


def may_matter(execution: OutcomeExecution) -> bool:
    """Say whether an execution can be part of an incident: it is over, and it was one or asks for replicas."""
    asked = execution.reason is not Reason.NOOP or isinstance(execution.action, ReplicateAction)
    return asked and execution.phase is not ExecutionPhase.STARTED


def occurrence(
    reaction: LoggedReaction, lane: Lane, text: str, *, group: str, damage: bool = False
) -> Occurrence:
    """Return a reaction as an occurrence."""
    item = reaction.item
    return Occurrence(
        time_seconds=item.time_seconds,
        lane=lane,
        kind=str(item.kind),
        text=text,
        seq=reaction.seq,
        cycle=reaction.cycle,
        lag_seconds=item.lag_seconds,
        since=item.since,
        workload=item.workload,
        nodes=(item.node,) if item.node else (),
        group=group,
        damage=damage,
    )


def of_kind(reactions: list[LoggedReaction], *kinds: str) -> Iterator[LoggedReaction]:
    """Yield reactions of some kinds."""
    return (reaction for reaction in reactions if reaction.item.kind in kinds)
