"""What the scheduler reads of a pod's spec, parsed once per shape.

Amounts are a pod's effective requests: the larger of what its containers (with sidecars) request
together and what any init container requests, plus overhead
(kubernetes/kubernetes staging/src/k8s.io/component-helpers/resource/helpers.go, PodRequests).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson

from inputs.quantities import parse_millicores, parse_whole

Spec = dict[str, Any]
"""A part of a pod's JSON."""
GPU = "nvidia.com/gpu"
BASIC_RESOURCES = ("cpu", "memory", GPU, "pods")
"""The rows that a node table always has; others are added as they are met."""
NONZERO_CPU_MILLICORES = 100
"""What scoring assumes for a container without CPU request: util/pod_resources.go."""
NONZERO_MEMORY_BYTES = 200 * 2**20
"""The same for memory."""
ANY_ADDRESS = "0.0.0.0"  # noqa: S104 - what a host port without an address stands for
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


MOST_AMOUNT = 1 << 55
"""More than any machine has: what asks for more, waits; sums of it stay within 64 bits."""


@dataclass(frozen=True, slots=True)
class HostPort:
    """A port that a pod wants on its machine; an empty address means all of them."""

    protocol: str
    port: int
    address: str


@dataclass(frozen=True, slots=True, eq=False)
class SpreadConstraint:
    """One topologySpreadConstraint; hard ones filter, soft ones score."""

    topology_key: str
    max_skew: int
    selector: Spec | None
    min_domains: int = 1
    honors_affinity: bool = True
    honors_taints: bool = False
    label_keys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class PodTerm:
    """One term of pod affinity or anti-affinity; a preferred anti-affinity weighs below zero."""

    topology_key: str
    selector: Spec | None
    namespaces: tuple[str, ...]
    namespace_selector: Spec | None
    label_keys: tuple[str, ...] = ()
    mismatch_label_keys: tuple[str, ...] = ()
    weight: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class PodNeeds:
    """Everything of a spec that placement depends on, apart from selectors and tolerations."""

    amounts: npt.NDArray[np.int64]
    """Requests of BASIC_RESOURCES: millicores, bytes, devices, and one pod."""
    asked: tuple[tuple[int, int], ...]
    """(row, amount) of those of `amounts` that are above zero."""
    scored: tuple[int, int]
    """CPU and memory as LeastAllocated counts them: with defaults for containers without any."""
    amounts_column: npt.NDArray[np.int64]
    """CPU and memory of `amounts`, standing, so that they are added to arrays by row."""
    scored_column: npt.NDArray[np.int64]
    """`scored`, standing."""
    extra: tuple[tuple[str, int], ...] = ()
    """Requests of other resources, such as ephemeral-storage, by name."""
    images: tuple[str, ...] = ()
    host_ports: tuple[HostPort, ...] = ()
    preferred_nodes: tuple[tuple[int, Spec], ...] = ()
    preferred_nodes_key: bytes = b""
    spreads: bool = False
    """True when the pod has spreading constraints of its own."""
    hard_spread: tuple[SpreadConstraint, ...] = ()
    soft_spread: tuple[SpreadConstraint, ...] = ()
    affinity: tuple[PodTerm, ...] = ()
    anti_affinity: tuple[PodTerm, ...] = ()
    preferred_pods: tuple[PodTerm, ...] = ()
    terms_key: bytes = b""
    """Equal for pods with the same pod affinity and anti-affinity, empty without any."""
    gates: tuple[str, ...] = ()
    may_preempt: bool = True
    relational: bool = field(default=False)
    """True when whether a node will do depends on which pods are where, beyond free amounts."""


def largest_needs(choices: Sequence[PodNeeds]) -> PodNeeds:
    """Return the first of equally shaped needs that asks for at least as much CPU and memory as each
    other, or, where none does, the first with the largest of each.
    """
    most = choices[0].amounts
    for needs in choices[1:]:
        most = np.maximum(most, needs.amounts)
    for needs in choices:
        if np.array_equal(needs.amounts, most):
            return needs
    scored = max(needs.scored[0] for needs in choices), max(needs.scored[1] for needs in choices)
    return replace(
        choices[0],
        amounts=most,
        asked=tuple((row, int(amount)) for row, amount in enumerate(most) if amount),
        scored=scored,
        amounts_column=most[:2].reshape(2, 1),
        scored_column=np.array(scored, np.int64).reshape(2, 1),
    )


