"""What may keep a pod from nodes, each taken away whole from a pod's spec; pure functions of Kubernetes JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from typing import Any

from lab.explanations.frozen_cluster import FrozenCluster, Object
from lab.explanations.requests import with_requests
from twin.records import NodeRecord
from twin.scheduling.placement_rules import UNSCHEDULABLE_TAINT, is_tolerated

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
STATE_PREFIX = "node.kubernetes.io/"
"""Taints that say how a node is: nobody should tolerate them to get a place."""
_HARD = ("NoSchedule", "NoExecute")


class Obstacle(StrEnum):
    """What may keep a pod from nodes; in the order in which one would rather change it."""

    CPU = "cpu"
    MEMORY = "memory"
    DEVICES = "other resources"
    NODE_STATE = "node state"
    TAINTS = "taints"
    SPREAD = "topology spread"
    ANTI_AFFINITY = "pod anti-affinity"
    AFFINITY = "pod affinity"
    SELECTOR = "node selector"
    PORTS = "host ports"


def without_all(cluster: FrozenCluster, spec: Object, together: Iterable[Obstacle]) -> Object:
    """Return the spec without any of these obstacles."""
    for obstacle in together:
        spec = without(cluster, spec, obstacle) or spec
    return spec


def without(cluster: FrozenCluster, spec: Object, obstacle: Obstacle) -> Object | None:
    """Return the spec without all of one obstacle; None where there is nothing of it."""
    match obstacle:
        case Obstacle.CPU | Obstacle.MEMORY:
            return with_requests(spec, lambda name, _: name != obstacle)
        case Obstacle.DEVICES:
            return with_requests(spec, lambda name, _: name in ("cpu", "memory"))
        case Obstacle.NODE_STATE | Obstacle.TAINTS:
            return tolerating(spec, taints_of(cluster, obstacle))
        case Obstacle.SPREAD:
            soft = [one for one in spec.get("topologySpreadConstraints") or () if not is_hard(one)]
            hard = len(soft) < len(spec.get("topologySpreadConstraints") or ())
            return {**spec, "topologySpreadConstraints": soft} if hard else None
        case Obstacle.ANTI_AFFINITY | Obstacle.AFFINITY:
            return with_terms(spec, MEMBER[obstacle], [])
        case Obstacle.SELECTOR:
            return without_selector(spec)
        case Obstacle.PORTS:
            return without_ports(spec)


MEMBER = {Obstacle.ANTI_AFFINITY: "podAntiAffinity", Obstacle.AFFINITY: "podAffinity"}


def is_hard(constraint: Mapping[str, Any]) -> bool:
    """Say whether a topologySpreadConstraint keeps pods from nodes."""
    return bool(constraint.get("whenUnsatisfiable", "DoNotSchedule") == "DoNotSchedule")


def taints_of(cluster: FrozenCluster, obstacle: Obstacle) -> list[Object]:
    """Return the hard taints of all nodes that say how a node is, or those that somebody set on purpose."""
    found: dict[tuple[str, str, str], Object] = {}
    for row in cluster.rows():
        for taint in hard_taints(cluster.node_at(row)):
            state = taint["key"].startswith(STATE_PREFIX)
            if state == (obstacle is Obstacle.NODE_STATE):
                found.setdefault(
                    (taint["key"], str(taint.get("value", "")), taint["effect"]), taint
                )
    return list(found.values())


def hard_taints(node: NodeRecord) -> Iterator[Object]:
    """Yield the taints of a node that keep pods away, that of its cordon among them."""
    yield from (dict(taint) for taint in node.taints if taint["effect"] in _HARD)
    keys = {taint["key"] for taint in node.taints}
    if node.unschedulable and UNSCHEDULABLE_TAINT["key"] not in keys:
        yield UNSCHEDULABLE_TAINT


def tolerating(spec: Object, taints: Iterable[Object]) -> Object | None:
    """Return the spec with a toleration for each of these taints that it does not tolerate; None where it does."""
    known = list(spec.get("tolerations") or ())
    missing = [taint for taint in taints if not is_tolerated(taint, known)]
    if not missing:
        return None
    return {**spec, "tolerations": [*known, *map(_toleration, missing)]}


def _toleration(taint: Mapping[str, Any]) -> Object:
    value = taint.get("value")
    rule = {"operator": "Equal", "value": value} if value else {"operator": "Exists"}
    return {"key": taint["key"], **rule, "effect": taint["effect"]}


def with_terms(spec: Object, member: str, terms: list[Object]) -> Object | None:
    """Return the spec with these required terms of `podAffinity` or `podAntiAffinity`; None where it has none."""
    affinity = spec.get("affinity") or {}
    rules = affinity.get(member) or {}
    if not rules.get(REQUIRED):
        return None
    return {**spec, "affinity": {**affinity, member: {**rules, REQUIRED: terms}}}


def without_selector(spec: Object) -> Object | None:
    """Return the spec without node selector and required node affinity; None where it has neither."""
    affinity = spec.get("affinity") or {}
    required = (affinity.get("nodeAffinity") or {}).get(REQUIRED)
    if not spec.get("nodeSelector") and not required:
        return None
    return with_node_terms({**spec, "nodeSelector": {}}, None)


def with_node_terms(spec: Object, terms: list[Object] | None) -> Object:
    """Return the spec with these required terms of node affinity, or with none."""
    affinity = dict(spec.get("affinity") or {})
    rules = dict(affinity.get("nodeAffinity") or {})
    rules.pop(REQUIRED, None)
    if terms is not None:
        rules[REQUIRED] = {"nodeSelectorTerms": terms}
    affinity["nodeAffinity"] = rules
    return {**spec, "affinity": affinity}


def without_ports(spec: Object, kept: frozenset[int] = frozenset()) -> Object | None:
    """Return the spec without host ports but those that are kept; None where that is the same."""
    changed, dropped = dict(spec), False
    for group in ("containers", "initContainers"):
        containers = []
        for container in spec.get(group) or ():
            before = container.get("ports") or []
            ports = [_without_host(port) if _is_dropped(port, kept) else port for port in before]
            dropped |= ports != before
            containers.append({**container, "ports": ports} if ports else container)
        if containers:
            changed[group] = containers
    return changed if dropped else None


def _is_dropped(port: Mapping[str, Any], kept: frozenset[int]) -> bool:
    return bool(port.get("hostPort")) and port["hostPort"] not in kept


def _without_host(port: Object) -> Object:
    return {name: one for name, one in port.items() if name != "hostPort"}
