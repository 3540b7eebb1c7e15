"""A row of a predecessor's trace as an observation: what it says is kept, what it lacks is said to be missing.

Each node is taken as ready and on unless the row says otherwise, its size as unknown: shares are what rules read. A
dead task counts as an unhealthy pod of its node, unless the row gives risks itself.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from lab.recordings.predecessors.forms import NodeRow, TraceRow
from schemas.agents import names_in_referee_order
from schemas.frames import FullState, apply_frame, frame_of
from schemas.observation import (
    ClusterTotals,
    GivenForecasts,
    Observation,
    ObservedNodes,
    ObservedPods,
)
from schemas.reasons import Reason
from schemas.signals import Signal, SignalStatus
from schemas.tables import Table, table_of
from services.collector.settings import PowerModel

KEYFRAME_CYCLES = 20
SOURCE = "trace"
UNSCHEDULED = "unscheduled"


@dataclass(frozen=True, slots=True)
class PowerFigures:
    """Watts of a node whose row gives none for the cluster."""

    model: PowerModel = field(default_factory=PowerModel)

    def watts(self, node: NodeRow) -> float:
        """Return idle watts and what load adds."""
        if (node.power_state or "on") != "on":
            return 0.0 if node.power_state == "off" else self.model.sleep_watts
        cpu, memory = min(node.cpu_util, 1.0), min(node.mem_util, 1.0)
        model = self.model
        return (
            model.idle_watts
            + model.cpu_full_scale_watts * cpu
            + model.mem_full_scale_watts * memory
        )


class Observing:
    """Turns rows into observations, keyframes and deltas as the collector does."""

    def __init__(self, interval_seconds: float, power: PowerFigures) -> None:
        """Observe rows that are so far apart."""
        self._interval_seconds = interval_seconds
        self._power = power
        self._previous: FullState | None = None

    def observation(self, cycle: int, row: TraceRow) -> Observation:
        """Return the next row's observation."""
        nodes, pods = _nodes(row, self._power), _pods(row)
        tables: Mapping[str, Table] = {"nodes": nodes, "pods": pods}
        made = frame_of(
            Observation,
            tables,
            cycle=cycle,
            previous=self._previous,
            keyframe_every=KEYFRAME_CYCLES,
            cluster_time_seconds=row.timestamp,
            interval_seconds=self._interval_seconds,
            expected_agents=names_in_referee_order(),
            namespaces=(),
            totals=_totals(row, nodes),
            signals=tuple(_signals(row)),
            given=_given(row),
        )
        self._previous = apply_frame(self._previous, made)
        return made


def _nodes(row: TraceRow, power: PowerFigures) -> ObservedNodes:
    pods = Counter(task.node_id for task in row.tasks)
    dead = Counter(task.node_id for task in row.tasks if task.alive is False)
    given = row.p_fail_scores or {}
    cells: dict[str, dict[str, Any]] = {
        node.node_id: {
            "ready": True,
            "schedulable": True,
            "power_state": node.power_state or "on",
            "cpu_allocatable_cores": 0.0,
            "memory_allocatable_bytes": 0,
            "cpu_requested_ratio": min(node.cpu_util, 1.0),
            "memory_requested_ratio": min(node.mem_util, 1.0),
            "cpu_used_ratio": None,
            "memory_used_ratio": None,
            "pods": pods[node.node_id],
            "unhealthy_pods": 0 if node.node_id in given else dead[node.node_id],
            "restarted_pods": 0,
            "power_watts": power.watts(node),
            "clock_scale_ratio": 1.0,
            "memory_scale_ratio": 1.0,
            "cpu_cap_ratio": 1.0,
            "memory_cap_ratio": 1.0,
        }
        for node in row.nodes
    }
    return table_of(ObservedNodes, cells)


def _pods(row: TraceRow) -> ObservedPods:
    return table_of(
        ObservedPods,
        {
            task.task_id: {
                "node": "" if task.node_id == UNSCHEDULED else task.node_id,
                "workload": "",
                "phase": "Failed" if task.alive is False else "Running",
                "pending_class": None,
                "urgency_ratio": task.urgency or 0.0,
                "restarts": task.queue_priority or 0,
                "alive": task.alive is not False,
                "waiting_seconds": None,
            }
            for task in row.tasks
        },
    )


def _given(row: TraceRow) -> GivenForecasts | None:
    risks, demands = row.p_fail_scores or {}, row.demand_projection or {}
    names = {node.node_id for node in row.nodes} & (risks.keys() | demands.keys())
    if not names:
        return None
    return table_of(
        GivenForecasts,
        {
            name: {"risk_ratio": risks.get(name), "demand_ratio": demands.get(name)}
            for name in names
        },
    )


def _totals(row: TraceRow, nodes: ObservedNodes) -> ClusterTotals:
    count = max(1, len(nodes))
    watts = math.fsum(nodes.power_watts) if row.energy_watts is None else row.energy_watts
    return ClusterTotals(
        nodes=len(nodes),
        nodes_ready=len(nodes),
        nodes_schedulable=len(nodes),
        pods_running=sum(task.alive is not False for task in row.tasks),
        pods_total=len(row.tasks),
        queue_length=row.queue_length or 0,
        sla_violations=row.sla_violations or 0,
        completed_tasks=row.completed_tasks or 0,
        pending_by_class={},
        cpu_requested_ratio=math.fsum(each or 0.0 for each in nodes.cpu_requested_ratio) / count,
        memory_requested_ratio=math.fsum(each or 0.0 for each in nodes.memory_requested_ratio)
        / count,
        energy_watts=watts,
        energy_price=0.1 if row.energy_price is None else row.energy_price,
    )


def _signals(row: TraceRow) -> list[Signal]:
    said = {
        "node_requests": True,
        "pods": True,
        "workloads": False,
        "node_usage": False,
        "power": row.energy_watts is not None,
        "energy_price": row.energy_price is not None,
    }
    return [
        Signal(
            name=name,
            source=SOURCE,
            status=SignalStatus.FRESH if heard else SignalStatus.MISSING,
            observed_time_seconds=row.timestamp if heard else None,
            age_seconds=0.0 if heard else None,
            reason=None if heard else Reason.NOT_INSTALLED,
        )
        for name, heard in said.items()
    ]
