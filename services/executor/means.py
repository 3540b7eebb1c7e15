"""What each kind of action needs of the API server; any one of its ways will do."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from schemas.actions import ActionKind
from schemas.means import MissingMeans
from schemas.node_annotations import NodeLimit
from services.executor.settings import ExecutorSettings, HandBack

Why = Literal["not_served", "forbidden", "no_node_named"]


@dataclass(frozen=True, slots=True)
class Need:
    """A verb on a resource."""

    verb: str
    resource: str
    """With its subresource, such as `pods/resize`."""
    group_version: str = "v1"
    namespaced: bool = True

    @property
    def list_path(self) -> str:
        """Where the API server lists what it serves of the group."""
        prefix = "/apis" if "/" in self.group_version else "/api"
        return f"{prefix}/{self.group_version}"

    @property
    def text(self) -> str:
        """Verb and resource."""
        return f"{self.verb} {self.resource}"


NODES = Need("patch", "nodes", namespaced=False)
RESIZE = Need("patch", "pods/resize")
CLAIMS = Need("delete", "nodeclaims", "karpenter.sh/v1", namespaced=False)
LIMITS = frozenset({ActionKind.THROTTLE, ActionKind.MEMORY_BALLOON, ActionKind.RESOURCE_CAP})
"""Kinds that a node agent can do."""
AGENT_LIMITS: Mapping[ActionKind, frozenset[NodeLimit]] = {
    ActionKind.DVFS: frozenset({NodeLimit.CLOCK_SCALE}),
    ActionKind.THROTTLE: frozenset({NodeLimit.CPU_CAP}),
    ActionKind.MEMORY_BALLOON: frozenset({NodeLimit.MEMORY_SCALE}),
    ActionKind.RESOURCE_CAP: frozenset({NodeLimit.CPU_CAP, NodeLimit.MEMORY_CAP}),
}
"""What a node agent has to be able to hold for a kind that is done through it."""
Way = tuple[Need, ...]
"""Needs that are all to be met."""
_WAYS: Mapping[ActionKind, tuple[Way, ...]] = {
    ActionKind.MIGRATE: ((Need("create", "pods/eviction"),),),
    ActionKind.REPLICATE: ((Need("patch", "deployments", "apps/v1"),),),
    ActionKind.THROTTLE: ((RESIZE,), (NODES,)),
    ActionKind.MEMORY_BALLOON: ((RESIZE,), (NODES,)),
    ActionKind.DVFS: ((NODES,),),
    ActionKind.RESOURCE_CAP: (
        (Need("create", "resourcequotas"), Need("delete", "resourcequotas")),
    ),
    ActionKind.POWER_STATE: ((NODES,),),
    ActionKind.ADMISSION: ((Need("patch", "jobs", "batch/v1"),),),
}


def ways_of(kind: ActionKind, settings: ExecutorSettings, *, simulated: bool) -> tuple[Way, ...]:
    """Return the ways of which one suffices; a noop needs none."""
    ways = _WAYS.get(kind, ())
    if settings.node_limits == "node_agent" and kind in LIMITS:
        ways = ((NODES,),)
    if simulated and kind is ActionKind.RESOURCE_CAP:
        ways = (*ways, (NODES,))  # its nodes honour annotations
    if kind is ActionKind.POWER_STATE and settings.hand_back is HandBack.KARPENTER:
        ways = ((NODES, CLAIMS),)
    return ways


def kinds_of_agents(settings: ExecutorSettings) -> tuple[ActionKind, ...]:
    """Return the kinds that a real cluster does through node agents alone, by name."""
    by_agent = LIMITS if settings.node_limits == "node_agent" else frozenset[ActionKind]()
    return tuple(sorted(by_agent | {ActionKind.DVFS}))


def without_agents(
    can: Iterable[Collection[NodeLimit]], settings: ExecutorSettings
) -> tuple[MissingMeans, ...]:
    """Return the kinds that no node agent has the means for, by what each says that it can."""
    able = [frozenset(one) for one in can]
    return tuple(
        MissingMeans(kind=kind, needs="a node agent", why="no_node_agent")
        for kind in kinds_of_agents(settings)
        if not any(AGENT_LIMITS[kind] <= one for one in able)
    )


def all_needs(settings: ExecutorSettings, *, simulated: bool) -> tuple[Need, ...]:
    """Return everything that some kind of action needs."""
    ways = (way for kind in ActionKind for way in ways_of(kind, settings, simulated=simulated))
    return tuple(dict.fromkeys(need for way in ways for need in way))


def missing_means(
    unmet: Mapping[Need, Why], settings: ExecutorSettings, *, simulated: bool
) -> tuple[MissingMeans, ...]:
    """Return the kinds of which no way is open, by name, each with what its first way lacks.

    Args:
        unmet: needs that are not met, and why; the others are met, or nobody knows.
        settings: the executor's.
        simulated: whether this is the embedded cluster.
    """
    missing = []
    for kind in sorted(ActionKind):
        ways = ways_of(kind, settings, simulated=simulated)
        lacking = [[need for need in way if need in unmet] for way in ways]
        if lacking and all(lacking):
            first = lacking[0][0]
            missing.append(MissingMeans(kind=kind, needs=first.text, why=unmet[first]))
    return tuple(missing)
