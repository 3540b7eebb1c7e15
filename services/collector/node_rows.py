"""Nodes in a snapshot: allocatable resources, usage, and actuator state from annotations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from inputs.plain_numbers import parse_number
from inputs.quantities import parse_cores, parse_whole
from services.kept_results import kept
from services.kube_objects import CPU, MEMORY, Node, NodeMetrics, parse_duration, parse_time
from services.pod_requests import count_gpus

SIMULATED_LABEL = "foresail.dev/simulated"
POWER_STATE = "foresail.dev/power-state"
CLOCK_SCALE = "foresail.dev/clock-scale"
MEMORY_SCALE = "foresail.dev/memory-scale"
CPU_CAP = "foresail.dev/cpu-cap"
MEMORY_CAP = "foresail.dev/memory-cap"

Row = dict[str, Any]
V = TypeVar("V")

_NO_USAGE: Row = dict.fromkeys(("cpu_usage_cores", "memory_usage_bytes", "usage_time_seconds"))


def is_simulated(nodes: Sequence[Node]) -> bool:
    """Say whether any node is marked as the embedded cluster's."""
    return any(node.metadata.labels.get(SIMULATED_LABEL) == "true" for node in nodes)


def usage_by_node(items: Sequence[NodeMetrics]) -> dict[str, Row]:
    """Return the usage cells of `schemas.snapshot.NodeTable` by node.

    Raises:
        ValueError: a quantity or time stamp cannot be read.
    """
    return {
        item.metadata.name: {
            "cpu_usage_cores": _convert_optional(item.usage.get(CPU), _amount_of(parse_cores)),
            "memory_usage_bytes": _convert_optional(
                item.usage.get(MEMORY), _amount_of(parse_whole)
            ),
            "usage_time_seconds": _convert_optional(item.timestamp, parse_time),
        }
        for item in items
    }


def usage_and_window(items: Sequence[NodeMetrics]) -> tuple[dict[str, Row], float | None]:
    """Return `usage_by_node` and `longest_window`; raises what they raise."""
    return usage_by_node(items), longest_window(items)


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
        "cpu_allocatable_cores": _amount_of(parse_cores)(allocatable.get(CPU, "0")),
        "memory_allocatable_bytes": _amount_of(parse_whole)(allocatable.get(MEMORY, "0")),
        "pods_allocatable": _amount_of(parse_whole)(allocatable.get("pods", "0")),
        "gpus_allocatable": count_gpus(allocatable),
        "power_state": node.metadata.annotations.get(POWER_STATE, "on"),
        "clock_scale_ratio": _actuator_scale(node, CLOCK_SCALE),
        "memory_scale_ratio": _actuator_scale(node, MEMORY_SCALE),
        "cpu_cap_ratio": _actuator_scale(node, CPU_CAP),
        "memory_cap_ratio": _actuator_scale(node, MEMORY_CAP),
        "created_time_seconds": parse_time(node.metadata.creation_timestamp or ""),
        "ready_time_seconds": _convert_optional(since, parse_time),
    }


def _actuator_scale(node: Node, annotation: str) -> float:
    text = node.metadata.annotations.get(annotation, "1")
    try:
        return parse_number(text)
    except ValueError as error:
        name = node.metadata.name
        raise ValueError(f"node {name}: annotation {annotation} is no number: {text!r}") from error


def _amount_of(parse: Callable[[str], V]) -> Callable[[str], V]:
    """Return a reader of amounts that refuses less than nothing."""

    def read(text: str) -> V:
        if text.startswith("-"):
            raise ValueError(f"an amount cannot be less than nothing: {text!r}")
        return parse(text)

    return read


def _convert_optional(text: str | None, convert: Callable[[str], V]) -> V | None:
    return None if text is None else convert(text)
