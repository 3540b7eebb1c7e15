"""Filtering: which nodes one pod may go to, why it may not go to the others, and what if.

All filters of one pod are read once; nothing may change in the cluster while a cycle is in use.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from twin.records import PodRecord
from twin.scheduling.inter_pod_affinity import AffinityFilter
from twin.scheduling.masks import either
from twin.scheduling.node_ports import PortsFilter
from twin.scheduling.node_resources_fit import FitReport, FitTrial, fitting
from twin.scheduling.node_table import Flags
from twin.scheduling.plugins import Plugins
from twin.scheduling.pod_topology_spread import SpreadFilter

FIT = "NodeResourcesFit"
NODE_RULES = "NodeRules"
"""Stands for NodeUnschedulable, TaintToleration and NodeAffinity together."""
Reserved = Sequence[tuple[int, PodRecord]]
"""(node row, pod) of pods that are to come to nodes and count as if they were there."""


class Trial(Protocol):
    """One filter's view of one node while pods come and go in thought."""

    def shift(self, pod: PodRecord, sign: int) -> None:
        """Put a pod on the node (1) or take it away (-1)."""

    def reasons(self) -> tuple[str, ...]:
        """Return the reasons against the node; empty when it fits."""


class RelationFilter(Protocol):
    """A filter that looks at other pods, for one pod."""

    plugin: str

    def passing(self) -> Flags:
        """Return the rows that pass."""

    def reasons(self) -> list[tuple[str, Flags, bool]]:
        """Return (reason, refused rows, whether taking pods away could help)."""

    def trial(self, row: int) -> Trial:
        """Return one node to try changes on."""


@dataclass(frozen=True, slots=True, eq=False)
class Diagnosis:
    """Why a pod found no node."""

    nodes: int
    reasons: Counter[str]
    """How many nodes each reason refuses; a node may lack several resources."""
    helpable: Flags
    """Rows where taking pods away could help (Unschedulable, not ...AndUnresolvable)."""
    plugins: tuple[str, ...]
    """The plugins that refused some node."""


@dataclass(frozen=True, slots=True, eq=False)
class Refusal:
    """What one filter refuses, and where taking pods away could help."""

    plugin: str
    reasons: list[tuple[str, Flags]]
    helpable: Flags


class NodeTrial:
    """All filters of one pod on one node, while pods come and go in thought."""

    def __init__(self, trials: list[Trial], to_come: list[PodRecord]) -> None:
        self._trials = trials
        self._to_come = to_come

    def shift(self, pod: PodRecord, sign: int) -> None:
        """Put a pod on the node (1) or take it away (-1)."""
        for trial in self._trials:
            trial.shift(pod, sign)

    def reasons(self) -> tuple[str, ...]:
        """Return what the first refusing filter says, with and without the pods to come."""
        for pod in self._to_come:
            self.shift(pod, 1)
        reasons_so_far = self._first()
        for pod in self._to_come:
            self.shift(pod, -1)
        return reasons_so_far or (self._first() if self._to_come else ())

    def _first(self) -> tuple[str, ...]:
        for trial in self._trials:
            trial_reasons = trial.reasons()
            if trial_reasons:
                return trial_reasons
        return ()


