"""Which changes can help which waiting pods, as kube-scheduler's queueing hints say.

Upstream: isSchedulableAfter... of each plugin. A hint that is too generous costs a vain attempt,
one that is too strict up to five minutes.
"""

from __future__ import annotations

from twin.records import PodRecord, PodShape
from twin.scheduling.cycle import FIT, NODE_RULES
from twin.scheduling.inter_pod_affinity import term_view
from twin.scheduling.node_ports import conflict
from twin.scheduling.node_resources_fit import requested_amounts
from twin.scheduling.node_table import NodeTable
from twin.scheduling.plugins import Plugins
from twin.scheduling.volume_binding import PLUGIN as VOLUME_BINDING
from twin.selectors import matches

RELATIONS = frozenset({"NodePorts", "PodTopologySpread", "InterPodAffinity", VOLUME_BINDING})
"""Plugins whose answer is about one pod: about others around it, or about its claims."""


class Hints:
    """Judges changes for pods that were refused by certain plugins."""

    def __init__(self, plugins: Plugins, nodes: NodeTable) -> None:
        self._plugins = plugins
        self._nodes = nodes

    def node_helps(self, row: int, shape: PodShape, plugins: frozenset[str]) -> bool:
        """True when the node change just taken in may let a pod of this shape go somewhere."""
        altered = self._nodes.altered
        if "removed" in altered:  # one domain less can raise the smallest count
            return "PodTopologySpread" in plugins
        if not self._plugins.rules.rules(shape).allowed[row] or not self._large_enough(row, shape):
            return False
        if "added" in altered:
            return True
        if "more" in altered and FIT in plugins:
            return True
        if (
            "rules" in altered
        ):  # also for pods that were refused before the node came, with its taints
            return True
        return "labels" in altered and bool(plugins & {NODE_RULES, *RELATIONS})

    def room(self, row: int, shape: PodShape) -> int:
        """Return how many pods of this shape fit into what is free on a node that takes them."""
        if not self._plugins.rules.rules(shape).allowed[row]:
            return 0
        requested = requested_amounts(self._nodes, shape.needs)
        return max(0, min(int(self._nodes.free[line, row]) // amount for line, amount in requested))

    def removal_helps(
        self, waiting: PodRecord, removed: PodRecord, plugins: frozenset[str]
    ) -> bool:
        """True when a pod that left a node may have been in the way of a waiting one."""
        needs, relations = waiting.shape.needs, self._plugins.relations
        if "NodePorts" in plugins:
            freed_ports = removed.shape.needs.host_ports
            if any(conflict(mine, other) for mine in needs.host_ports for other in freed_ports):
                return True
        if "PodTopologySpread" in plugins and self._spreads_with(waiting, removed):
            return True
        if "InterPodAffinity" not in plugins:
            return False
        mine, other = term_view(waiting), term_view(removed)
        return any(relations.matches(term, mine, other) for term in needs.anti_affinity) or any(
            relations.matches(term, other, mine) for term in removed.shape.needs.anti_affinity
        )

    def arrival_helps(self, waiting: PodRecord, new: PodRecord, plugins: frozenset[str]) -> bool:
        """True when a pod that came to a node may be one that a waiting one looks for."""
        if "PodTopologySpread" in plugins and self._spreads_with(waiting, new):
            return True
        if "InterPodAffinity" not in plugins:
            return False
        relations, mine, other = self._plugins.relations, term_view(waiting), term_view(new)
        return any(relations.matches(term, mine, other) for term in waiting.shape.needs.affinity)

    def _spreads_with(self, waiting: PodRecord, other: PodRecord) -> bool:
        return waiting.namespace == other.namespace and any(
            matches(self._plugins.spreading.selector(entry, waiting), other.labels)
            for entry in waiting.shape.needs.hard_spread
        )

    def _large_enough(self, row: int, shape: PodShape) -> bool:
        return all(
            amount <= self._nodes.offered[line, row]
            for line, amount in requested_amounts(self._nodes, shape.needs)
        )
