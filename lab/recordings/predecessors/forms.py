"""The predecessor's two files as their writer means them: rows of a trace, and lines of an event file."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from pathlib import PurePath
from typing import Annotated, Any, Literal

from pydantic import AwareDatetime, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

Form = Literal["trace", "events", "state"]


def _as_text(value: object) -> object:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _as_time(value: object) -> object:
    return datetime.fromisoformat(value) if isinstance(value, str) else value


def _as_list(value: object) -> object:
    return [value] if isinstance(value, str) else value


Name = Annotated[str, BeforeValidator(_as_text), Field(min_length=1)]
Share = Annotated[float, Field(ge=0.0)]
Count = Annotated[int, Field(ge=0)]
Time = Annotated[AwareDatetime, BeforeValidator(_as_time)]
Words = Annotated[list[str], BeforeValidator(_as_list)]


class _Given(BaseModel):
    """Numbers may be written as texts, and fields that nobody knows are kept aside: the writer's own rules."""

    model_config = ConfigDict(extra="allow", frozen=True, allow_inf_nan=False)


class NodeRow(_Given):
    """A node of a trace's row."""

    node_id: Name
    cpu_util: Share
    mem_util: Share
    disk_util: Share | None = None
    net_util: Share | None = None
    power_state: str | None = None


class TaskRow(_Given):
    """A task of a trace's row."""

    task_id: Name
    node_id: Name
    urgency: Share | None = None
    queue_priority: Count | None = None
    alive: bool | None = None


class PowerCalibration(_Given):
    """What a row says of its power model; its numbers are not carried over."""

    source: str | None = None


class ClusterState(_Given):
    """What a trace's row and a `cluster` event share."""

    queue_length: Count | None = None
    sla_violations: Count | None = None
    completed_tasks: Count | None = None
    energy_watts: Share | None = None
    telemetry_sources: Words = []
    prometheus_error: str | None = None


class TraceRow(ClusterState):
    """A row of a trace."""

    timestamp: float
    """Seconds since the Unix epoch, or since a beginning that the file does not name."""
    nodes: list[NodeRow]
    tasks: list[TaskRow]
    p_fail_scores: dict[str, Share] | None = None
    demand_projection: dict[str, Share] | None = None
    energy_price: float | None = None
    task_death: bool | None = None
    power_calibration: PowerCalibration | None = None

    @model_validator(mode="after")
    def _check_names(self) -> TraceRow:
        for what, names in (
            ("nodes", [node.node_id for node in self.nodes]),
            ("tasks", [task.task_id for task in self.tasks]),
        ):
            doubled = sorted(name for name, times in Counter(names).items() if times > 1)
            if doubled:
                raise ValueError(f"{what}: {doubled[0]!r} stands there twice")
        return self


class PointRow(ClusterState):
    """A point of raw metrics: one node at one moment, and a task on it where there is one."""

    timestamp: float
    node_id: Name
    cpu_util: Share
    mem_util: Share
    disk_util: Share | None = None
    net_util: Share | None = None
    power_state: str | None = None
    task_id: Name | None = None
    urgency: Share | None = None
    queue_priority: Count | None = None
    alive: bool | None = None
    energy_price: float | None = None
    task_death: bool | None = None


class EventLine(_Given):
    """A line of an event file; what its kind has besides stands in `model_extra`."""

    time: Time
    kind: str
    stage: str | None = None
    message: str = ""


class StateFile(_Given):
    """How a run stood at one moment; parts whose form is that of an event's line are read as such."""

    updated_at: Time
    stages: list[dict[str, Any]]
    rewards: list[dict[str, Any]]
    optuna: dict[str, Any] = {}
    cluster: dict[str, Any] | None = None
    decision: dict[str, Any] | None = None
    artifacts: list[dict[str, Any]] = []
    errors: list[dict[str, Any] | str] = []


class ClusterLine(ClusterState):
    """What a line of the kind `cluster` has besides."""

    nodes: Count | None = None
    tasks: Count | None = None
    avg_cpu: Share | None = None
    avg_mem: Share | None = None
    max_risk: float | None = None
    max_risk_node: Name | None = None
    min_demand: float | None = None
    min_demand_node: Name | None = None
    power_metric_kind: str | None = None
    power_calibration_source: str | None = None


class ProposalPart(_Given):
    """A proposal as a decision lists it: without its payload."""

    agent: str
    kind: str
    target: Name | None = None
    score: float
    priority: int | None = None
    """Its earliest files do not say it: then that of its agent."""


class DecisionLine(_Given):
    """What a line of the kind `decision` has besides."""

    agent: str
    action_kind: str
    target: Name | None = None
    payload: dict[str, Any] = {}
    action_label: str | None = None
    score: float
    priority: int
    repeat_count: Count = 1
    reason: str = ""
    proposal_count: Count | None = None
    proposals: list[ProposalPart] = []


def base_name(path: str) -> str:
    """Return a path's last part: folders of another machine mean nothing here."""
    return PurePath(path.replace("\\", "/")).name