class Cycle:
    """The filters of one pod; `reserved` are the pods that it has to leave room for."""

    def __init__(self, plugins: Plugins, pod: PodRecord, reserved: Reserved = ()) -> None:
        self.pod = pod
        self._plugins = plugins
        self._nodes = plugins.nodes
        self._to_come: dict[int, list[PodRecord]] = {}
        for row, other in reserved:
            self._to_come.setdefault(row, []).append(other)
        self._ports, self._relations = _relation_filters(plugins, pod)

    def feasible(self) -> Flags:
        """Return the rows that the pod may go to now."""
        rules = self._plugins.rules.rules(self.pod.shape)
        if FIT in self._plugins.filters:
            mask = fitting(self._nodes, self.pod.shape.needs)
        else:
            mask = self._nodes.present[: self._nodes.count].copy()
        if not rules.all_allowed:
            mask &= rules.allowed
        for entry in (*self._ports, *self._relations):
            mask &= entry.passing()
        for row in self._to_come:
            if mask[row]:
                mask[row] = not self.trial(row).reasons()
        return mask

    def diagnose(self) -> Diagnosis:
        """Return why no node is feasible: for each node what its first refusing filter says."""
        rules = self._plugins.rules.rules(self.pod.shape)
        reasons = Counter(reason for reason in rules.reasons if reason)
        plugins = [NODE_RULES] if reasons else []
        left = rules.allowed.copy()
        helpable = np.zeros(self._nodes.count, np.bool_)
        for refusal in self._refusals():
            before = left.copy()
            for reason, rows in refusal.reasons:
                hit = rows & before
                number = int(np.count_nonzero(hit))
                if number:
                    reasons[reason] += number
                    left &= ~hit
            refused = before & ~left
            if refused.any():
                plugins.append(refusal.plugin)
                helpable |= refused & refusal.helpable
        for row in self._to_come:
            if left[row]:
                reasons.update(self.trial(row).reasons())
                plugins.append(FIT)
                helpable[row] = True
        return Diagnosis(self._nodes.existing, reasons, helpable, tuple(dict.fromkeys(plugins)))

    def refusals_by_row(self) -> dict[int, tuple[str, tuple[str, ...]]]:
        """Return for each node that is refused the first plugin that does so and all that it says, by row."""
        rules = self._plugins.rules.rules(self.pod.shape)
        found: dict[int, tuple[str, tuple[str, ...]]] = {
            row: (NODE_RULES, (text,)) for row, text in enumerate(rules.reasons) if text
        }
        left = rules.allowed.copy()
        for refusal in self._refusals():
            before = left.copy()
            for reason, rows in refusal.reasons:
                for row in np.flatnonzero(rows & before).tolist():
                    _, said = found.get(row, ("", ()))
                    found[row] = (refusal.plugin, (*said, reason))
                left &= ~rows
        for row in self._to_come:
            if left[row] and (texts := self.trial(row).reasons()):
                found[row] = (FIT, texts)
        return found

    def trial(self, row: int) -> NodeTrial:
        """Return one node to try changes on."""
        trials: list[Trial] = [entry.trial(row) for entry in self._ports]
        if FIT in self._plugins.filters:
            trials.append(FitTrial(self._nodes, self.pod.shape.needs, row))
        trials += [entry.trial(row) for entry in self._relations]
        return NodeTrial(trials, self._to_come.get(row, []))

    @property
    def only_amounts(self) -> bool:
        """True when, beside node rules, nothing but free amounts decides."""
        return not self._ports and not self._relations and not self._to_come

    def _refusals(self) -> Iterator[Refusal]:
        for entry in self._ports:
            yield _refusal(entry)
        if FIT in self._plugins.filters:
            report = FitReport(self._nodes, self.pod.shape.needs)
            yield Refusal(FIT, report.lacking, ~report.hopeless)
        for entry in self._relations:
            yield _refusal(entry)


def _relation_filters(
    plugins: Plugins, pod: PodRecord
) -> tuple[list[RelationFilter], list[RelationFilter]]:
    """Return the filters of `pod` that have something to do, those before NodeResourcesFit first."""
    needs = pod.shape.needs
    volumes = plugins.volumes.filter(pod)
    relations: list[RelationFilter] = [] if volumes is None else [volumes]
    if not needs.relational and not plugins.index.carriers:
        return [], relations
    ports: list[RelationFilter] = []
    if needs.host_ports and "NodePorts" in plugins.filters:
        ports.append(PortsFilter(plugins.index, pod, plugins.nodes.count))
    if needs.hard_spread and "PodTopologySpread" in plugins.filters:
        relations.append(SpreadFilter(plugins.spreading, pod))
    concerned = needs.affinity or needs.anti_affinity or plugins.index.carriers
    if concerned and "InterPodAffinity" in plugins.filters:
        affinity = AffinityFilter(plugins.relations, pod)
        if not affinity.idle():
            relations.append(affinity)
    return ports, relations


def _refusal(entry: RelationFilter) -> Refusal:
    row_reasons = entry.reasons()
    helpable = either(rows & helps for _, rows, helps in row_reasons)
    return Refusal(entry.plugin, [(reason, rows) for reason, rows, _ in row_reasons], helpable)
