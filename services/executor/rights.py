"""What the executor may do at the API server, by the kinds of action that it shall do.

Writes follow from what each kind needs (`services.executor.means`), so a new way to do an action brings its right.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from bus.errors import ConfigError
from schemas.actions import ActionKind
from services.executor.lease import GROUP as LEASE_GROUP
from services.executor.lease import NAME as LEASE
from services.executor.means import CLAIMS, NODES, Need, ways_of
from services.executor.reach import RESOURCES
from services.executor.settings import ExecutorSettings, HandBack
from services.rights import READ, REQUIRED, Place, Right

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
_LABELLED = Right("list", "namespaces", why="which namespaces are labelled to be written")
_QUOTAS = Right("list", "resourcequotas", why="what a quota leaves")
_METRICS = Right("get", "pods", "metrics.k8s.io", why="nothing is given less than it uses")
_AUTOSCALERS = Right("get", "horizontalpodautoscalers", "autoscaling", why="who scales a workload")
_READ = {
    ActionKind.REPLICATE: (_QUOTAS, _AUTOSCALERS),
    ActionKind.RESOURCE_CAP: (_QUOTAS, Right("get", "resourcequotas", why="whether ours stands")),
    ActionKind.THROTTLE: (_METRICS,),
    ActionKind.MEMORY_BALLOON: (_METRICS,),
}
_BESIDE = {
    ActionKind.MIGRATE: (NODES,),  # the taint
    ActionKind.REPLICATE: (Need("patch", "horizontalpodautoscalers", "autoscaling/v2"),),
    ActionKind.ADMISSION: (Need("patch", "deployments", "apps/v1"),),
}
"""What a kind writes besides the way that it cannot do without."""
ON_NODES = frozenset({ActionKind.DVFS, ActionKind.POWER_STATE})
"""Kinds that write nodes and nothing else."""


def read_rights(
    settings: ExecutorSettings, kinds: Collection[ActionKind] = ()
) -> tuple[Right, ...]:
    """Return what is read for plans of these kinds; without any, of all: shadow mode plans every kind."""
    claims = [
        Right(verb, CLAIMS.resource, "karpenter.sh", why="whose machine a node is")
        for verb in ("get", "list")
    ]
    by_kind = [right for kind in kinds or _READ for right in _READ.get(kind, ())]
    karpenter = settings.hand_back is HandBack.KARPENTER
    labelled = (_LABELLED,) if settings.namespace_label else ()
    return tuple(dict.fromkeys((*_ALWAYS, *labelled, *by_kind, *(claims if karpenter else ()))))


def write_rights(kinds: Collection[ActionKind], settings: ExecutorSettings) -> tuple[Right, ...]:
    """Return what these kinds write; of nodes only where `settings` names some."""
    found: dict[tuple[str, str, str], list[str]] = {}
    for kind in sorted(kinds):
        for need in _needs(kind, settings):
            key = need.verb, need.resource, need.group_version.rpartition("/")[0]
            if kind not in found.setdefault(key, []):
                found[key].append(kind)
    cluster = {NODES.resource, CLAIMS.resource}
    beside = (*_event_rights(settings), *_lease_rights(settings)) if found else ()
    return beside + tuple(
        Right(
            verb,
            resource,
            group,
            Place.NODES if resource in cluster else Place.NAMED,
            why=", ".join(kinds_of_it),
        )
        for (verb, resource, group), kinds_of_it in found.items()
        if settings.writable_nodes or resource not in cluster
    )


def _event_rights(settings: ExecutorSettings) -> tuple[Right, ...]:
    """Return what events on objects need: in the named namespaces, and about nodes in `default`."""
    if not settings.object_events:
        return ()
    places = (Place.NAMED, Place.NODES) if settings.writable_nodes else (Place.NAMED,)
    why = "events on what was changed"
    return tuple(Right("create", "events", EVENTS, place, why=why) for place in places)


def _lease_rights(settings: ExecutorSettings) -> tuple[Right, ...]:
    """Return what holding the Lease needs; it lies in one namespace, and RBAC cannot name what is created."""
    if settings.lease is False:
        return ()
    why = "one stack alone acts on a cluster"
    named = {"create": (), "get": (LEASE,), "update": (LEASE,)}
    return tuple(
        Right(verb, "leases", LEASE_GROUP, Place.LEASE, why, names, settings.lease_namespace)
        for verb, names in named.items()
    )


def _needs(kind: ActionKind, settings: ExecutorSettings) -> Iterator[Need]:
    for way in ways_of(kind, settings, simulated=False):
        yield from way
    yield from _BESIDE.get(kind, ())


def required_rights(asked: str, settings: ExecutorSettings) -> tuple[Right, ...]:
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
