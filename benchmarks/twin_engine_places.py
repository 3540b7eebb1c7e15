"""Two placements for the models: the twin's own scheduler, and the same rules as plain numpy.

Both filter by free amounts, take the sample that kube-scheduler takes, score it by all default
plugins and draw among the best; a test on the way is that they pick the same nodes.
"""

from __future__ import annotations

import numpy as np

from benchmarks.twin_engine_models import CORES, Tasks
from twin.chance import Chance, key_of
from twin.config.scheduling import SchedulerConfig
from twin.intake import new_record
from twin.port.engine import Engine
from twin.port.objects import Object, PodRecord
from twin.port.settings import TwinConfig
from twin.port.workloads import NodeShape
from twin.scheduling.sampling import sample_size

GIB = 2**30
NODE_CORES, NODE_BYTES, POD_SLOTS = 16, 64 * GIB, 110
BYTES_A_CORE = 3 * GIB  # not in proportion to the node's, or balance would decide nothing
SEED = 1


def nodes(count: int) -> list[NodeShape]:
    """Return equal nodes."""
    return [
        NodeShape(f"node-{index:05d}", NODE_CORES * 1_000, NODE_BYTES, 0, {})
        for index in range(count)
    ]


class TwinPlacement:
    """The scheduler of an engine, without the rest of the engine."""

    def __init__(self, tasks: Tasks, count: int, percent: int = 0) -> None:
        scheduler = SchedulerConfig(percentage_of_nodes_to_score=percent)
        self._engine = Engine(TwinConfig(scheduler=scheduler), seed=SEED)
        self._engine.add_nodes(nodes(count))
        self._place, self._table = self._engine.scheduler.place, self._engine.nodes
        pods = {cores: _pod(cores) for cores in CORES}
        self._pods = [pods[cores] for cores in tasks.cores]

    @property
    def plugins(self) -> str:
        """Which plugins are on."""
        return self._engine.scheduler.config.plugins()

    def take(self, task: int) -> int | None:
        """Take room for a task."""
        pod = self._pods[task]
        pod.uid = _uid(task)
        row = self._place(pod)
        if row is not None:
            self._table._add(row, pod, 1)  # noqa: SLF001 - the table without a store
        return row

    def give(self, task: int, row: int) -> None:
        """Give a task's room back."""
        self._table._add(row, self._pods[task], -1)  # noqa: SLF001 - as above


def _pod(cores: int) -> PodRecord:
    requests = {"cpu": str(cores), "memory": str(cores * BYTES_A_CORE)}
    container: Object = {"name": "c", "image": "", "resources": {"requests": requests}}
    spec: Object = {"containers": [container], "restartPolicy": "Never", "priority": 0}
    made = new_record(
        "pods",
        {
            "metadata": {"name": f"p{cores}", "namespace": "default"},
            "spec": {**spec, "terminationGracePeriodSeconds": 30},
        },
    )
    assert isinstance(made, PodRecord)
    return made


class PlainPlacement:
    """The same rules written down plainly: one pass over the sample for each plugin."""

    def __init__(self, tasks: Tasks, count: int, percent: int = 0) -> None:
        self._cores = tasks.cores
        self._enough = sample_size(count, percent)
        offered = np.array([NODE_CORES * 1_000, NODE_BYTES, POD_SLOTS], np.int64)
        self._offered = np.repeat(offered[:, None], count, axis=1)
        self._free = self._offered.copy()
        self._count = count
        self._start = 0
        self._keys = np.array([key_of(shape.name) for shape in nodes(count)], np.uint64)
        self._ties = Chance(SEED).draws("scheduler ties")

    def take(self, task: int) -> int | None:
        """Take room for a task."""
        amounts = self._amounts(task)
        fits = np.all(self._free >= amounts[:, None], axis=0)
        turned = np.flatnonzero(np.roll(fits, -self._start))
        if not len(turned):
            return None
        rows = (turned[: self._enough] + self._start) % self._count
        if len(turned) >= self._enough:
            self._start = (int(rows[-1]) + 1) % self._count
        row = self._best(task, rows, self._scores(rows, amounts))
        self._free[:, row] -= amounts
        return row

    def give(self, task: int, row: int) -> None:
        """Give a task's room back."""
        self._free[:, row] += self._amounts(task)

    def _amounts(self, task: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        cores = self._cores[task]
        return np.array([cores * 1_000, cores * BYTES_A_CORE, 1], np.int64)

    def _best(self, task: int, rows: np.ndarray, scores: np.ndarray) -> int:  # type: ignore[type-arg]
        if len(rows) == 1:
            return int(rows[0])
        best = rows[scores == scores.max()]
        if len(best) == 1:
            return int(best[0])
        salted = self._keys[best] ^ np.uint64(key_of(_uid(task)))
        return int(best[self._ties.bits_of(salted).argmax()])

    def _scores(self, rows: np.ndarray, amounts: np.ndarray) -> np.ndarray:  # type: ignore[type-arg]
        """Return the weighted sum of all default score plugins."""
        even = np.zeros(len(rows), np.int64)
        taints = 3 * (100 - even)  # TaintToleration: nobody has taints, so all get 100
        affinity = 2 * even  # NodeAffinity: nothing is preferred
        spread = 2 * (100 - even)  # PodTopologySpread: no constraints
        relations = 2 * even  # InterPodAffinity: no terms
        images = even  # ImageLocality: no node has the image
        offered, free = self._offered[:2, rows], self._free[:2, rows]
        requested = offered - free + amounts[:2, None]
        parts = np.maximum(offered - requested, 0) * 100 // offered
        fit = (parts[0] + parts[1]) // 2  # NodeResourcesFit, LeastAllocated
        used = np.minimum(requested / offered, 1.0)
        deviation = np.abs((used[0] - used[1]) / 2.0)
        balanced = ((1.0 - deviation) * 100.0).astype(np.int64)
        total: np.ndarray = taints + affinity + spread + relations + images + fit + balanced  # type: ignore[type-arg]
        return total


def _uid(task: int) -> str:
    return f"task-{task}"
