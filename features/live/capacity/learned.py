"""Learned facts about each workload behind a Service, as a fold of observations and of use."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from features.live.capacity.curve import Capacity, cpu_capacity, fit_capacity
from features.live.capacity.evidence import Bin, CpuSums, add_cpu, add_window
from features.live.capacity.windows import (
    FEWEST_REQUESTS,
    SETTLED_LOOKS,
    Counts,
    Objective,
    Window,
    count_requests,
    is_earlier,
)
from schemas.model import DataModel
from schemas.numbers import Count, Rounded, Seconds, rounded
from schemas.snapshot import SnapshotUsage
from schemas.view import ObservationView
from schemas.work import ServiceCounters

HELD_LOOKS = 2.5
"""Requests since a look that is further back, in cycles, are those of a gap and no evidence."""


class LearnedWorkload(DataModel):
    """Known facts about one version of a workload."""

    version: str = ""
    """Of its pods; empty while nobody has said it."""
    wanted: Count = 0
    ready: Count = 0
    settled: Count = 0
    """Looks at which all wanted replicas were ready and as many as at the look before."""
    counts: Counts = Counts()
    """At the newest look."""
    window: Window = Window()
    ended: Window | None = None
    """The window that ended with the newest look and had enough requests to be evidence."""
    replica_rate: Rounded = 0.0
    """Requests a second of one replica in the newest settled window; one look alone can lie between two counts."""
    request_cores: Rounded | None = None
    """CPU that one replica requests."""
    bins: dict[int, Bin] = {}
    cpu: CpuSums = CpuSums()

    @property
    def capacity(self) -> Capacity | None:
        """Capacity of one replica; None where nothing lets expect it."""
        return fit_capacity(self.bins, cpu_capacity(self.cpu, self.request_cores))


class LearnedCapacity(DataModel):
    """All workloads behind Services, at the newest look."""

    time_seconds: Seconds | None = None
    """Cluster time of it; None before the first."""
    workloads: dict[str, LearnedWorkload] = {}
    """By `<namespace>/<kind>/<name>`."""


def learn_observation(
    learned: LearnedCapacity, view: ObservationView, objective: Objective
) -> LearnedCapacity:
    """Return what is known after an observation; workloads that no Service has any more are forgotten."""
    table, work = view.services, view.work
    if table is None or work is None or work.services is None:
        return learned
    before, now = learned.time_seconds, view.cluster_time_seconds
    if before is not None and now <= before:
        return learned
    elapsed = None if before is None else now - before
    if elapsed is not None and elapsed > HELD_LOOKS * view.interval_seconds:
        elapsed = None
    by_name = {one.service: one for one in work.services}
    counters: dict[str, list[ServiceCounters]] = defaultdict(list)
    rows: dict[str, int] = {}
    for row, name in enumerate(table.ids):
        counters[table.workload[row]].append(by_name[name])
        rows[table.workload[row]] = row
    workloads = {}
    for name, row in rows.items():
        look = LearnedWorkload.model_construct(
            wanted=table.wanted[row],
            ready=table.ready[row],
            counts=count_requests(counters[name], objective),
            request_cores=table.replica_cpu_cores[row],
        )
        workloads[name] = _after_look(learned.workloads.get(name), look, elapsed, objective)
    return LearnedCapacity.model_construct(time_seconds=now, workloads=workloads)


def learn_usage(learned: LearnedCapacity, usage: SnapshotUsage) -> LearnedCapacity:
    """Return what is known after a look at the CPU that workloads use; a new version is learned anew."""
    table, workloads = usage.workloads, dict(learned.workloads)
    rows = table.index()
    for name, known in learned.workloads.items():
        row = rows.get(name)
        if row is None:
            continue
        version = table.version[row]
        if known.version and version and version != known.version:
            workloads[name] = known.model_copy(
                update={
                    "version": version,
                    "settled": 0,
                    "window": Window(),
                    "bins": {},
                    "cpu": CpuSums(),
                }
            )
            continue
        update: dict[str, object] = {"version": version or known.version}
        if known.settled >= SETTLED_LOOKS and known.replica_rate > 0.0 and table.pods[row]:
            cores = table.cpu_used_cores[row] / table.pods[row]
            update["cpu"] = add_cpu(known.cpu, known.replica_rate, cores)
        workloads[name] = known.model_copy(update=update)
    return learned.model_copy(update={"workloads": workloads})


def _after_look(
    before: LearnedWorkload | None,
    look: LearnedWorkload,
    elapsed: float | None,
    objective: Objective,
) -> LearnedWorkload:
    if before is None:
        return look
    steady = look.ready == look.wanted == before.ready and look.ready > 0
    settled = before.settled + 1 if steady else 0
    update: dict[str, object] = {
        "wanted": look.wanted,
        "ready": look.ready,
        "ended": None,
        "counts": look.counts,
        "settled": min(settled, SETTLED_LOOKS + 1),
        "request_cores": before.request_cores if look.request_cores is None else look.request_cores,
    }
    if settled <= SETTLED_LOOKS or elapsed is None or not is_earlier(before.counts, look.counts):
        update |= {"window": Window(), "replica_rate": 0.0}
        return before.model_copy(update=update)
    window = before.window.add(before.counts, look.counts, elapsed, look.ready)
    if window.is_over:
        update["replica_rate"] = rounded(window.replica_rate)
        if window.every >= FEWEST_REQUESTS:
            holds = window.holds(objective)
            update["ended"] = window
            update["bins"] = add_window(before.bins, window.replica_rate, holds=holds)
        window = Window()
    return before.model_copy(update={**update, "window": window})


def statements(learned: LearnedCapacity) -> Mapping[str, Capacity]:
    """Return by workload what one replica bears, where anything lets expect it."""
    known = ((name, one.capacity) for name, one in sorted(learned.workloads.items()))
    return {name: capacity for name, capacity in known if capacity is not None}
