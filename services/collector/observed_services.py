"""The Services of an observation: what stands behind each, how much of it there is and who scales it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from schemas.observation import ObservedServices
from schemas.tables import table_of
from services.collector.snapshot import Scaling, Snapshot


def observed_services(snapshot: Snapshot) -> ObservedServices | None:
    """Return the Services with a Deployment; None where no Service is known to have one."""
    counters = () if snapshot.work is None else snapshot.work.services or ()
    workloads = snapshot.workloads.index()
    served = [one for one in counters if one.workload in workloads]
    if not served:
        return None
    scalings = {
        f"{name.partition('/')[0]}/{scaling.target}": scaling
        for name, scaling in snapshot.published_autoscalers.items()
    }
    requests = _requests_of_one(snapshot, {one.workload for one in served})
    rows: dict[str, dict[str, Any]] = {}
    for one in served:
        row = workloads[one.workload]
        scaling = scalings.get(one.workload)
        cores, memory = requests.get(one.workload, (None, None))
        rows[one.service] = {
            "workload": one.workload,
            "wanted": snapshot.workloads.wanted[row],
            "ready": snapshot.workloads.ready[row],
            **_bounds(scaling),
            "replica_cpu_cores": cores,
            "replica_memory_bytes": memory,
        }
    return table_of(ObservedServices, rows)


def _bounds(scaling: Scaling | None) -> dict[str, Any]:
    if scaling is None:
        return {"autoscaled": False, "least": 0, "most": 0}
    return {"autoscaled": True, "least": scaling.least, "most": scaling.most}


def _requests_of_one(
    snapshot: Snapshot, workloads: Iterable[str]
) -> Mapping[str, tuple[float, int]]:
    """Return what one pod of each workload requests, from the first node that holds one."""
    wanted = set(workloads)
    found: dict[str, tuple[float, int]] = {}
    table = snapshot.placements
    for row, row_id in enumerate(table.ids):
        workload = row_id.partition("|")[2]
        if workload in wanted and workload not in found and table.pods[row]:
            pods = table.pods[row]
            cores = table.cpu_request_cores[row] / pods
            found[workload] = (cores, table.memory_request_bytes[row] // pods)
    return found
