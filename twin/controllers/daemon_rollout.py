"""Rolling updates of DaemonSets: which pods go and which nodes get a second one. Pure.

Without surge the old pod of a node goes first: at once where it is not available, elsewhere as many as may be
unavailable. With surge the new pod comes first, and the old one goes when that is available.
Source: kubernetes/kubernetes pkg/controller/daemon/update.go.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from twin.controllers.rollout import part_of
from twin.records import Object, PodRecord


@dataclass(frozen=True, slots=True)
class Limits:
    """How many nodes may be without an available pod, and how many may have two."""

    unavailable: int
    surge: int


@dataclass(frozen=True, slots=True)
class NodeState:
    """The pods of one node that have not ended, by whether they are of the newest template."""

    new: list[PodRecord]
    old: list[PodRecord]
    new_available: bool
    old_available: bool


@dataclass(slots=True)
class Step:
    """What to do next."""

    delete: list[PodRecord] = field(default_factory=list)
    create: list[str] = field(default_factory=list)
    """Names of nodes."""


def limits_of(spec: Object, nodes: int) -> Limits:
    """Return the limits for so many nodes; percentages round up, and one node at least may change."""
    rolling = (spec.get("updateStrategy") or {}).get("rollingUpdate") or {}
    extra = math.ceil(part_of(rolling.get("maxSurge", 0), nodes))
    without = math.ceil(part_of(rolling.get("maxUnavailable", 1), nodes))
    return Limits(without if without or extra else 1, extra)


def replace(states: Mapping[str, NodeState], limits: Limits) -> Step:
    """Return the step without surge."""
    step, unavailable = Step(), 0
    candidates: list[PodRecord] = []
    for state in states.values():
        live = [pod for pod in state.old if pod.deletion_at is None]
        if state.new or not live:
            unavailable += bool(state.old and state.new) or not state.new_available
        elif not state.old_available:
            step.delete += live
            unavailable += 1
        else:
            candidates += live
    step.delete += candidates[: max(0, limits.unavailable - unavailable)]
    return step


def surge(states: Mapping[str, NodeState], limits: Limits) -> Step:
    """Return the step with surge."""
    step, extra = Step(), 0
    candidates: list[str] = []
    for node, state in states.items():
        live = [pod for pod in state.old if pod.deletion_at is None]
        if not live:
            continue
        if not state.new:
            (candidates if state.old_available else step.create).append(node)
        elif state.new_available:
            step.delete += live
        else:
            extra += 1
    step.create += candidates[: max(0, limits.surge - extra)]
    return step
