"""Lines of an event file: the kinds that mean the same here become the same events, the others are counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from bus.errors import InputError
from lab.recordings.predecessors.carried import CarriedEvent, LeftOut, word_for_word
from lab.recordings.predecessors.decisions import Inexpressible, decision_of
from lab.recordings.predecessors.forms import ClusterLine, DecisionLine, EventLine, base_name
from lab.recordings.predecessors.reading import Rows, fit
from schemas.envelope import NewEvent
from schemas.imported import ImportedRow
from schemas.model import EventData
from schemas.run import RunArtifact, RunComplete, RunError, RunStage, RunTrial

RUN, PROCESS = "imported", "import"
NOT_HERE = {
    "reward": "a reward here states its weights and parts, which the file does not have",
    "exercise": "a stimulus here states its phase's number, outcome and rule",
    "ray": "Foresail trains no policy with Ray",
    "optuna": "it is no trial with a number and parameters",
    "data_source": "where a run got its rows is not told apart there as here",
    "stage": "its status is none that a stage has here",
}


@dataclass(slots=True)
class _Reader:
    """State from line to line."""

    left_out: LeftOut
    cycle: int = 0
    decided: int = -1
    """Newest cycle with a decision."""
    said: Counter[str] = field(default_factory=Counter)

    def about(self, kind: str) -> dict[str, Any]:
        """Return what every event of a run shares."""
        self.said[kind] += 1
        return {"run_id": RUN, "process": PROCESS, "sequence": self.said[kind]}


def line_events(
    path: Path, rows: Rows, left_out: LeftOut, *, exact: bool = False
) -> Iterator[CarriedEvent]:
    """Yield the events of an event file; each `cluster` line begins a cycle, as each look of its loop did.

    `exact`: each line word for word, too.

    Raises:
        InputError: a line does not fit its form, or its time lies before that of the line above.
    """
    reader = _Reader(left_out)
    before = None
    for number, content in rows:
        line = fit(EventLine, path, number, content)
        at = line.time.timestamp()
        if before is not None and at < before:
            raise InputError(f"{path.name}: row {number}: time", line.time.isoformat(),
                             "it lies before the row above; sort the rows by time")  # fmt: skip
        before = at
        if exact:
            yield word_for_word("events", number, content, at)
        rest = dict(line.model_extra or {})
        data: EventData | None
        match line.kind:
            case "cluster":
                reader.cycle += 1
                data = _cluster(reader, fit(ClusterLine, path, number, rest), at)
            case "decision":
                data = _decision(reader, fit(DecisionLine, path, number, rest), number, at)
            case _:
                data = _of_run(reader, line, rest)
        if data is not None:
            cycle = reader.cycle if line.kind in {"cluster", "decision"} else 0
            yield CarriedEvent(NewEvent(data, cycle, at), after_row=line.kind == "decision")


def _cluster(reader: _Reader, line: ClusterLine, at: float) -> ImportedRow:
    extras = {name for name in line.model_extra or {} if name != "time"}
    reader.left_out.add_extras("cluster: ", dict.fromkeys(extras))
    return ImportedRow(
        cycle=reader.cycle,
        cluster_time_seconds=at,
        form="events",
        node_count=line.nodes,
        task_count=line.tasks,
        queue_length=line.queue_length,
        sla_violations=line.sla_violations,
        completed_tasks=line.completed_tasks,
        energy_watts=line.energy_watts,
        cpu_util_ratio=line.avg_cpu,
        mem_util_ratio=line.avg_mem,
        max_risk_ratio=line.max_risk,
        max_risk_node=line.max_risk_node,
        min_demand_ratio=line.min_demand,
        min_demand_node=line.min_demand_node,
        telemetry_sources=tuple(line.telemetry_sources),
        power_calibration_source=line.power_calibration_source,
        prometheus_error=line.prometheus_error,
    )


def _decision(reader: _Reader, line: DecisionLine, number: int, at: float) -> EventData | None:
    if reader.cycle == 0 or reader.decided == reader.cycle:
        reader.left_out.add("decision", "no `cluster` line of its own stands before it")
        return None
    try:
        decision = decision_of(line, number, reader.cycle, at)
    except Inexpressible as error:
        reader.left_out.add("decision", str(error))
        return None
    reader.decided = reader.cycle
    reader.left_out.add_extras("decision: ", line.model_extra)
    return decision


def _of_run(reader: _Reader, line: EventLine, rest: dict[str, Any]) -> EventData | None:
    """Return the event of a run that a line is; None, and counted, where it is none."""
    try:
        data = _run_event(reader, line, rest)
    except (KeyError, TypeError, ValidationError):
        data = None
    if data is None:
        why = NOT_HERE.get(line.kind, "it lacks what such an event says here")
        reader.left_out.add(line.kind, why)
    return data


def _run_event(reader: _Reader, line: EventLine, rest: dict[str, Any]) -> EventData | None:
    match line.kind:
        case "stage":
            given = {"stage": rest["name"], "status": rest["status"], "detail": line.message}
            if rest.get("progress") is not None:
                given["progress_ratio"] = rest["progress"]
            return RunStage.model_validate({**reader.about("stage"), **given})
        case "artifact":
            given = {"label": rest["label"], "file_name": base_name(str(rest["path"]))}
            return RunArtifact.model_validate({**reader.about("artifact"), **given})
        case "optuna" if rest.get("trial") is not None and "params" in rest:
            given = {"study": rest["study"], "trial": rest["trial"], "value": rest.get("value"),
                     "parameters": rest["params"]}  # fmt: skip
            return RunTrial.model_validate({**reader.about("trial"), **given})
        case "error":
            return RunError.model_validate({**reader.about("error"), "text": line.message})
        case "complete":
            given = {"status": "complete", "summary": {"message": line.message}}
            return RunComplete.model_validate({**reader.about("complete"), **given})
        case _:
            return None
