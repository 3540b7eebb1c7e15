"""Upcasters: pure functions that turn an event's data of an old version into the next one, chained
until current.

An incompatible change makes a new type (`foresail.proposal.v2`) and one function here, registered
under the old type. It gets and returns the data as decoded JSON and must not look at anything else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Upcaster = Callable[[dict[str, Any]], dict[str, Any]]


def _risk_columns(data: dict[str, Any]) -> dict[str, Any]:
    """Version 0 said risk as one object per node; version 1 says large state as columns."""
    return {**data, "nodes": _columns(data["nodes"], "risk_ratio")}


def _demand_columns(data: dict[str, Any]) -> dict[str, Any]:
    """The same for demand."""
    return {**data, "nodes": _columns(data["nodes"], "demand_ratio")}


def _columns(rows: Any, name: str) -> dict[str, Any]:
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise ValueError("nodes are no list of objects")
    ordered = sorted(rows, key=lambda row: str(row["node"]))
    return {"ids": [row["node"] for row in ordered], name: [row[name] for row in ordered]}


WEIGHT_NAMES: Mapping[str, str] = {"safety": "alpha", "efficiency": "beta", "admission": "gamma"}
"""What version 1 of a reward called the weights of its three agents."""


def reward_by_agent(data: dict[str, Any]) -> dict[str, Any]:
    """Version 1 had a field for each of three agents; version 2 has a mapping by agent."""
    rewards = {name: _by_agent(data[name]) for name in ("observed", "predicted")}
    weights = {agent: data[name] for agent, name in WEIGHT_NAMES.items()}
    renewed: dict[str, Any] = {}
    for name, value in data.items():
        if name not in WEIGHT_NAMES.values():
            renewed[name] = rewards.get(name, value)
        elif name == "alpha":
            renewed["weights"] = weights
    return renewed


def _by_agent(rewards: Any) -> Any:
    if not isinstance(rewards, dict):
        return rewards
    by_agent = {name: rewards[name] for name in WEIGHT_NAMES}
    return {"by_agent": by_agent, "total": rewards["total"]}


PART_FIELDS = ("action", "selected", "score")
"""What version 1 of a decision, which had one action, said beside everything else."""


def decision_of_parts(data: dict[str, Any]) -> dict[str, Any]:
    """Version 1 had one action; version 2 has ordered parts, of which it is the only one."""
    renewed: dict[str, Any] = {}
    for name, value in data.items():
        if name == "action":
            renewed["parts"] = [{field: data[field] for field in PART_FIELDS}]
        elif name not in PART_FIELDS:
            renewed[name] = value
    return renewed


UPCASTERS: Mapping[str, tuple[str, Upcaster]] = {
    "foresail.prediction.risk.v0": ("foresail.prediction.risk.v1", _risk_columns),
    "foresail.prediction.demand.v0": ("foresail.prediction.demand.v1", _demand_columns),
    "foresail.decision.v1": ("foresail.decision.v2", decision_of_parts),
    "foresail.outcome.reward.v1": ("foresail.outcome.reward.v2", reward_by_agent),
}
"""Old type to (new type, function)."""


def upcast(
    event_type: str,
    data: dict[str, Any],
    upcasters: Mapping[str, tuple[str, Upcaster]] = UPCASTERS,
) -> tuple[str, dict[str, Any]]:
    """Return type and data after every upcaster that applies.

    Raises:
        ValueError: the chain of upcasters runs in a circle.
    """
    types_seen = {event_type}
    while event_type in upcasters:
        event_type, step = upcasters[event_type]
        if event_type in types_seen:
            raise ValueError(f"upcasters of {event_type} run in a circle")
        types_seen.add(event_type)
        data = step(data)
    return event_type, data


def newest_type(event_type: str) -> str:
    """Return the type that an old type's data become."""
    while event_type in UPCASTERS:
        event_type = UPCASTERS[event_type][0]
    return event_type
