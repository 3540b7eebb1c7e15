"""Sizes that nobody could say, or that are another's: arms that show what forecasts of them are worth.

`oracle` knows what each pod will want in the hour ahead: memory at its highest, and of cores its part of the highest
sum on its machine. `shuffled` gives each workload what another one is expected to use of its request: who does as well
so is not helped by what is said of each.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from lab.experiments.arms import Sizes
from schemas.envelope import NewEvent
from schemas.numbers import rounded
from schemas.sizes import PredictionSizes, SizeTable
from services.inference.service import InferenceHandler
from twin.port.engine import Engine
from twin.port.objects import PodRecord

MOMENTS = np.arange(0.0, 3_600.0, 60.0)
"""Seconds of the hour ahead that the oracle looks at."""
KNOWN_SECONDS = 14 * 86_400
"""Who knows the future keeps no margin for having seen little."""
_DEPLOYED = {"ReplicaSet": "Deployment"}


class ToldSizes(InferenceHandler):
    """Inference in all but what it says that pods will use."""

    def __init__(self, inner: InferenceHandler, sizes: Sizes, engine: Engine, seed: int) -> None:
        """Answer as `inner` does, but for sizes."""
        self.__dict__.update(inner.__dict__)
        self._told, self._engine, self._seed = sizes, engine, seed

    def decide(self, state: Any, *, overdue: bool) -> tuple[NewEvent, ...]:
        """Return the predictions to publish, sizes those of the arm."""
        return tuple(self._instead(new) for new in super().decide(state, overdue=overdue))

    def _instead(self, new: NewEvent) -> NewEvent:
        data = new.data
        if not isinstance(data, PredictionSizes):
            return new
        if self._told == "shuffled":
            table = shuffled(data.workloads, self._seed)
        else:
            table = foreseen(data.workloads, peaks_ahead(self._engine))
        return replace(new, data=data.model_copy(update={"workloads": table}))


def shuffled(table: SizeTable, seed: int) -> SizeTable:
    """Return sizes in which each workload is expected to use as much of its request as the next one in a drawn circle.

    Places in the circle are hashes, so that who comes or goes changes what is told of one other workload alone.
    """
    circle = sorted(
        range(len(table)),
        key=lambda row: hashlib.sha256(f"sizes/{seed}/{table.ids[row]}".encode()).digest(),
    )
    other = dict(zip(circle, circle[1:] + circle[:1], strict=True))
    columns: dict[str, list[float]] = {"cpu_peak_cores": [], "memory_peak_bytes": []}
    for row in range(len(table)):
        for column, requests in (
            ("cpu_peak_cores", table.cpu_request_cores),
            ("memory_peak_bytes", table.memory_request_bytes),
        ):
            asked = requests[other[row]]
            ratio = getattr(table, column)[other[row]] / asked if asked else 1.0
            columns[column].append(ratio * requests[row])
    return table.model_copy(
        update={
            "cpu_peak_cores": tuple(map(rounded, columns["cpu_peak_cores"])),
            "memory_peak_bytes": tuple(map(round, columns["memory_peak_bytes"])),
        }
    )


def foreseen(table: SizeTable, ahead: Mapping[str, tuple[float, float]]) -> SizeTable:
    """Return sizes in which cores and bytes of a pod are those that will be wanted, where they are known."""
    known = [ahead.get(name) for name in table.ids]
    cores = zip(known, table.cpu_peak_cores, strict=True)
    memory = zip(known, table.memory_peak_bytes, strict=True)
    return table.model_copy(
        update={
            "cpu_peak_cores": tuple(rounded(one[0]) if one else told for one, told in cores),
            "memory_peak_bytes": tuple(round(one[1]) if one else told for one, told in memory),
            "known_seconds": (KNOWN_SECONDS,) * len(table),
        }
    )


def peaks_ahead(engine: Engine) -> dict[str, tuple[float, float]]:
    """Return by workload the cores that its largest pod adds to its machine's highest sum, and the most bytes."""
    usage = engine.usage
    rows, millicores, memory = engine.contention.wanted_ahead(MOMENTS)
    nodes = usage.node[rows]
    means = millicores.mean(axis=0)
    ratios = {
        node: millicores[:, nodes == node].sum(axis=1).max() / max(means[nodes == node].sum(), 1e-9)
        for node in np.unique(nodes).tolist()
    }
    found: dict[str, tuple[float, float]] = {}
    for place, row in enumerate(rows.tolist()):
        name = workload_of(engine.world.pods[usage.uids[row]])
        cores = float(means[place] * ratios[int(nodes[place])]) / 1_000.0
        before = found.get(name, (0.0, 0.0))
        found[name] = max(before[0], cores), max(before[1], float(memory[:, place].max()))
    return found


def workload_of(pod: PodRecord) -> str:
    """Return `<namespace>/<kind>/<name>` of what made a pod; a ReplicaSet is named after its Deployment and a hash."""
    owner = next((one for one in pod.owners if one.get("controller")), None)
    if owner is None:
        return f"{pod.namespace}/Pod/{pod.name}"
    kind, name = str(owner["kind"]), str(owner["name"])
    if kind in _DEPLOYED:
        kind, name = _DEPLOYED[kind], name.rpartition("-")[0]
    return f"{pod.namespace}/{kind}/{name}"
