"""Filters and scores once more, slow and obvious, from objects as the API serves them.

One function a plugin, one node at a time, written from upstream's sources without any of the
twin's own code but quantities.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from twin.quantity import millicores, whole

Object = dict[str, Any]
HOST = "kubernetes.io/hostname"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
HARD = ("NoSchedule", "NoExecute")


@dataclass
class Facts:
    """Everything that is known: nodes by name, bound pods that have not ended, owners' selectors."""

    nodes: dict[str, Object]
    pods: list[Object]
    namespaces: dict[str, dict[str, str]] = field(default_factory=dict)

    def on(self, node: str) -> list[Object]:
        """Return the pods of a node."""
        return [pod for pod in self.pods if pod["spec"]["nodeName"] == node]


def selects(selector: Object | None, labels: dict[str, str]) -> bool:
    """A label selector; none selects nothing."""
    if selector is None:
        return False
    for key, value in (selector.get("matchLabels") or {}).items():
        if labels.get(key) != value:
            return False
    for rule in selector.get("matchExpressions") or []:
        value, values = labels.get(rule["key"]), rule.get("values") or []
        good = {
            "In": value in values,
            "NotIn": value not in values,
            "Exists": value is not None,
            "DoesNotExist": value is None,
        }[rule["operator"]]
        if not good:
            return False
    return True


def tolerates(pod: Object, taint: Object) -> bool:
    """True when any toleration of the pod covers the taint."""
    for entry in pod["spec"].get("tolerations") or []:
        if entry.get("effect") and entry["effect"] != taint["effect"]:
            continue
        if entry.get("key") and entry["key"] != taint["key"]:
            continue
        if entry.get("operator") == "Exists" or (
            entry.get("key") and entry.get("value", "") == taint.get("value", "")
        ):
            return True
    return False


def term_holds(term: Object, node: Object) -> bool:
    """A node selector term over labels."""
    rules = term.get("matchExpressions") or []
    return bool(rules) and selects({"matchExpressions": rules}, node["metadata"]["labels"])


def affine(pod: Object, node: Object) -> bool:
    """Node selector and required node affinity."""
    labels = node["metadata"]["labels"]
    expected = pod["spec"].get("nodeSelector") or {}
    if any(labels.get(key) != value for key, value in expected.items()):
        return False
    affinity = (pod["spec"].get("affinity") or {}).get("nodeAffinity") or {}
    if REQUIRED not in affinity:
        return True
    return any(term_holds(term, node) for term in affinity[REQUIRED]["nodeSelectorTerms"])


def request(pod: Object, name: str, missing: int = 0) -> int:
    """Sum of the containers' requests."""
    read = millicores if name == "cpu" else whole
    total = 0
    for container in pod["spec"]["containers"]:
        requests = container["resources"].get("requests") or {}
        total += read(requests[name]) if name in requests else missing
    return total


def offer(node: Object, name: str) -> int:
    """Allocatable amount."""
    amounts = node["status"]["allocatable"]
    read = millicores if name == "cpu" else whole
    return read(amounts[name]) if name in amounts else 0


def terms_of(pod: Object, kind: str, which: str) -> list[Object]:
    """Terms of pod affinity or anti-affinity."""
    affinity = (pod["spec"].get("affinity") or {}).get(kind) or {}
    return affinity.get(which) or []


def term_selects(facts: Facts, term: Object, owner: Object, target: Object) -> bool:
    """True when a pod affinity term of `owner` is about `target`."""
    names = term.get("namespaces") or []
    chosen = term.get("namespaceSelector")
    space = target["metadata"]["namespace"]
    if not names and chosen is None:
        inside = space == owner["metadata"]["namespace"]
    else:
        inside = space in names or selects(chosen, facts.namespaces[space])
    return inside and selects(term.get("labelSelector"), target["metadata"]["labels"])


def near(facts: Facts, node: Object, key: str, other: Object) -> bool:
    """True when the node of `other` is in the same domain as `node`."""
    value = node["metadata"]["labels"].get(key)
    there = facts.nodes[other["spec"]["nodeName"]]["metadata"]["labels"].get(key)
    return value is not None and value == there


def count_pods(facts: Facts, pod: Object, constraint: Object, node: str) -> int:
    """Pods of a node that a spreading constraint counts."""
    return sum(
        other["metadata"]["namespace"] == pod["metadata"]["namespace"]
        and "deletionTimestamp" not in other["metadata"]
        and selects(constraint["labelSelector"], other["metadata"]["labels"])
        for other in facts.on(node)
    )


def is_included(pod: Object, constraint: Object, node: Object) -> bool:
    """Node inclusion policies."""
    if constraint.get("nodeAffinityPolicy", "Honor") == "Honor" and not affine(pod, node):
        return False
    if constraint.get("nodeTaintsPolicy", "Ignore") == "Honor":
        taints = node["spec"].get("taints") or []
        return all(tolerates(pod, taint) for taint in taints if taint["effect"] in HARD)
    return True