def read_needs(spec: Spec) -> PodNeeds:
    """Parse a defaulted pod spec."""
    amounts = [*(total_request(spec, name) for name in BASIC_RESOURCES[:3]), 1]
    affinity = spec.get("affinity") or {}
    attract, repel = affinity.get("podAffinity") or {}, affinity.get("podAntiAffinity") or {}
    nodes = (affinity.get("nodeAffinity") or {}).get(_PREFERRED) or ()
    spread = spec.get("topologySpreadConstraints") or ()
    hard = _spread(spread, "DoNotSchedule")
    terms = tuple(_term(entry) for entry in attract.get(_REQUIRED) or ())
    anti_terms = tuple(_term(entry) for entry in repel.get(_REQUIRED) or ())
    ports = _host_ports(spec)
    scored = (
        total_request(spec, "cpu", NONZERO_CPU_MILLICORES),
        total_request(spec, "memory", NONZERO_MEMORY_BYTES),
    )
    return PodNeeds(
        amounts=np.array(amounts, np.int64),
        amounts_column=np.array(amounts[:2], np.int64)[:, None],
        scored_column=np.array(scored, np.int64)[:, None],
        asked=tuple((row, amount) for row, amount in enumerate(amounts) if amount > 0),
        scored=scored,
        extra=tuple(_extra(spec)),
        images=tuple(normalize_image_name(entry["image"]) for entry in _containers(spec)),
        host_ports=ports,
        preferred_nodes=tuple((entry["weight"], entry.get("preference") or {}) for entry in nodes),
        preferred_nodes_key=_key(nodes),
        spreads=bool(spread),
        hard_spread=hard,
        soft_spread=_spread(spread, "ScheduleAnyway"),
        affinity=terms,
        anti_affinity=anti_terms,
        preferred_pods=(*_weighted_terms(attract, 1), *_weighted_terms(repel, -1)),
        terms_key=_key([attract, repel] if attract or repel else ()),
        gates=tuple(gate["name"] for gate in spec.get("schedulingGates") or ()),
        may_preempt=spec.get("preemptionPolicy") != "Never",
        relational=bool(hard or terms or anti_terms or ports),
    )


def total_request(spec: Spec, resource: str, missing: int = 0) -> int:
    """Return a pod's effective request of a resource: millicores for cpu, else whole units, at most MOST_AMOUNT.

    `missing` counts for each container without a request.
    """
    read = parse_millicores if resource == "cpu" else parse_whole

    def of(container: Spec) -> int:
        requests = (container.get("resources") or {}).get("requests") or {}
        return read(requests[resource]) if resource in requests else missing

    running = sidecars = starting = 0
    for container in spec["containers"]:
        running += of(container)
    for container in spec.get("initContainers") or ():
        if container.get("restartPolicy") == "Always":
            sidecars += of(container)
            starting = max(starting, sidecars)
        else:
            starting = max(starting, sidecars + of(container))
    overhead = (spec.get("overhead") or {}).get(resource)
    extra = 0 if overhead is None else read(overhead)
    return min(max(running + sidecars, starting) + extra, MOST_AMOUNT)


def normalize_image_name(name: str) -> str:
    """Return an image name with its tag: `latest` when none is given."""
    return name if name.rfind(":") > name.rfind("/") else f"{name}:latest"


def _containers(spec: Spec) -> list[Spec]:
    return [*(spec.get("initContainers") or ()), *spec["containers"]]


def _extra(spec: Spec) -> list[tuple[str, int]]:
    names = {
        name: None
        for container in _containers(spec)
        for name in (container.get("resources") or {}).get("requests") or {}
        if name not in BASIC_RESOURCES
    }
    amounts = [(name, total_request(spec, name)) for name in names]
    return [(name, amount) for name, amount in amounts if amount > 0]


def _host_ports(spec: Spec) -> tuple[HostPort, ...]:
    sidecars = [
        entry
        for entry in spec.get("initContainers") or ()
        if entry.get("restartPolicy") == "Always"
    ]
    return tuple(
        HostPort(port.get("protocol") or "TCP", port["hostPort"], port.get("hostIP") or ANY_ADDRESS)
        for container in (*sidecars, *spec["containers"])
        for port in container.get("ports") or ()
        if port.get("hostPort")
    )


def _spread(entries: Any, action: str) -> tuple[SpreadConstraint, ...]:
    return tuple(
        SpreadConstraint(
            topology_key=entry["topologyKey"],
            max_skew=entry["maxSkew"],
            selector=entry.get("labelSelector"),
            min_domains=entry.get("minDomains") or 1,
            honors_affinity=entry.get("nodeAffinityPolicy", "Honor") == "Honor",
            honors_taints=entry.get("nodeTaintsPolicy", "Ignore") == "Honor",
            label_keys=tuple(entry.get("matchLabelKeys") or ()),
        )
        for entry in entries
        if entry.get("whenUnsatisfiable", "DoNotSchedule") == action
    )


def _term(entry: Mapping[str, Any], weight: int = 0) -> PodTerm:
    return PodTerm(
        topology_key=entry["topologyKey"],
        selector=entry.get("labelSelector"),
        namespaces=tuple(entry.get("namespaces") or ()),
        namespace_selector=entry.get("namespaceSelector"),
        label_keys=tuple(entry.get("matchLabelKeys") or ()),
        mismatch_label_keys=tuple(entry.get("mismatchLabelKeys") or ()),
        weight=weight,
    )


def _weighted_terms(affinity: Mapping[str, Any], sign: int) -> list[PodTerm]:
    return [
        _term(entry["podAffinityTerm"], sign * entry["weight"])
        for entry in affinity.get(_PREFERRED) or ()
    ]


def _key(value: Any) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS) if value else b""
