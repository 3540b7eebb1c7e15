"""Whether the pods of one node have a place on the others, tried on a copy of the cluster without that node."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from lab.explanations.frozen_cluster import FrozenCluster, Object, record_of
from lab.explanations.scheduling import cycle_of, early_problem, explain_scheduling
from twin.records import PodRecord

Objects = Mapping[str, Sequence[Object]]
"""Kubernetes JSON by resource."""


@dataclass(frozen=True, slots=True)
class Homeless:
    """A pod that no other node takes."""

    pod: str
    """`namespace/name`."""
    sentence: str
    """What the scheduler would say of it."""


def homeless_pods(
    objects: Objects, node: str, moving: Iterable[PodRecord], now_seconds: float
) -> tuple[Homeless, ...]:
    """Return which of a node's pods have no place elsewhere, the largest placed first.

    Args:
        objects: everything that the scheduler reads.
        node: the node that goes.
        moving: those of its pods that would be made again.
        now_seconds: the cluster's clock, unix seconds.
    """
    rest = FrozenCluster(_without(objects, node), now_seconds)
    bodies = {
        (pod["metadata"]["namespace"], pod["metadata"]["name"]): pod for pod in objects["pods"]
    }
    found = []
    for pod in sorted(moving, key=_size, reverse=True):
        body = bodies[pod.namespace, pod.name]
        loose = record_of("pods", _placed(body, ""))
        loose.uid = f"{loose.uid} elsewhere"
        assert isinstance(loose, PodRecord)
        target = _first_place(rest, loose)
        if not target:
            sentence = explain_scheduling(rest, loose).sentence
            found.append(Homeless(f"{pod.namespace}/{pod.name}", sentence))
            continue
        rest.world.store.insert("pods", record_of("pods", _placed(body, target)))
    return tuple(found)


def _without(objects: Objects, node: str) -> dict[str, list[Object]]:
    kept = {resource: list(found) for resource, found in objects.items()}
    kept["nodes"] = [one for one in kept["nodes"] if one["metadata"]["name"] != node]
    kept["pods"] = [one for one in kept["pods"] if one["spec"].get("nodeName") != node]
    return kept


def _placed(body: Object, node: str) -> Object:
    """Return a pod as it would be made again: on that node, or on none; nothing else of its status counts."""
    spec = {name: value for name, value in body["spec"].items() if name != "nodeName"}
    if node:
        spec["nodeName"] = node
    phase = "Running" if node else "Pending"
    return {**body, "spec": spec, "status": {"phase": phase}}


def _first_place(cluster: FrozenCluster, pod: PodRecord) -> str:
    """Return the first node by name that takes a pod; empty for none."""
    if not cluster.nodes.existing or early_problem(cluster, pod):
        return ""
    rows = np.flatnonzero(cycle_of(cluster, pod).feasible()).tolist()
    return min((cluster.nodes.names[row] for row in rows), default="")


def _size(pod: PodRecord) -> tuple[int, int, str]:
    return pod.shape.cpu_request_millicores, pod.shape.memory_request_bytes, pod.name
