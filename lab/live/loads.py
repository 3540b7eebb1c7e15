"""What both clusters get in a phase: one list of Deployments for both, or the reason why there is none. Pure.

The amounts follow from the phase's shares of a node and from the emptiest nodes of both clusters, so that what is
asked for fits into either. No node is named: where pods go is each cluster's own business.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict

from schemas.reasons import Reason
from services.exerciser.phases import Phase, phase_shares, waiting_size
from services.exerciser.plan import MOST_RATIO, LoadPlan, NodeLoad, PlannedLoad
from services.exerciser.settings import ExerciserSettings

EQUAL_WITHIN = 0.01
"""Largest difference of two clusters' room, as a part of the larger one, that counts as equal."""
PREFIX = "comparison"


def mirrored_plan(
    phase: Phase, nodes: Mapping[str, Sequence[NodeLoad]], settings: ExerciserSettings
) -> LoadPlan:
    """Return what every cluster gets.

    Args:
        phase: the phase.
        nodes: workers that are ready and on, by cluster, without the comparison's own load.
        settings: seed, image, and whether sizes are drawn.
    """
    name = f"{PREFIX}-{phase.index}"
    if phase.spread == "nothing":
        return LoadPlan((), "no load")
    if phase.spread == "unschedulable":
        cpu, memory = waiting_size(phase, randomise=settings.randomise, seed=settings.seed)
        load = PlannedLoad(name, phase.queue, cpu, memory)
        return LoadPlan((load,), f"{phase.queue} pods that fit nowhere")
    open_nodes = {
        cluster: sorted(
            (node for node in known if node.schedulable), key=lambda node: node.shares.pressure
        )
        for cluster, known in nodes.items()
    }
    least = min((len(known) for known in open_nodes.values()), default=0)
    if not least:
        empty = [cluster for cluster, known in open_nodes.items() if not known]
        return LoadPlan((), f"no node of {', '.join(empty)} takes pods", Reason.NO_NODES)
    count = least if phase.spread == "every_node" else 1
    emptiest = [node for known in open_nodes.values() for node in known[:count]]
    cpu, memory = _amounts(phase, emptiest, settings)
    if cpu <= 0:
        text = f"the nodes of a cluster already carry what {phase.name} would add"
        return LoadPlan((), text, Reason.PHASE_UNREACHABLE)
    load = PlannedLoad(name, count, cpu, memory, anywhere=True)
    return LoadPlan((load,), f"{count} pods of {cpu}m and {memory >> 20}Mi, on whatever node")


def _amounts(
    phase: Phase, nodes: Sequence[NodeLoad], settings: ExerciserSettings
) -> tuple[int, int]:
    """Return millicores and bytes that lift a node to the phase's shares, the least of these nodes."""
    shares = phase_shares(phase, randomise=settings.randomise, seed=settings.seed)
    assert shares is not None, "a phase that asks something of nodes has shares"

    def missing(ratio: float, allocatable: int, requested: int) -> int:
        return max(0, math.floor(min(ratio, MOST_RATIO) * allocatable) - requested)

    cpu = min(
        missing(shares.cpu_ratio, one.cpu_millicores, one.cpu_requested_millicores) for one in nodes
    )
    memory = min(
        missing(shares.memory_ratio, one.memory_bytes, one.memory_requested_bytes) for one in nodes
    )
    return cpu, memory


def digest_of(loads: Sequence[PlannedLoad]) -> str:
    """Return what names a plan's loads: equal in both clusters, as each log says by itself."""
    text = json.dumps([asdict(load) for load in loads], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def unequal_text(nodes: Mapping[str, Sequence[NodeLoad]]) -> str:
    """Return in which way the clusters' machines differ; empty where they are alike.

    Compared are the workers that take pods: their number, their CPU and their memory.
    """
    by_cluster = {
        cluster: [node for node in known if node.schedulable] for cluster, known in nodes.items()
    }
    sums = (
        ("schedulable workers", {name: len(known) for name, known in by_cluster.items()}),
        (
            "millicores on them",
            {name: sum(one.cpu_millicores for one in known) for name, known in by_cluster.items()},
        ),
        (
            "bytes of memory on them",
            {name: sum(one.memory_bytes for one in known) for name, known in by_cluster.items()},
        ),
    )
    for what, values in sums:
        most, fewest = max(values.values()), min(values.values())
        if most - fewest > EQUAL_WITHIN * most:
            amounts = " and ".join(f"{value:,} ({name})" for name, value in values.items())
            return f"{amounts} {what}"
    return ""
