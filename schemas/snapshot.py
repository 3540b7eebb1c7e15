"""Layer 1, snapshot: what the cluster shows, nearly raw, as three tables groups per cycle.
Published by the collector.

`snapshot.nodes`, `snapshot.placements` and `snapshot.workloads` of one cycle go as one atomic
batch. Nothing is interpreted here: ratios, classes and judgements belong to the observation.
"""

from __future__ import annotations

from heapq import nlargest
from typing import ClassVar, Literal

from pydantic import Field

from schemas.capabilities import MissingCapability
from schemas.figures import number
from schemas.frames import FramedData
from schemas.measured import Measured
from schemas.model import DataModel, EventData
from schemas.numbers import Count, Cycle, Rounded, Seconds
from schemas.occupancy import Occupancy
from schemas.reasons import Reason
from schemas.tables import Table
from schemas.wording import count_text
from schemas.work import WorkCounters

MOST_IN_LINE = 3
"""Workloads that a line names."""


class SourceRead(DataModel):
    """One read from the cluster: when, how much, or why not."""

    source: str
    """`nodes`, `pods`, `deployments`, `jobs`, `node_metrics`, `autoscalers`; of a Prometheus also `node_power`,
    `energy_price`, `service_requests`.
    """
    ok: bool
    read_time_seconds: Seconds
    """Cluster time at which the answer came."""
    resource_version: str = ""
    """The list's resourceVersion."""
    items: Count = 0
    reason: Reason | None = None
    message: str = ""
    """The API server's own words when it failed; otherwise which items could not be read and were left out."""
    server: str = ""
    """Who was asked (`prometheus`), where it was not the API server."""
    window_seconds: Seconds | None = Field(default=None, exclude_if=lambda window: window is None)
    """Seconds before its time that a value rests on, the longest of all; None where it does not say."""
    watched: bool = False
    """Whether it is followed by a watch; `read_time_seconds` is then when the server was last heard."""
    failing_since_seconds: Seconds | None = None
    """Cluster time of the first cycle since which it has failed; None when it did not fail."""


class NodeTable(Table):
    """One row per node; `ids` are node names."""

    ready: tuple[bool, ...] = ()
    schedulable: tuple[bool, ...] = ()
    cpu_allocatable_cores: tuple[Rounded, ...] = ()
    memory_allocatable_bytes: tuple[int, ...] = ()
    pods_allocatable: tuple[int, ...] = ()
    gpus_allocatable: tuple[int, ...] = ()
    cpu_usage_cores: tuple[Rounded | None, ...] = ()
    """Metrics Server; None when it has nothing for the node."""
    memory_usage_bytes: tuple[int | None, ...] = ()
    usage_time_seconds: tuple[Seconds | None, ...] = ()
    """Time stamp of the usage sample."""
    power_state: tuple[str, ...] = ()
    """Annotation foresail.dev/power-state; `on` when absent."""
    clock_scale_ratio: tuple[Rounded, ...] = ()
    memory_scale_ratio: tuple[Rounded, ...] = ()
    cpu_cap_ratio: tuple[Rounded, ...] = ()
    memory_cap_ratio: tuple[Rounded, ...] = ()
    created_time_seconds: tuple[Seconds, ...] = ()
    ready_time_seconds: tuple[Seconds | None, ...] = ()
    """Last transition of the Ready condition."""


class PlacementTable(Table):
    """Pods by node and workload; `ids` are `<node>|<namespace>/<kind>/<name>`.

    Where that does not fit a message, by node and namespace: `<node>|<namespace>/*/*`; where that
    does not fit either, by node: `<node>|*/*/*`, beside rows of namespaces with unhealthy pods.
    """

    pods: tuple[int, ...] = ()
    """Pods that hold resources on the node (neither Succeeded nor Failed)."""
    cpu_request_cores: tuple[Rounded, ...] = ()
    memory_request_bytes: tuple[int, ...] = ()
    gpus_requested: tuple[int, ...] = ()
    unhealthy: tuple[int, ...] = ()
    """Pods Failed, Pending, Unknown or not ready."""
    restarted: tuple[int, ...] = ()
    """Pods with at least one container restart."""


class WorkloadTable(Table):
    """Deployments and Jobs; `ids` are `<namespace>/<kind>/<name>`."""

    wanted: tuple[int, ...] = ()
    """spec.replicas, or spec.parallelism of a Job."""
    ready: tuple[int, ...] = ()
    succeeded: tuple[int, ...] = ()
    """Job: status.succeeded; 0 for a Deployment."""
    failed: tuple[int, ...] = ()
    suspended: tuple[bool, ...] = ()
    created_time_seconds: tuple[Seconds, ...] = ()


