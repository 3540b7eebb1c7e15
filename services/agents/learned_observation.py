"""What the three agents see of a cycle as numbers; the same for each of them.

`baseline`: the predecessors' six: queue over tasks + 1, price of energy over 0.2, highest risk, highest demand, mean
requested cpu, mean requested memory. `full` adds the numbers of `FULL`, in that order.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import log1p
from statistics import fmean
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from schemas.view import ObservationView

Variant = Literal["baseline", "full"]
Ratios = Mapping[str, float]
DEAR_PRICE = 0.2
NODE_WATTS = 240.0
"""Of a node that is full by the baseline's power model."""
LONG_QUEUE, LONG_SECONDS = 1_000.0, 3_600.0
AGENTS = ("safety", "efficiency", "admission")
"""The predecessors' A, B and C."""
BASELINE = ("queue", "price", "max_risk", "max_demand", "mean_cpu", "mean_memory")
FULL = (
    "unhealthy",
    "nodes_ready",
    "nodes_schedulable",
    "nodes_on",
    "mean_risk",
    "mean_demand",
    "min_demand",
    "max_cpu",
    "max_memory",
    "mean_cpu_used",
    "mean_memory_used",
    "power",
    "log_queue",
    "log_longest_wait",
)


def names_of(variant: Variant) -> tuple[str, ...]:
    """Return what each number is."""
    return BASELINE if variant == "baseline" else (*BASELINE, *FULL)


def observation_name(arguments: Mapping[str, Any]) -> str:
    """Return name and version of what a policy sees that was trained with these arguments."""
    shared = "-shared" if arguments.get("shared") else ""
    return f"agents-{arguments.get('variant', 'baseline')}{shared}.v1"


def agent_observation(
    agent: str, view: ObservationView, risks: Ratios, demands: Ratios, arguments: Mapping[str, Any]
) -> NDArray[np.float32]:
    """Return what an agent's policy sees of a cycle; one that all agents share sees whose turn it is, too."""
    seen = observation_of(view, risks, demands, arguments.get("variant", "baseline"))
    return agent_observation_of(agent, seen, arguments)


def agent_observation_of(
    agent: str, seen: NDArray[np.float32], arguments: Mapping[str, Any]
) -> NDArray[np.float32]:
    """Return what an agent's policy sees of the numbers that all three see."""
    return np.concatenate([seen, whose_turn(agent)]) if arguments.get("shared") else seen


def whose_turn(agent: str) -> NDArray[np.float32]:
    """Return three numbers, 1 for the agent's place among the predecessors' A, B and C."""
    return np.array([name == agent for name in AGENTS], dtype=np.float32)


def observation_of(
    view: ObservationView, risks: Ratios, demands: Ratios, variant: Variant
) -> NDArray[np.float32]:
    """Return the numbers of a cycle, float32, none below 0; what nobody knows is 0.

    Args:
        view: the observation.
        risks: predicted failure risk by node.
        demands: predicted demand by node.
        variant: which numbers.
    """
    numbers = _baseline(view, risks, demands)
    if variant == "full":
        numbers |= _full(view, risks, demands)
    return np.array([numbers[name] for name in names_of(variant)], dtype=np.float32)


def _baseline(view: ObservationView, risks: Ratios, demands: Ratios) -> dict[str, float]:
    totals = view.totals
    return {
        "queue": totals.queue_length / (totals.pods_total + 1),
        "price": totals.energy_price / DEAR_PRICE,
        "max_risk": max(risks.values(), default=0.0),
        "max_demand": max(demands.values(), default=0.0),
        "mean_cpu": totals.cpu_requested_ratio,
        "mean_memory": totals.memory_requested_ratio,
    }


def _full(view: ObservationView, risks: Ratios, demands: Ratios) -> dict[str, float]:
    totals, nodes = view.totals, view.nodes
    count = max(1, totals.nodes)
    waits = [seconds for seconds in view.pods.waiting_seconds if seconds is not None]
    return {
        "unhealthy": totals.sla_violations / (totals.pods_total + 1),
        "nodes_ready": totals.nodes_ready / count,
        "nodes_schedulable": totals.nodes_schedulable / count,
        "nodes_on": sum(state == "on" for state in nodes.power_state) / count,
        "mean_risk": _mean(risks.values()),
        "mean_demand": _mean(demands.values()),
        "min_demand": min(demands.values(), default=0.0),
        "max_cpu": max(_known(nodes.cpu_requested_ratio), default=0.0),
        "max_memory": max(_known(nodes.memory_requested_ratio), default=0.0),
        "mean_cpu_used": _mean(_known(nodes.cpu_used_ratio)),
        "mean_memory_used": _mean(_known(nodes.memory_used_ratio)),
        "power": totals.energy_watts / (count * NODE_WATTS),
        "log_queue": log1p(totals.queue_length) / log1p(LONG_QUEUE),
        "log_longest_wait": log1p(max(waits, default=0.0)) / log1p(LONG_SECONDS),
    }


def _known(values: tuple[float | None, ...]) -> list[float]:
    return [value for value in values if value is not None]


def _mean(values: Iterable[float]) -> float:
    known = list(values)
    return fmean(known) if known else 0.0
