"""Content of a predecessor's file about its cluster, as it stands there: only in imported recordings, never published.

An observation of ours needs what those files do not have (readiness, sizes and pods of nodes), so their rows are
a type of their own, in which everything that a file may lack can be missing.
"""

from __future__ import annotations

from typing import ClassVar, Literal

from schemas.model import NOBODY, EventData
from schemas.numbers import Count, Cycle, Ratio, Rounded, Seconds
from schemas.tables import Table


class ImportedNodes(Table):
    """One row per node; `ids` are `node_id`."""

    cpu_util_ratio: tuple[Ratio, ...] = ()
    """`cpu_util`: requested over allocatable, or used where the file's sources say node exporter."""
    mem_util_ratio: tuple[Ratio, ...] = ()
    """`mem_util`, likewise."""
    disk_util_ratio: tuple[Ratio | None, ...] = ()
    net_util_ratio: tuple[Ratio | None, ...] = ()
    power_state: tuple[str | None, ...] = ()


class ImportedTasks(Table):
    """One row per task; `ids` are `task_id`, of Kubernetes `<namespace>/<pod>`."""

    node: tuple[str, ...] = ()
    """`node_id`; `unscheduled` where it had none."""
    urgency_ratio: tuple[Ratio | None, ...] = ()
    queue_priority: tuple[int | None, ...] = ()
    """Of Kubernetes the pod's restarts."""
    alive: tuple[bool | None, ...] = ()


class ImportedRow(EventData):
    """A row of a predecessor's trace, or one of its `cluster` events; None: the file does not say it."""

    TYPE: ClassVar[str] = "foresail.imported.row.v1"
    WRITER: ClassVar[str] = NOBODY
    PATTERN: ClassVar[tuple[str, ...]] = ("imported", "row")

    cycle: Cycle
    """Number of the row, from 1."""
    cluster_time_seconds: Seconds
    form: Literal["trace", "events"]
    """Which kind of file it stood in."""
    nodes: ImportedNodes | None = None
    tasks: ImportedTasks | None = None
    node_count: Count | None = None
    task_count: Count | None = None
    queue_length: Count | None = None
    energy_price: Rounded | None = None
    sla_violations: Count | None = None
    completed_tasks: Count | None = None
    energy_watts: Rounded | None = None
    task_death: bool | None = None
    cpu_util_ratio: Ratio | None = None
    """`avg_cpu`: mean over nodes."""
    mem_util_ratio: Ratio | None = None
    """`avg_mem`, likewise."""
    max_risk_ratio: Rounded | None = None
    max_risk_node: str | None = None
    min_demand_ratio: Rounded | None = None
    min_demand_node: str | None = None
    telemetry_sources: tuple[str, ...] = ()
    """Who measured: `kubernetes_api`, `prometheus_node_exporter`."""
    power_calibration_source: str | None = None
    prometheus_error: str | None = None

    def line(self) -> str:
        """Return the counts that the row knows."""
        counts = {
            "nodes": self.node_count,
            "tasks": self.task_count,
            "in the queue": self.queue_length,
        }
        known = [f"{count} {what}" for what, count in counts.items() if count is not None]
        return f"row {self.cycle}: {', '.join(known) or 'no count'}"


class ImportedLine(EventData):
    """A row or line of a predecessor's file word for word, in recordings that were asked to give the file back."""

    TYPE: ClassVar[str] = "foresail.imported.line.v1"
    WRITER: ClassVar[str] = NOBODY
    PATTERN: ClassVar[tuple[str, ...]] = ("imported", "line")

    cycle: Cycle
    """Number of the row or line, from 1."""
    form: Literal["trace", "events", "state"]
    """Which kind of file it stood in; a state file is one line."""
    content: str
    """The JSON object."""

    def line(self) -> str:
        """Return which line it is of what."""
        return f"line {self.cycle} of {self.form}"