class PodTable(Table):
    """Pods that need a look: pending, failing, restarted, starting or ending; `ids` are
    `<namespace>/<name>`.
    """

    uid: tuple[str, ...] = ()
    node: tuple[str, ...] = ()
    """Empty while unbound."""
    workload: tuple[str, ...] = ()
    """`<namespace>/<kind>/<name>` of the controller that would replace it; empty for a bare pod."""
    phase: tuple[str, ...] = ()
    ready: tuple[bool, ...] = ()
    restarts: tuple[int, ...] = ()
    status_reason: tuple[str, ...] = ()
    """The API's own reason: of the PodScheduled condition, the waiting or the terminated container.
    """
    status_message: tuple[str, ...] = ()
    cpu_request_cores: tuple[Rounded, ...] = ()
    memory_request_bytes: tuple[int, ...] = ()
    gpus_requested: tuple[int, ...] = ()
    priority: tuple[int, ...] = ()
    created_time_seconds: tuple[Seconds, ...] = ()
    scheduled_time_seconds: tuple[Seconds | None, ...] = ()
    started_time_seconds: tuple[Seconds | None, ...] = ()
    """When the pod became ready; None while it is not."""
    ended_time_seconds: tuple[Seconds | None, ...] = ()
    deleting: tuple[bool, ...] = ()


class AutoscalerState(DataModel):
    """State of a HorizontalPodAutoscaler (autoscaling/v2): its wish, between which bounds, and why no more."""

    object: str
    """`<namespace>/HorizontalPodAutoscaler/<name>`."""
    workload: str
    """`<namespace>/<kind>/<name>` that it scales."""
    min_replicas: Count
    max_replicas: Count
    current_replicas: Count
    """Replicas of the workload when the autoscaler last looked."""
    desired_replicas: Count
    active: str = ""
    """Reason of the condition ScalingActive; of a false one why there is no metric, e.g.
    `FailedGetResourceMetric`.
    """
    limited: str = ""
    """Reason of the condition ScalingLimited, e.g. `TooManyReplicas` or `DesiredWithinRange`."""
    able: str = ""
    """Reason of the condition AbleToScale, e.g. `ReadyForNewScale` or `ScaleDownStabilized`."""
    inactive: str = Field(default="", exclude_if=lambda text: not text)
    """Message of the condition ScalingActive where it is false; `desired_replicas` is then not of now, and 0 where
    it was never computed."""
    missing_metrics: tuple[str, ...] = Field(default=(), exclude_if=lambda names: not names)
    """Metrics that could not be read, such as `External queue_lag`; one of several keeps it from scaling down."""
    metrics: Count = Field(default=0, exclude_if=lambda count: not count)
    """How many it has, where some are missing."""


class NodesState(FramedData):
    """Common fields of every snapshot of nodes says."""

    TABLES: ClassVar[tuple[str, ...]] = ("nodes",)

    cluster_time_seconds: Seconds
    simulated: bool
    """True when the embedded cluster answered."""
    sources: tuple[SourceRead, ...]
    measured: Measured | None = Field(default=None, exclude_if=lambda measured: measured is None)
    """Power that was measured, and the price of energy where it is no constant."""
    nodes: NodeTable | None

    @property
    def summary(self) -> str:
        """Which sources gave no answer."""
        failed = [read.source for read in self.sources if not read.ok]
        return f"no answer for {', '.join(failed)}" if failed else "all answered"


class SnapshotNodes(NodesState):
    """Nodes with their allocatable resources, usage and actuator state."""

    TYPE: ClassVar[str] = "foresail.snapshot.nodes.v1"
    WRITER: ClassVar[str] = "collector"
    PATTERN: ClassVar[tuple[str, ...]] = ("snapshot", "nodes")


class PlacementsState(FramedData):
    """Common fields of every snapshot of placements says."""

    TABLES: ClassVar[tuple[str, ...]] = ("placements",)

    cluster_time_seconds: Seconds
    placements: PlacementTable | None

    @property
    def summary(self) -> str:
        """How much changed."""
        deltas = self.frame.deltas
        if deltas is None:
            return "every row"
        rows = {
            row
            for delta in deltas.values()
            for change in delta.cells.values()
            for row in change.rows
        }
        removed = sum(len(delta.removed) for delta in deltas.values())
        return f"{count_text(len(rows), 'row')} changed, {removed} removed"


