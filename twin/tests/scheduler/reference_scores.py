"""The reference's scores: see `reference.py`."""

from __future__ import annotations

import math

from twin.tests.scheduler.reference import (
    HOST,
    PREFERRED,
    REQUIRED,
    Facts,
    Object,
    count_pods,
    is_included,
    near,
    offer,
    request,
    term_holds,
    term_selects,
    terms_of,
    tolerates,
)


def fit_score(facts: Facts, pod: Object, node: Object) -> int:
    """LeastAllocated."""
    total = 0
    for name, missing in (("cpu", 100), ("memory", 200 * 2**20)):
        held = sum(request(other, name, missing) for other in facts.on(node["metadata"]["name"]))
        expected, offered = held + request(pod, name, missing), offer(node, name)
        total += 0 if expected > offered else (offered - expected) * 100 // offered
    return total // 2


def balanced_score(facts: Facts, pod: Object, node: Object) -> int:
    """NodeResourcesBalancedAllocation."""
    if not request(pod, "cpu") and not request(pod, "memory"):
        return 0
    parts = []
    for name in ("cpu", "memory"):
        held = sum(request(other, name) for other in facts.on(node["metadata"]["name"]))
        parts.append(min(1.0, (held + request(pod, name)) / offer(node, name)))
    return int((1.0 - abs((parts[0] - parts[1]) / 2)) * 100.0)


def image_score(facts: Facts, pod: Object, node: Object) -> int:
    """ImageLocality."""
    total = 0
    for container in pod["spec"]["containers"]:
        shown = {
            name: image["sizeBytes"]
            for image in node["status"]["images"]
            for name in image["names"]
        }
        if container["image"] in shown:
            having = sum(
                any(container["image"] in image["names"] for image in other["status"]["images"])
                for other in facts.nodes.values()
            )
            total += int(shown[container["image"]] * (having / len(facts.nodes)))
    mib = 2**20
    most = 1000 * mib * len(pod["spec"]["containers"])
    return 100 * (min(max(total, 23 * mib), most) - 23 * mib) // (most - 23 * mib)


def normalize(raw: list[int], *, reverse: bool = False) -> list[int]:
    """helper/normalize_score.go."""
    most = max(raw)
    if most == 0:
        return [100 if reverse else 0 for _ in raw]
    scores = [100 * value // most for value in raw]
    return [100 - score for score in scores] if reverse else scores


def taint_scores(pod: Object, nodes: list[Object]) -> list[int]:
    """TaintToleration."""
    raw = [
        sum(
            taint["effect"] == "PreferNoSchedule" and not tolerates(pod, taint)
            for taint in node["spec"].get("taints") or []
        )
        for node in nodes
    ]
    return normalize(raw, reverse=True)


def preferred_node_scores(pod: Object, nodes: list[Object]) -> list[int]:
    """NodeAffinity."""
    affinity = (pod["spec"].get("affinity") or {}).get("nodeAffinity") or {}
    wishes = affinity.get(PREFERRED) or []
    return normalize(
        [
            sum(wish["weight"] for wish in wishes if term_holds(wish["preference"], node))
            for node in nodes
        ]
    )


def spread_scores(facts: Facts, pod: Object, nodes: list[Object]) -> list[int]:
    """PodTopologySpread's own soft constraints."""
    soft = [
        entry
        for entry in pod["spec"].get("topologySpreadConstraints") or []
        if entry["whenUnsatisfiable"] == "ScheduleAnyway"
    ]
    if not soft:
        return [0] * len(nodes)
    keys = [entry["topologyKey"] for entry in soft]
    complete = [all(key in node["metadata"]["labels"] for key in keys) for node in nodes]
    raw: list[int] = []
    for node in nodes:
        total = 0.0
        labels = node["metadata"]["labels"]
        for entry in soft:
            key = entry["topologyKey"]
            if key not in labels:
                continue
            if key == HOST:
                size = sum(complete)
                count = count_pods(facts, pod, entry, node["metadata"]["name"])
            else:
                domains = {
                    other["metadata"]["labels"][key]
                    for other, whole_set in zip(nodes, complete, strict=True)
                    if whole_set
                }
                size = len(domains)
                count = sum(
                    count_pods(facts, pod, entry, name)
                    for name, other in facts.nodes.items()
                    if other["metadata"]["labels"].get(key) == labels[key]
                    and all(key in other["metadata"]["labels"] for key in keys)
                    and is_included(pod, entry, other)
                )
            total += count * math.log(size + 2) + (entry["maxSkew"] - 1)
        raw.append(math.floor(total + 0.5))
    counting = [value for value, whole_set in zip(raw, complete, strict=True) if whole_set]
    if not counting:
        return [0] * len(nodes)
    most, least = max(counting), min(counting)
    return [
        0 if not whole_set else 100 if most == 0 else 100 * (most + least - value) // most
        for value, whole_set in zip(raw, complete, strict=True)
    ]


def pod_scores(facts: Facts, pod: Object, nodes: list[Object]) -> list[int]:
    """InterPodAffinity."""
    raw = []
    for node in nodes:
        total = 0
        for other in facts.pods:
            mine = [(wish, 1) for wish in terms_of(pod, "podAffinity", PREFERRED)]
            mine += [(wish, -1) for wish in terms_of(pod, "podAntiAffinity", PREFERRED)]
            for wish, sign in mine:
                term = wish["podAffinityTerm"]
                if term_selects(facts, term, pod, other) and near(
                    facts, node, term["topologyKey"], other
                ):
                    total += sign * wish["weight"]
            theirs = [(term, 1) for term in terms_of(other, "podAffinity", REQUIRED)]
            for kind, sign in (("podAffinity", 1), ("podAntiAffinity", -1)):
                theirs += [
                    (wish["podAffinityTerm"], sign * wish["weight"])
                    for wish in terms_of(other, kind, PREFERRED)
                ]
            for term, weight in theirs:
                if term_selects(facts, term, other, pod) and near(
                    facts, node, term["topologyKey"], other
                ):
                    total += weight
        raw.append(total)
    least, most = min(raw), max(raw)
    if least == most:
        return [0] * len(nodes)
    return [int(100.0 * ((value - least) / float(most - least))) for value in raw]


def totals(facts: Facts, pod: Object, nodes: list[Object]) -> list[int]:
    """The weighted sum of all scores."""
    weighted = [
        (taint_scores(pod, nodes), 3),
        (preferred_node_scores(pod, nodes), 2),
        ([fit_score(facts, pod, node) for node in nodes], 1),
        (spread_scores(facts, pod, nodes), 2),
        (pod_scores(facts, pod, nodes), 2),
        ([balanced_score(facts, pod, node) for node in nodes], 1),
        ([image_score(facts, pod, node) for node in nodes], 1),
    ]
    return [
        sum(scores[index] * weight for scores, weight in weighted) for index in range(len(nodes))
    ]
