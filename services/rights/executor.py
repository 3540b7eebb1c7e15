"""What each kind of action needs of the API server, and what the executor may do there for the kinds that it shall do.

Rights to write follow from what each kind needs, so a new way to do an action brings its right.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

from bus.errors import ConfigError
from schemas.actions import ActionKind
from schemas.capabilities import MissingCapability
from services.rights import READ, REQUIRED, Right, RightScope

AUTOSCALERS = "horizontalpodautoscalers"
NODE_CLAIMS = "nodeclaims"
WRITTEN = {
    "nodes": "/api/v1",
    "pods": "/api/v1",
    "deployments": "/apis/apps/v1",
    "jobs": "/apis/batch/v1",
    AUTOSCALERS: "/apis/autoscaling/v2",
    NODE_CLAIMS: "/apis/karpenter.sh/v1",
    "resourcequotas": "/api/v1",
}
"""The only kinds that are ever written, and where the API keeps them."""


RESOURCES = {
    ("apps/v1", "ReplicaSet"): "replicasets",
    ("apps/v1", "Deployment"): "deployments",
    ("apps/v1", "StatefulSet"): "statefulsets",
    ("apps/v1", "DaemonSet"): "daemonsets",
    ("batch/v1", "Job"): "jobs",
    ("batch/v1", "CronJob"): "cronjobs",
}
"""What the API calls the kinds that own pods; others are asked for."""
CLUSTER_WIDE = frozenset({"nodes", NODE_CLAIMS})
"""Those that lie in no namespace."""
Why = Literal["not_served", "forbidden", "no_node_named", "no_defaults"]


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


class WriteSettings(Protocol):
    """Inputs that decide about rights: the executor's settings, or what an installation grants."""

    @property
    def writable_nodes(self) -> str:
        """Label `key=value` of the nodes that may be written; empty: none."""
        ...

    @property
    def hand_back(self) -> str:
        """Who takes the machine of a node that sleeps."""
        ...

    @property
    def object_events(self) -> bool:
        """Whether events on what was changed are written."""
        ...

    @property
    def node_limits(self) -> str:
        """How nodes are limited: `kubernetes` or `node_agent`."""
        ...


KARPENTER = "karpenter"
NODES = Need("patch", "nodes", namespaced=False)
RESIZE = Need("patch", "pods/resize")
CLAIMS = Need("delete", "nodeclaims", "karpenter.sh/v1", namespaced=False)
LIMITS = frozenset({ActionKind.THROTTLE, ActionKind.MEMORY_BALLOON, ActionKind.RESOURCE_CAP})
"""Kinds that a node agent can do."""
Way = tuple[Need, ...]
"""Needs that are all to be met."""
_WAYS: Mapping[ActionKind, tuple[Way, ...]] = {
    ActionKind.MIGRATE: ((Need("create", "pods/eviction"),),),
    ActionKind.REPLICATE: ((Need("patch", "deployments", "apps/v1"),),),
    ActionKind.THROTTLE: ((RESIZE,), (NODES,)),
    ActionKind.MEMORY_BALLOON: ((RESIZE,), (NODES,)),
    ActionKind.RESIZE: ((RESIZE,),),
    ActionKind.DVFS: ((NODES,),),
    ActionKind.RESOURCE_CAP: (
        (Need("create", "resourcequotas"), Need("delete", "resourcequotas")),
    ),
    ActionKind.POWER_STATE: ((NODES,),),
    ActionKind.ADMISSION: ((Need("patch", "jobs", "batch/v1"),),),
}


def ways_of(kind: ActionKind, settings: WriteSettings, *, simulated: bool) -> tuple[Way, ...]:
    """Return the ways of which one suffices; a noop needs none."""
    ways = _WAYS.get(kind, ())
    if settings.node_limits == "node_agent" and kind in LIMITS:
        ways = ((NODES,),)
    if simulated and kind is ActionKind.RESOURCE_CAP:
        ways = (*ways, (NODES,))  # its nodes honour annotations
    if kind is ActionKind.POWER_STATE and settings.hand_back == KARPENTER:
        ways = ((NODES, CLAIMS),)
    return ways


def all_needs(settings: WriteSettings, *, simulated: bool) -> tuple[Need, ...]:
    """Return everything that some kind of action needs."""
    ways = (way for kind in ActionKind for way in ways_of(kind, settings, simulated=simulated))
    return tuple(dict.fromkeys(need for way in ways for need in way))


def missing_means(
    unmet: Mapping[Need, Why], settings: WriteSettings, *, simulated: bool
) -> tuple[MissingCapability, ...]:
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
            missing.append(MissingCapability(kind=kind, needs=first.text, why=unmet[first]))
    return tuple(missing)


