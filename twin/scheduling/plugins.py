"""The plugins of one scheduler: what they keep between pods, and the scores they give.

Plugins that have nothing to do for a pod are not run; a pod with nothing but requests costs a few
comparisons of arrays and the resource scores.
"""

from __future__ import annotations

import numpy as np

from twin.changes import Change
from twin.config.scheduling import SchedulerConfig
from twin.records import PodRecord
from twin.scheduling.amount_scores import AmountScores
from twin.scheduling.default_spreading import DefaultSpreading
from twin.scheduling.image_locality import ImageLocality
from twin.scheduling.inter_pod_affinity import PodRelations, affinity_scores
from twin.scheduling.node_resources_balanced_allocation import balanced_scores
from twin.scheduling.node_resources_fit import fit_scores
from twin.scheduling.node_rules import NodeRules
from twin.scheduling.node_table import Ints, NodeTable
from twin.scheduling.normalize import normalize_scores
from twin.scheduling.pod_index import PodIndex
from twin.scheduling.pod_topology_spread import Spreading, spread_scores
from twin.scheduling.topology import Topology
from twin.scheduling.volume_binding import VolumeBinding
from twin.world import World

_BY_AMOUNTS = ("NodeResourcesFit", "NodeResourcesBalancedAllocation")


class Plugins:
    """Everything that filters and scores look things up in, kept up to date change by change."""

    def __init__(self, world: World, nodes: NodeTable, config: SchedulerConfig) -> None:
        self.nodes = nodes
        self.config = config
        self.filters = frozenset(config.filters)
        self.amounts = AmountScores(nodes)
        self.index = PodIndex(world, nodes)
        self.topology = Topology(world, nodes)
        self.rules = NodeRules(world, nodes, config.filters)
        self.images = ImageLocality(world, nodes)
        self.defaults = DefaultSpreading(world, config.default_spreading)
        self.relations = PodRelations(world, self.topology, self.index)
        self.spreading = Spreading(nodes, self.topology, self.index, self.rules)
        self.volumes = VolumeBinding(world, nodes)
        self._others = tuple(entry for entry in config.scores if entry[0] not in _BY_AMOUNTS)
        self._plain_amounts = (
            config.strategy == "LeastAllocated"
            and config.scored_resources == (("cpu", 1), ("memory", 1))
            and config.balanced_resources == ("cpu", "memory")
            and all(config.weight(name) == 1 for name in _BY_AMOUNTS)
        )

    def follow(self, change: Change) -> None:
        """Take in one change, after the node table has seen it."""
        if change.resource == "pods":
            self.index.follow(change)
        elif change.resource == "nodes":
            self.images.follow(change)
        elif change.resource == "services":
            self.defaults.follow(change)

    def scores(self, pod: PodRecord, rows: Ints) -> Ints:
        """Return the weighted sum of all scores by candidate row.

        Scores that are the same for all candidates are left out: they decide nothing.
        """
        total = self._amounts(pod, rows)
        for name, weight in self._others:
            plugin_score = self.score(name, pod, rows)
            if plugin_score is not None:
                total += plugin_score if weight == 1 else plugin_score * weight
        return total

    def _amounts(self, pod: PodRecord, rows: Ints) -> Ints:
        """Return the weighted sum of the two scores by amounts, which every pod needs."""
        if self._plain_amounts and self.nodes.complete():
            return self.amounts.scores(rows, pod.shape.needs)
        total = np.zeros(len(rows), np.int64)
        for name in _BY_AMOUNTS:
            plugin_score = self.score(name, pod, rows) if self.config.weight(name) else None
            if plugin_score is not None:
                total += plugin_score * self.config.weight(name)
        return total

    def score(self, plugin: str, pod: PodRecord, rows: Ints) -> Ints | None:
        """Return one plugin's scores, 0 to 100; None when they are the same for all candidates."""
        needs = pod.shape.needs
        match plugin:
            case "NodeResourcesFit":
                return fit_scores(self.nodes, rows, needs, self.config)
            case "NodeResourcesBalancedAllocation":
                return balanced_scores(self.nodes, rows, needs, self.config.balanced_resources)
            case "ImageLocality":
                images = self.images.scores(needs.images)
                return None if images is None else images[rows]
            case "TaintToleration":
                taints = self.rules.soft_taints(pod.shape)
                return None if taints is None else normalize_scores(taints[rows], reverse=True)
            case "NodeAffinity":
                weights = self.rules.preference_weights(pod.shape)
                return None if weights is None else normalize_scores(weights[rows])
            case "PodTopologySpread":
                return self._spread(pod, rows)
            case _:
                return self._affinity(pod, rows)

    def _spread(self, pod: PodRecord, rows: Ints) -> Ints | None:
        needs = pod.shape.needs
        constraints = needs.soft_spread if needs.spreads else self.defaults.constraints(pod)
        if not constraints:
            return None
        return spread_scores(self.spreading, pod, constraints, rows, every_label=needs.spreads)

    def _affinity(self, pod: PodRecord, rows: Ints) -> Ints | None:
        if not pod.shape.needs.preferred_pods and not self.index.carriers:
            return None
        return affinity_scores(self.relations, pod, rows, self.config)
