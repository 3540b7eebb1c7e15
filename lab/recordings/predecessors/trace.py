"""Rows of a trace: what they say of the cluster, and of risk and demand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from bus.errors import InputError
from lab.recordings.predecessors.carried import CarriedEvent, LeftOut, word_for_word
from lab.recordings.predecessors.forms import TraceRow
from lab.recordings.predecessors.reading import Rows, fit
from schemas.envelope import NewEvent
from schemas.imported import ImportedNodes, ImportedRow, ImportedTasks
from schemas.prediction import DemandTable, PredictionDemand, PredictionRisk, RiskTable
from schemas.tables import table_of

RISK_MODEL, DEMAND_MODEL = "imported-p-fail", "imported-demand-projection"
NO_OBSERVATION = (
    "an observation needs readiness, size and pods of each node, which the file does not have"
)


def trace_events(
    path: Path, rows: Rows, left_out: LeftOut, *, exact: bool = False
) -> Iterator[CarriedEvent]:
    """Yield the events of a trace, row by row; `exact`: each row word for word, too.

    Raises:
        InputError: a row does not fit the form, or its time lies before that of the row above.
    """
    before = None
    for cycle, (number, content) in enumerate(rows, start=1):
        row = fit(TraceRow, path, number, content)
        if before is not None and row.timestamp < before:
            remedy = f"the row above has {before:g}; sort the rows by time"
            raise InputError(f"{path.name}: row {number}: timestamp", f"{row.timestamp:g}", remedy)
        before = row.timestamp
        yield CarriedEvent(NewEvent(_row(cycle, row), cycle, row.timestamp))
        if exact:
            yield word_for_word("trace", cycle, content, row.timestamp)
        for data in _predictions(cycle, row):
            yield CarriedEvent(NewEvent(data, cycle, row.timestamp), after_row=True)
        left_out.add("observations", NO_OBSERVATION)
        _count_extras(row, left_out)


def _count_extras(row: TraceRow, left_out: LeftOut) -> None:
    left_out.add_extras("", row.model_extra)
    for node in row.nodes:
        left_out.add_extras("nodes: ", node.model_extra)
    for task in row.tasks:
        left_out.add_extras("tasks: ", task.model_extra)
    if row.power_calibration is not None:
        left_out.add_extras("power_calibration: ", row.power_calibration.model_extra)


def _row(cycle: int, row: TraceRow) -> ImportedRow:
    nodes = {
        node.node_id: {
            "cpu_util_ratio": node.cpu_util,
            "mem_util_ratio": node.mem_util,
            "disk_util_ratio": node.disk_util,
            "net_util_ratio": node.net_util,
            "power_state": node.power_state,
        }
        for node in row.nodes
    }
    tasks = {
        task.task_id: {
            "node": task.node_id,
            "urgency_ratio": task.urgency,
            "queue_priority": task.queue_priority,
            "alive": task.alive,
        }
        for task in row.tasks
    }
    calibration = row.power_calibration
    return ImportedRow(
        cycle=cycle,
        cluster_time_seconds=row.timestamp,
        form="trace",
        nodes=table_of(ImportedNodes, nodes),
        tasks=table_of(ImportedTasks, tasks),
        node_count=len(nodes),
        task_count=len(tasks),
        queue_length=row.queue_length,
        energy_price=row.energy_price,
        sla_violations=row.sla_violations,
        completed_tasks=row.completed_tasks,
        energy_watts=row.energy_watts,
        task_death=row.task_death,
        telemetry_sources=tuple(row.telemetry_sources),
        power_calibration_source=None if calibration is None else calibration.source,
        prometheus_error=row.prometheus_error,
    )


def _predictions(cycle: int, row: TraceRow) -> Iterator[PredictionRisk | PredictionDemand]:
    """Yield what the row foresees by node; it names no horizon, so it is said of the moment itself."""
    about = {"cycle": cycle, "cluster_time_seconds": row.timestamp, "status": "result",
             "horizon_seconds": 0.0, "features_hash": "", "calibrated": False}  # fmt: skip
    if row.p_fail_scores:
        table = table_of(RiskTable, _column("risk_ratio", row.p_fail_scores))
        yield PredictionRisk.model_validate({**about, "model_id": RISK_MODEL, "nodes": table})
    if row.demand_projection:
        demand = table_of(DemandTable, _column("demand_ratio", row.demand_projection))
        yield PredictionDemand.model_validate({**about, "model_id": DEMAND_MODEL, "nodes": demand})


def _column(name: str, values: Mapping[str, float]) -> dict[str, dict[str, float]]:
    return {node: {name: value} for node, value in values.items()}