class SnapshotPlacements(PlacementsState):
    """Placements by node and workload."""

    TYPE: ClassVar[str] = "foresail.snapshot.placements.v1"
    WRITER: ClassVar[str] = "collector"
    PATTERN: ClassVar[tuple[str, ...]] = ("snapshot", "placements")


class WorkloadsState(FramedData):
    """Common fields of every snapshot of workloads says."""

    TABLES: ClassVar[tuple[str, ...]] = ("workloads", "pods")

    cluster_time_seconds: Seconds
    pods_running: Count
    pods_total: Count
    pods_omitted: Count = 0
    """Pods that need a look beyond those listed (the message must stay under 1 MiB)."""
    waiting_omitted: dict[str, int] = {}
    """Of the pods omitted, those that are Pending and have no node, by namespace."""
    bare_pods_succeeded: Count
    """Succeeded pods that no Job owns (the baseline counts them as completed tasks)."""
    autoscalers: tuple[AutoscalerState, ...] = ()
    """At most 200, by name; empty too where their source did not answer."""
    work: WorkCounters | None = None
    """Outcomes of work since the collector first looked; None in recordings from before it counted."""
    occupancy: Occupancy | None = None
    """Nodes that may be emptied; None in recordings from before they were listed."""
    missing_means: tuple[MissingCapability, ...] = Field(
        default=(), exclude_if=lambda missing: not missing
    )
    """Kinds of action that the executor cannot do, as it said last."""
    workloads: WorkloadTable | None
    pods: PodTable | None

    @property
    def summary(self) -> str:
        """How many pods run."""
        return f"{self.pods_running} of {self.pods_total} pods running"


class SnapshotWorkloads(WorkloadsState):
    """Workloads, and the single pods that need a look."""

    TYPE: ClassVar[str] = "foresail.snapshot.workloads.v1"
    WRITER: ClassVar[str] = "collector"
    PATTERN: ClassVar[tuple[str, ...]] = ("snapshot", "workloads")


class UsageTable(Table):
    """Usage of each workload's pods together; `ids` are `<namespace>/<kind>/<name>`."""

    version: tuple[str, ...] = ()
    """Of the pods that run: the number of a Deployment's rollout (`deployment.kubernetes.io/revision`), which each
    change of the pod template raises; empty where nothing says it.
    """
    pods: tuple[int, ...] = ()
    """Pods that were measured."""
    cpu_used_cores: tuple[Rounded, ...] = ()
    memory_used_bytes: tuple[int, ...] = ()
    cpu_request_cores: tuple[Rounded, ...] = ()
    """What these pods request together."""
    memory_request_bytes: tuple[int, ...] = Field(default=(), exclude_if=lambda column: not column)
    """Likewise; without the two columns below in recordings from before they were there."""
    cpu_most_cores: tuple[Rounded | None, ...] = Field(
        default=(), exclude_if=lambda column: not column
    )
    """Used by the pod that uses most; None where only sums are measured."""
    memory_most_bytes: tuple[int | None, ...] = Field(
        default=(), exclude_if=lambda column: not column
    )
    """Likewise."""

    MAY_BE_EMPTY: ClassVar[frozenset[str]] = frozenset(
        {"memory_request_bytes", "cpu_most_cores", "memory_most_bytes"}
    )


class SnapshotUsage(EventData):
    """CPU and memory used by workloads, once a minute."""

    TYPE: ClassVar[str] = "foresail.snapshot.usage.v1"
    WRITER: ClassVar[str] = "collector"
    PATTERN: ClassVar[tuple[str, ...]] = ("snapshot", "usage")

    cycle: Cycle
    cluster_time_seconds: Seconds
    source: Literal["metrics_server", "prometheus"]
    """Who measured it."""
    omitted: Count = 0
    """Workloads beyond those listed, which are those that use the most CPU."""
    workloads: UsageTable

    def line(self) -> str:
        """Return the workloads that use most."""
        table = self.workloads
        most = nlargest(MOST_IN_LINE, zip(table.cpu_used_cores, table.ids, strict=True))
        listed = ", ".join(f"{name} {number(cores)} cores" for cores, name in most)
        return f"{count_text(len(table), 'workload')} measured: {listed or 'none'}"