EVENTS = "events.k8s.io"
"""The API group of events."""
_PLANS = "plans count all of them"
_FOLLOWED = (
    ("apps", "deployments"),
    ("batch", "jobs"),
    ("autoscaling", "horizontalpodautoscalers"),
    ("policy", "poddisruptionbudgets"),
)
_GUARDS = "guards look for do-not-disrupt"
_ALWAYS: tuple[Right, ...] = (
    *(
        Right(verb, resource, group, why=_PLANS)
        for group, resource in _FOLLOWED
        for verb in ("list", "watch")
    ),
    *(Right(verb, "pods", why=_GUARDS) for verb in ("get", "list")),
    *(Right(verb, "nodes", why=_GUARDS) for verb in ("get", "list")),
    Right("get", "namespaces", why=_GUARDS),
    *(
        Right("get", resource, version.partition("/")[0], why=_GUARDS)
        for (version, _), resource in RESOURCES.items()
        if resource != "daemonsets"  # their pods are never moved, resized or ended
    ),
    Right("list", "limitranges", why="whether resource_cap has defaults to rest on"),
)
"""Read for every plan, in shadow mode, too."""
_QUOTAS = Right("list", "resourcequotas", why="what a quota leaves")
_METRICS = Right("get", "pods", "metrics.k8s.io", why="nothing is given less than it uses")
_AUTOSCALERS = Right("get", "horizontalpodautoscalers", "autoscaling", why="who scales a workload")
_READ = {
    ActionKind.REPLICATE: (_QUOTAS, _AUTOSCALERS),
    ActionKind.RESOURCE_CAP: (_QUOTAS, Right("get", "resourcequotas", why="whether ours stands")),
    ActionKind.THROTTLE: (_METRICS,),
    ActionKind.MEMORY_BALLOON: (_METRICS,),
    ActionKind.RESIZE: (_METRICS, _AUTOSCALERS),
}
_BESIDE = {
    ActionKind.MIGRATE: (NODES,),  # the taint
    ActionKind.REPLICATE: (
        Need("patch", "deployments/scale", "apps/v1"),
        Need("patch", "horizontalpodautoscalers", "autoscaling/v2"),
    ),
    ActionKind.ADMISSION: (Need("patch", "deployments", "apps/v1"),),
}
"""What a kind writes besides the way that it cannot do without."""
ON_NODES = frozenset({ActionKind.DVFS, ActionKind.POWER_STATE})
"""Kinds that write nodes and nothing else."""


def read_rights(settings: WriteSettings, kinds: Collection[ActionKind] = ()) -> tuple[Right, ...]:
    """Return what is read for plans of these kinds; without any, of all: shadow mode plans every kind."""
    claims = [
        Right(verb, CLAIMS.resource, "karpenter.sh", why="whose machine a node is")
        for verb in ("get", "list")
    ]
    by_kind = [right for kind in kinds or _READ for right in _READ.get(kind, ())]
    karpenter = settings.hand_back == KARPENTER
    return tuple(dict.fromkeys((*_ALWAYS, *by_kind, *(claims if karpenter else ()))))


def write_rights(kinds: Collection[ActionKind], settings: WriteSettings) -> tuple[Right, ...]:
    """Return what these kinds write; of nodes only where `settings` names some."""
    found: dict[tuple[str, str, str], list[str]] = {}
    for kind in sorted(kinds):
        for need in _needs(kind, settings):
            key = need.verb, need.resource, need.group_version.rpartition("/")[0]
            if kind not in found.setdefault(key, []):
                found[key].append(kind)
    cluster = {NODES.resource, CLAIMS.resource}
    events = _event_rights(settings) if found else ()
    return events + tuple(
        Right(
            verb,
            resource,
            group,
            RightScope.NODES if resource in cluster else RightScope.NAMED,
            why=", ".join(kinds_of_it),
        )
        for (verb, resource, group), kinds_of_it in found.items()
        if settings.writable_nodes or resource not in cluster
    )


def _event_rights(settings: WriteSettings) -> tuple[Right, ...]:
    """Return what events on objects need: in the named namespaces, and about nodes in `default`."""
    if not settings.object_events:
        return ()
    places = (
        (RightScope.NAMED, RightScope.NODES) if settings.writable_nodes else (RightScope.NAMED,)
    )
    why = "events on what was changed"
    return tuple(Right("create", "events", EVENTS, place, why=why) for place in places)


def _needs(kind: ActionKind, settings: WriteSettings) -> Iterator[Need]:
    for way in ways_of(kind, settings, simulated=False):
        yield from way
    yield from _BESIDE.get(kind, ())


def required_rights(asked: str, settings: WriteSettings) -> tuple[Right, ...]:
    """Return what `FORESAIL_REQUIRE_RIGHTS` asks for: `read`, or `read` and kinds of action, with commas.

    Raises:
        ConfigError: a word is neither.
    """
    words = [word for word in asked.split(",") if word != READ]
    known = [kind.value for kind in ActionKind if kind is not ActionKind.NOOP]
    if any(word not in known for word in words):
        raise ConfigError(REQUIRED, asked, f"give {READ}, or {READ} and some of {', '.join(known)}")
    kinds = [ActionKind(word) for word in words]
    return (*read_rights(settings, kinds), *write_rights(kinds, settings))
