"""Obstacles made as small as one node allows: so much less CPU, this toleration, that skew."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from lab.explanations.frozen_cluster import Object
from lab.explanations.obstacles import (
    MEMBER,
    REQUIRED,
    STATE_PREFIX,
    Obstacle,
    hard_taints,
    is_hard,
    tolerating,
    with_node_terms,
    with_terms,
    without_ports,
)
from lab.explanations.requests import AMOUNT, less, with_requests
from twin.intake import pod_shape
from twin.records import NodeRecord
from twin.scheduling.placement_rules import UNSCHEDULABLE_TAINT, is_tolerated, term_selects

Fits = Callable[[Object], bool]
"""Says whether the node takes the pod with a spec, once what is looked at later is away."""


@dataclass(frozen=True, slots=True)
class Place:
    """The node for which something is made as small as it allows."""

    node: NodeRecord
    free: tuple[int, int]
    """Millicores and bytes that no pod requests."""


@dataclass(frozen=True, slots=True)
class Made:
    """One obstacle taken away, as little as will do."""

    spec: Object
    text: str
    size: float
    """For the choice between nodes: what share of an amount, or how many rules."""
    half: Object | None = None
    """The spec with half of it; None where there is no half."""


Shrink = Callable[[Place, Object, Fits], Made | None]


def _shrink_amount(resource: str) -> Shrink:
    line = 0 if resource == "cpu" else 1

    def shrink(at: Place, spec: Object, fits: Fits) -> Made | None:
        asked = int(pod_shape(spec).needs.amounts[line])
        free = at.free[line]
        changed = less(spec, resource, free) if 0 < free < asked else None
        if changed is None or not fits(changed):
            return None
        _, write = AMOUNT[resource]
        before, after = write(asked), write(int(pod_shape(changed).needs.amounts[line]))
        text = f"request {after} of {resource} instead of {before}"
        half = less(spec, resource, (asked + free) // 2 + 1)
        return Made(changed, text, (asked - free) / asked, half)

    return shrink


def _others(dropped: tuple[str, ...]) -> Callable[[str, Any], bool]:
    return lambda name, _: name not in dropped


def _shrink_devices(_: Place, spec: Object, fits: Fits) -> Made | None:
    names = sorted(
        {
            name
            for group in ("containers", "initContainers")
            for container in spec.get(group) or ()
            for name in (container.get("resources") or {}).get("requests") or {}
            if name not in ("cpu", "memory")
        }
    )
    for number in range(1, len(names) + 1):
        for dropped in combinations(names, number):
            changed = with_requests(spec, _others(dropped))
            if changed is not None and fits(changed):
                return Made(changed, f"ask for no {' and no '.join(dropped)}", float(number))
    return None


def _shrink_taints(obstacle: Obstacle) -> Shrink:
    def shrink(at: Place, spec: Object, fits: Fits) -> Made | None:
        node = at.node
        known = list(spec.get("tolerations") or ())
        here = [
            taint
            for taint in hard_taints(node)
            if taint["key"].startswith(STATE_PREFIX) == (obstacle is Obstacle.NODE_STATE)
            and not is_tolerated(taint, known)
        ]
        changed = tolerating(spec, here)
        if changed is None or not fits(changed):
            return None
        listed = " and ".join(_taint_text(taint) for taint in here)
        if obstacle is Obstacle.TAINTS:
            return Made(changed, f"tolerate {listed}", float(len(here)))
        cordoned = all(taint["key"] == UNSCHEDULABLE_TAINT["key"] for taint in here)
        text = f"uncordon {node.name}" if cordoned else f"{node.name} without {listed}"
        return Made(changed, text, float(len(here)))

    return shrink


def _taint_text(taint: Mapping[str, Any]) -> str:
    value = f"={taint['value']}" if taint.get("value") else ""
    return f"{taint['key']}{value}:{taint['effect']}"


def _shrink_spread(_: Place, spec: Object, fits: Fits) -> Made | None:
    """Raise the skew of as few constraints as will do, by as little as will do."""
    constraints = list(spec.get("topologySpreadConstraints") or ())
    hard = [place for place, one in enumerate(constraints) if is_hard(one)]
    for number in range(1, len(hard) + 1):
        for places in combinations(hard, number):
            skew = _least_skew(spec, constraints, places, fits)
            if skew is None:
                continue
            changed = _with_skew(spec, constraints, places, skew)
            keys = " and ".join(constraints[place]["topologyKey"] for place in places)
            return Made(changed, f"allow a skew of {skew} over {keys}", float(skew))
    return None


def _with_skew(
    spec: Object, constraints: list[Object], places: tuple[int, ...], skew: int
) -> Object:
    changed = [
        {**one, "maxSkew": max(skew, int(one["maxSkew"]))} if place in places else one
        for place, one in enumerate(constraints)
    ]
    return {**spec, "topologySpreadConstraints": changed}


def _least_skew(
    spec: Object, constraints: list[Object], places: tuple[int, ...], fits: Fits
) -> int | None:
    low = min(int(constraints[place]["maxSkew"]) for place in places) + 1
    high = low
    while not fits(_with_skew(spec, constraints, places, high)):
        if high > 1_000:
            return None
        high *= 2
    while low < high:
        middle = (low + high) // 2
        if fits(_with_skew(spec, constraints, places, middle)):
            high = middle
        else:
            low = middle + 1
    return high


def _shrink_terms(obstacle: Obstacle) -> Shrink:
    member = MEMBER[obstacle]

    def shrink(_: Place, spec: Object, fits: Fits) -> Made | None:
        terms = list(((spec.get("affinity") or {}).get(member) or {}).get(REQUIRED) or ())
        for number in range(1, len(terms) + 1):
            for dropped in combinations(range(len(terms)), number):
                kept = [one for place, one in enumerate(terms) if place not in dropped]
                changed = with_terms(spec, member, kept)
                if changed is not None and fits(changed):
                    keys = " and ".join(terms[place]["topologyKey"] for place in dropped)
                    return Made(changed, f"no required {obstacle} over {keys}", float(number))
        return None

    return shrink


def _shrink_selector(at: Place, spec: Object, fits: Fits) -> Made | None:
    node = at.node
    selector = spec.get("nodeSelector") or {}
    unmet = sorted(key for key, value in selector.items() if node.labels.get(key) != value)
    changed = {**spec, "nodeSelector": {k: v for k, v in selector.items() if k not in unmet}}
    texts = [f"no node selector {key}={selector[key]}" for key in unmet]
    required = ((spec.get("affinity") or {}).get("nodeAffinity") or {}).get(REQUIRED) or {}
    terms = list(required.get("nodeSelectorTerms") or ())
    if terms and not any(term_selects(term, node) for term in terms):
        kept, dropped = min(
            (_split_term(term, node) for term in terms), key=lambda pair: len(pair[1])
        )
        rules = kept.get("matchExpressions") or kept.get("matchFields")
        changed = with_node_terms(changed, [kept] if rules else None)
        texts += [f"no node affinity {_rule_text(rule)}" for rule in dropped]
    if not texts or not fits(changed):
        return None
    return Made(changed, " and ".join(texts), float(len(texts)))


def _split_term(term: Object, node: NodeRecord) -> tuple[Object, list[Object]]:
    """Return a term without the rules that a node does not meet, and those."""
    kept: Object = {}
    dropped = []
    for member in ("matchExpressions", "matchFields"):
        for rule in term.get(member) or ():
            if term_selects({member: [rule]}, node):
                kept.setdefault(member, []).append(rule)
            else:
                dropped.append(rule)
    return kept, dropped


def _rule_text(rule: Mapping[str, Any]) -> str:
    values = f" ({', '.join(rule['values'])})" if rule.get("values") else ""
    return f"{rule['key']} {rule['operator']}{values}"


def _shrink_ports(_: Place, spec: Object, fits: Fits) -> Made | None:
    ports = sorted(
        {
            port["hostPort"]
            for group in ("containers", "initContainers")
            for container in spec.get(group) or ()
            for port in container.get("ports") or ()
            if port.get("hostPort")
        }
    )
    for number in range(1, len(ports) + 1):
        for dropped in combinations(ports, number):
            changed = without_ports(spec, frozenset(ports) - set(dropped))
            if changed is not None and fits(changed):
                return Made(changed, f"no host port {', '.join(map(str, dropped))}", float(number))
    return None


SHRINK: Mapping[Obstacle, Shrink] = {
    Obstacle.CPU: _shrink_amount("cpu"),
    Obstacle.MEMORY: _shrink_amount("memory"),
    Obstacle.DEVICES: _shrink_devices,
    Obstacle.NODE_STATE: _shrink_taints(Obstacle.NODE_STATE),
    Obstacle.TAINTS: _shrink_taints(Obstacle.TAINTS),
    Obstacle.SPREAD: _shrink_spread,
    Obstacle.ANTI_AFFINITY: _shrink_terms(Obstacle.ANTI_AFFINITY),
    Obstacle.AFFINITY: _shrink_terms(Obstacle.AFFINITY),
    Obstacle.SELECTOR: _shrink_selector,
    Obstacle.PORTS: _shrink_ports,
}
