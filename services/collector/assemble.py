"""From what the API said to the snapshot's tables; nothing is interpreted here.

A source that failed gives an empty table and stays named in `sources`. An item that cannot be understood (a quantity
or time stamp that is none) is left out and named in its source's message; where none can, the source has failed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from schemas.numbers import rounded
from schemas.reasons import Reason
from schemas.snapshot import NodeTable, PlacementTable, PodTable, WorkloadTable
from schemas.tables import table_of
from services.collector.node_rows import is_simulated, node_rows, usage_and_window
from services.collector.occupancy import occupancy_of
from services.collector.pod_rows import PodRows, SnapshotLimits
from services.collector.pod_sums import PodSums
from services.collector.reading import CycleReads, failed_read
from services.collector.scalings import scaling_rows
from services.collector.snapshot import Snapshot
from services.collector.unreadable import without_unreadable
from services.collector.work_ledger import WorkLedger
from services.collector.workload_rows import deployment_rows, job_rows

V = TypeVar("V")


def assemble(
    reading: CycleReads,
    time_seconds: float,
    cuts: SnapshotLimits,
    work: WorkLedger | None = None,
    *,
    simulated: bool,
    pod_sums: PodSums | None = None,
) -> Snapshot:
    """Build the snapshot of one cycle at cluster time `time_seconds`; `work` is what it has counted.

    `pod_sums` is given by who looks again and again; the snapshot is the same without.
    """
    pod_sums = pod_sums or PodSums()
    time_seconds = rounded(time_seconds)  # as recorded, so that ages are computed again equally
    sources = {source.source: source for source in reading.sources}

    def rows(name: str, make: Callable[[], V]) -> V | None:
        nonlocal reading
        try:
            return make()
        except ValueError:
            reading, left_out = without_unreadable(reading, name)
            sources[name] = sources[name].model_copy(update={"message": left_out})
        try:  # again, with what can be read: one bad row does not cost the table
            return make()
        except ValueError as error:
            at, text = sources[name].read_time_seconds, " ".join(str(error).split())
            sources[name] = failed_read(name, at, Reason.SOURCE_ERROR, text)
            return None

    measured = rows("node_metrics", lambda: usage_and_window(reading.node_metrics.items))
    usage, window = measured or ({}, None)
    if window is not None:
        sources["node_metrics"] = sources["node_metrics"].model_copy(
            update={"window_seconds": window}
        )
    nodes = rows("nodes", lambda: table_of(NodeTable, node_rows(reading.nodes.items, usage)))
    pods = rows("pods", lambda: pod_sums.look(reading.pods.items, time_seconds, cuts)) or PodRows()
    deployments = rows("deployments", lambda: deployment_rows(reading.deployments.items)) or {}
    scalings = rows("autoscalers", lambda: scaling_rows(reading.autoscalers.items)) or {}
    jobs = rows("jobs", lambda: job_rows(reading.jobs.items)) or {}
    return Snapshot(
        cluster_time_seconds=time_seconds,
        simulated=simulated or is_simulated(reading.nodes.items),
        sources=tuple(sources.values()),
        nodes=nodes or NodeTable(),
        placements=table_of(PlacementTable, pods.placements),
        workloads=table_of(WorkloadTable, {**deployments, **jobs}),
        pods=table_of(PodTable, pods.listed),
        pods_running=pods.running,
        pods_total=pods.total,
        pods_omitted=pods.omitted,
        waiting_omitted=pods.waiting_omitted,
        bare_pods_succeeded=pods.bare_succeeded,
        autoscalers=scalings,
        work=None if work is None else work.counters,
        occupancy=rows("pods", lambda: occupancy_of(reading)),
        measured=None if reading.measured is None else reading.measured.published,
    )