def spread_reason(facts: Facts, pod: Object, node: Object) -> str:
    """PodTopologySpread's filter."""
    text = "node(s) didn't match pod topology spread constraints"
    hard = [
        entry
        for entry in pod["spec"].get("topologySpreadConstraints") or []
        if entry["whenUnsatisfiable"] == "DoNotSchedule"
    ]
    keys = [entry["topologyKey"] for entry in hard]
    for entry in hard:
        key = entry["topologyKey"]
        if key not in node["metadata"]["labels"]:
            return f"{text} (missing required label)"
        sums: Counter[str] = Counter()
        for name, other in facts.nodes.items():
            labels = other["metadata"]["labels"]
            if all(key in labels for key in keys) and is_included(pod, entry, other):
                sums[labels[key]] += count_pods(facts, pod, entry, name)
        least = min(sums.values(), default=2**31 - 1)
        if len(sums) < (entry.get("minDomains") or 1):
            least = 0
        own = int(selects(entry["labelSelector"], pod["metadata"]["labels"]))
        if sums[node["metadata"]["labels"][key]] + own - least > entry["maxSkew"]:
            return text
    return ""


def affinity_reason(facts: Facts, pod: Object, node: Object) -> str:
    """InterPodAffinity's filter."""
    terms = terms_of(pod, "podAffinity", REQUIRED)
    labels = node["metadata"]["labels"]
    friends = [
        other
        for other in facts.pods
        if terms and all(term_selects(facts, term, pod, other) for term in terms)
    ]
    if any(term["topologyKey"] not in labels for term in terms):
        return "node(s) didn't match pod affinity rules"
    met = all(
        any(near(facts, node, term["topologyKey"], other) for other in friends) for term in terms
    )
    placed = [
        other
        for other in friends
        if any(
            term["topologyKey"] in facts.nodes[other["spec"]["nodeName"]]["metadata"]["labels"]
            for term in terms
        )
    ]
    first = not placed and all(term_selects(facts, term, pod, pod) for term in terms)
    if not met and not first:
        return "node(s) didn't match pod affinity rules"
    for term in terms_of(pod, "podAntiAffinity", REQUIRED):
        for other in facts.pods:
            if term_selects(facts, term, pod, other) and near(
                facts, node, term["topologyKey"], other
            ):
                return "node(s) didn't match pod anti-affinity rules"
    for other in facts.pods:
        for term in terms_of(other, "podAntiAffinity", REQUIRED):
            if term_selects(facts, term, other, pod) and near(
                facts, node, term["topologyKey"], other
            ):
                return "node(s) didn't satisfy existing pods anti-affinity rules"
    return ""


def ports_of(pod: Object) -> list[tuple[str, int, str]]:
    """Host ports of a pod."""
    return [
        (port.get("protocol", "TCP"), port["hostPort"], port.get("hostIP") or "0.0.0.0")
        for container in pod["spec"]["containers"]
        for port in container.get("ports") or []
        if port.get("hostPort")
    ]


def shortages(facts: Facts, pod: Object, node: Object) -> list[str]:
    """NodeResourcesFit's filter."""
    there = facts.on(node["metadata"]["name"])
    found = []
    names = {
        name
        for container in pod["spec"]["containers"]
        for name in container["resources"].get("requests") or {}
    }
    for name in sorted(names):
        held = sum(request(other, name) for other in there)
        if request(pod, name) and request(pod, name) > offer(node, name) - held:
            found.append(f"Insufficient {name}")
    if len(there) + 1 > offer(node, "pods"):
        found.append("Too many pods")
    return found


def reasons(facts: Facts, pod: Object, node: Object) -> list[str]:
    """What the first refusing filter says of a node; nothing when it will do."""
    cordon = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
    if node["spec"].get("unschedulable") and not tolerates(pod, cordon):
        return ["node(s) were unschedulable"]
    for taint in node["spec"].get("taints") or []:
        if taint["effect"] in HARD and not tolerates(pod, taint):
            return ["node(s) had untolerated taint(s)"]
    if not affine(pod, node):
        return ["node(s) didn't match Pod's node affinity/selector"]
    for other in facts.on(node["metadata"]["name"]):
        for mine in ports_of(pod):
            for held in ports_of(other):
                if mine[:2] == held[:2] and (mine[2] == held[2] or "0.0.0.0" in (mine[2], held[2])):
                    return ["node(s) didn't have free ports for the requested pod ports"]
    short = shortages(facts, pod, node)
    if short:
        return short
    for reason in (spread_reason(facts, pod, node), affinity_reason(facts, pod, node)):
        if reason:
            return [reason]
    return []
