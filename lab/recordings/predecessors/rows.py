"""A log's cycles as rows of the predecessor's trace: its own form, from our observations and from imported rows.

What the form has no word for is not in it. disk_util and net_util are 0 where nobody measures them, as the
predecessor wrote them; pods are those that an observation lists.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from bus.errors import InputError
from projections.frame_states import FrameStates
from schemas.envelope import Event
from schemas.imported import ImportedLine, ImportedRow
from schemas.observation import Observation, ObservedNodes, ObservedPods
from schemas.prediction import PredictionDemand, PredictionRisk
from schemas.signals import Signal, SignalStatus

UNSCHEDULED = "unscheduled"
SOURCES = {"prometheus": "prometheus_node_exporter"}
"""Sources that the predecessor called otherwise."""
MODELS = ("power_model", "settings")
Row = dict[str, Any]


@dataclass(slots=True)
class TraceRows:
    """Collects a cycle until the next one begins: its risk and demand come after its observation."""

    frames: FrameStates = field(default_factory=FrameStates)
    row: Row | None = None
    cycle: int = -1

    def add(self, event: Event[Any]) -> Row | None:
        """Take an event; return the row before, once the next one begins."""
        data = event.data
        match data:
            case Observation():
                state = self.frames.add(event)
                if state is None:
                    return None
                return self._begin(data.cycle, _observed_row(data, state.tables))
            case ImportedRow(form="trace"):
                return self._begin(data.cycle, _imported_row(data))
            case ImportedLine(form="trace") if data.cycle == self.cycle:
                exact = _object(data)
                if exact is not None:  # predictions are in it
                    self.row, self.cycle = exact, -1
            case PredictionRisk(status="result") if data.cycle == self.cycle and self.row:
                if data.nodes is not None:
                    pairs = zip(data.nodes.ids, data.nodes.risk_ratio, strict=True)
                    self.row["p_fail_scores"] = dict(pairs)
            case PredictionDemand(status="result") if data.cycle == self.cycle and self.row:
                if data.nodes is not None:
                    pairs = zip(data.nodes.ids, data.nodes.demand_ratio, strict=True)
                    self.row["demand_projection"] = dict(pairs)
            case _:
                pass
        return None

    def end(self) -> Row | None:
        """Return the last row; None where there was none."""
        row, self.row = self.row, None
        return row

    def _begin(self, cycle: int, row: Row) -> Row | None:
        before, self.row, self.cycle = self.row, row, cycle
        return before


def file_lines(events: Iterable[Event[Any]]) -> Iterator[str]:
    """Yield lines of the file that a log gives back: those kept word for word, or rows of a trace.

    Raises:
        InputError: a line was kept, and redacted.
    """
    rows = TraceRows()
    for event in events:
        if isinstance(event.data, ImportedLine) and event.data.form != "trace":
            if _object(event.data) is None:
                raise InputError("FILE", event.data.line(), "it was redacted; export the original")
            yield event.data.content + "\n"
        elif (row := rows.add(event)) is not None:
            yield row_line(row)
    if (last := rows.end()) is not None:
        yield row_line(last)


def _object(line: ImportedLine) -> Row | None:
    """Return what stood in the line; None where redaction hid it."""
    try:
        read = json.loads(line.content)
    except ValueError:
        return None
    return read if isinstance(read, dict) else None


def row_line(row: Row) -> str:
    """Return a row as a line of JSON."""
    return json.dumps(row, ensure_ascii=False, separators=(", ", ": ")) + "\n"


def _observed_row(data: Observation, tables: Mapping[str, Any]) -> Row:
    nodes, pods, totals = tables["nodes"], tables["pods"], data.totals
    sources = [SOURCES.get(one.source, one.source) for one in data.signals if _is_measured(one)]
    power = next((one for one in data.signals if one.name == "power"), None)
    return {
        "timestamp": data.cluster_time_seconds,
        "nodes": [*_nodes(nodes)],
        "tasks": [*_tasks(pods)],
        "p_fail_scores": {},
        "demand_projection": {},
        "queue_length": totals.queue_length,
        "energy_price": totals.energy_price,
        "sla_violations": totals.sla_violations,
        "completed_tasks": totals.completed_tasks,
        "energy_watts": totals.energy_watts,
        "telemetry_sources": list(dict.fromkeys(sources)),
        "power_calibration": {"source": "" if power is None else power.source},
    }


def _is_measured(signal: Signal) -> bool:
    """Say whether somebody outside was heard: not the settings, and not a model."""
    heard = signal.status in {SignalStatus.FRESH, SignalStatus.STALE}
    return heard and not signal.source.startswith(MODELS)


def _nodes(nodes: ObservedNodes) -> Iterator[Row]:
    for row, name in enumerate(nodes.ids):
        cpu = _first(nodes.cpu_used_ratio[row], nodes.cpu_requested_ratio[row])
        memory = _first(nodes.memory_used_ratio[row], nodes.memory_requested_ratio[row])
        yield {
            "node_id": name,
            "cpu_util": cpu,
            "mem_util": memory,
            "disk_util": 0.0,
            "net_util": 0.0,
            "power_state": nodes.power_state[row],
        }


def _first(*values: float | None) -> float:
    return next((value for value in values if value is not None), 0.0)


def _tasks(pods: ObservedPods) -> Iterator[Row]:
    for row, name in enumerate(pods.ids):
        yield {
            "task_id": name,
            "node_id": pods.node[row] or UNSCHEDULED,
            "urgency": pods.urgency_ratio[row],
            "queue_priority": pods.restarts[row],
            "alive": pods.alive[row],
        }


def _imported_row(data: ImportedRow) -> Row:
    """Return a row as it stood in the file; what the file did not say is not said."""
    calibration = data.power_calibration_source
    said = {
        "queue_length": data.queue_length,
        "energy_price": data.energy_price,
        "sla_violations": data.sla_violations,
        "completed_tasks": data.completed_tasks,
        "energy_watts": data.energy_watts,
        "task_death": data.task_death,
        "telemetry_sources": list(data.telemetry_sources) or None,
        "power_calibration": None if calibration is None else {"source": calibration},
        "prometheus_error": data.prometheus_error,
    }
    row: Row = {"timestamp": data.cluster_time_seconds, "nodes": [], "tasks": []}
    if data.nodes is not None:
        names = ("cpu_util_ratio", "mem_util_ratio", "disk_util_ratio", "net_util_ratio")
        row["nodes"] = [
            _said(
                node_id=node,
                **{name.removesuffix("_ratio"): getattr(data.nodes, name)[at] for name in names},
                power_state=data.nodes.power_state[at],
            )
            for at, node in enumerate(data.nodes.ids)
        ]
    if data.tasks is not None:
        tasks = data.tasks
        row["tasks"] = [
            _said(
                task_id=task,
                node_id=tasks.node[at],
                urgency=tasks.urgency_ratio[at],
                queue_priority=tasks.queue_priority[at],
                alive=tasks.alive[at],
            )
            for at, task in enumerate(tasks.ids)
        ]
    return row | _said(**said)


def _said(**fields: Any) -> Row:
    return {name: value for name, value in fields.items() if value is not None}
