"""Nodes in a snapshot: allocatable resources, usage, and actuator state from annotations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from schemas.node_annotations import POWER_STATE, NodeLimit
from schemas.node_limits import CONDITION, read_report
from schemas.zones import ZoneNodes
from services.kept_results import kept
from services.kube_objects import (
    CPU,
    MEMORY,
    ZONE_LABEL,
    Node,
    NodeMetrics,
    parse_duration,
    parse_time,
)
from services.node_agents import SIMULATED_LABEL
from services.pod_requests import count_gpus
from services.quantities import parse_cores, parse_whole

Row = dict[str, Any]
V = TypeVar("V")

_NO_USAGE: Row = dict.fromkeys(("cpu_usage_cores", "memory_usage_bytes", "usage_time_seconds"))


def is_simulated(nodes: Sequence[Node]) -> bool:
    """Say whether any node is marked as the embedded cluster's."""
    return any(node.metadata.labels.get(SIMULATED_LABEL) == "true" for node in nodes)


def zones_of(nodes: Sequence[Node]) -> tuple[ZoneNodes, ...]:
    """Return the nodes by zone; none where there are not two zones. A node without the label is in none."""
    zones: dict[str, list[bool]] = {}
    for node in nodes:
        if zone := node.metadata.labels.get(ZONE_LABEL):
            zones.setdefault(zone, []).append(node.ready)
    counted = [
        ZoneNodes(zone=zone, nodes=len(ready), nodes_ready=ready.count(True))
        for zone, ready in sorted(zones.items())
    ]
    return tuple(counted) if len(counted) > 1 else ()


def usage_by_node(items: Sequence[NodeMetrics]) -> dict[str, Row]:
    """Return the usage cells of `schemas.snapshot.NodeTable` by node.

    Raises:
        ValueError: a quantity or time stamp cannot be read.
    """
    return {
        item.metadata.name: {
            "cpu_usage_cores": _convert_optional(item.usage.get(CPU), parse_cores),
            "memory_usage_bytes": _convert_optional(item.usage.get(MEMORY), parse_whole),
            "usage_time_seconds": _convert_optional(item.timestamp, parse_time),
        }
        for item in items
    }


def longest_window(items: Sequence[NodeMetrics]) -> float | None:
    """Return the seconds that any of the usage covers; None where none of it says.

    Raises:
        ValueError: one is no duration.
    """
    windows = dict.fromkeys(item.window for item in items if item.window)
    return max(map(parse_duration, windows), default=None)


def node_rows(nodes: Sequence[Node], usage: Mapping[str, Row]) -> dict[str, Row]:
    """Return the rows of `schemas.snapshot.NodeTable`; usage is null where the source has none.

    Raises:
        ValueError: a quantity, time stamp or annotation cannot be read.
    """
    return {
        node.metadata.name: {**_node_row(node), **usage.get(node.metadata.name, _NO_USAGE)}
        for node in nodes
    }


@kept
def _node_row(node: Node) -> Row:
    ready = node.condition("Ready")
    since = None if ready is None else ready.last_transition_time
    allocatable = node.status.allocatable
    return {
        "ready": node.ready,
        "schedulable": not node.spec.unschedulable,
        "cpu_allocatable_cores": parse_cores(allocatable.get(CPU, "0")),
        "memory_allocatable_bytes": parse_whole(allocatable.get(MEMORY, "0")),
        "pods_allocatable": parse_whole(allocatable.get("pods", "0")),
        "gpus_allocatable": count_gpus(allocatable),
        "power_state": node.metadata.annotations.get(POWER_STATE, "on"),
        "clock_scale_ratio": _actuator_scale(node, NodeLimit.CLOCK_SCALE),
        "memory_scale_ratio": _actuator_scale(node, NodeLimit.MEMORY_SCALE),
        "cpu_cap_ratio": _actuator_scale(node, NodeLimit.CPU_CAP),
        "memory_cap_ratio": _actuator_scale(node, NodeLimit.MEMORY_CAP),
        "created_time_seconds": parse_time(node.metadata.creation_timestamp or ""),
        "ready_time_seconds": _convert_optional(since, parse_time),
    }


def _actuator_scale(node: Node, annotation: NodeLimit) -> float:
    """Return a limit: what its node agent says is in force, or what the annotation of a node without one asks for.

    The simulated cluster honours annotations by itself, whoever reports there.
    """
    agent = node.condition(CONDITION)
    if agent is not None and node.metadata.labels.get(SIMULATED_LABEL) != "true":
        report = read_report(agent.message)
        in_force = None if report is None else report.in_force(annotation)
        return 1.0 if in_force is None else float(in_force.value)
    text = node.metadata.annotations.get(annotation, "1")
    try:
        return float(text)
    except ValueError as error:
        name = node.metadata.name
        raise ValueError(
            f"node {name}: annotation {annotation.value} is no number: {text!r}"
        ) from error


def _convert_optional(text: str | None, convert: Callable[[str], V]) -> V | None:
    return None if text is None else convert(text)
