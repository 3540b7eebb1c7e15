"""From a phase and the cluster as it is to Deployments, or to the reason why none would do. Pure.

The load that others put on a node counts: a phase adds only what is missing to its shares.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from schemas.actions import ActionKind
from schemas.reasons import Reason
from services.exerciser.phases import (
    EFFICIENCY,
    OVERLOADED_ABOVE,
    OVERLOADED_SHARE,
    THROTTLE_FROM,
    WAITING_JOBS,
    LoadShares,
    Phase,
    phase_shares,
    waiting_size,
)
from services.exerciser.settings import ExerciserSettings

MOST_RATIO = 0.99
"""A phase never asks for more of a node."""
AHEAD_CPU_RATIO = 0.02
"""By so much of their CPU all nodes but one get more, so that this one is the least wanted."""


@dataclass(frozen=True, slots=True)
class NodeLoad:
    """A node that is ready and on, without the exerciser's own load."""

    name: str
    schedulable: bool
    cpu_millicores: int
    memory_bytes: int
    cpu_requested_millicores: int
    memory_requested_bytes: int
    unhealthy_pods: int
    restarted_pods: int
    pods: int = 0
    """Pods of others on it, those of DaemonSets aside."""

    @property
    def shares(self) -> LoadShares:
        """Requests so far."""
        return LoadShares(
            _share(self.cpu_requested_millicores, self.cpu_millicores),
            _share(self.memory_requested_bytes, self.memory_bytes),
        )

    @property
    def calm(self) -> bool:
        """Whether every pod on it is well."""
        return not self.unhealthy_pods and not self.restarted_pods


@dataclass(frozen=True, slots=True)
class PlannedLoad:
    """One Deployment or Job to create."""

    name: str
    replicas: int
    cpu_millicores: int
    memory_bytes: int
    node: str = ""
    """The node it is bound to; empty: none fits, on purpose."""
    anywhere: bool = False
    """Whether any node may take it, its pods spread over them; then `node` is empty."""
    protected: bool = False
    """Whether it asks not to be disrupted: agent B's load must not be scaled or held meanwhile."""
    movable: bool = False
    """Whether its node is a preference only."""
    fixed_memory: bool = False
    """Whether a change of its memory restarts its container: then it is not resized, and its node is tainted, for
    which nobody has to have measured it for minutes."""
    kind: Literal["Deployment", "Job"] = "Deployment"


@dataclass(frozen=True, slots=True)
class LoadPlan:
    """Objects to create for a phase, or the reason why nothing can be."""

    loads: tuple[PlannedLoad, ...]
    text: str
    reason: Reason | None = None


def plan_phase(
    phase: Phase,
    nodes: Sequence[NodeLoad],
    waiting_pods: int,
    settings: ExerciserSettings,
    turn: int = 0,
) -> LoadPlan:
    """Return what is created for a phase.

    Args:
        phase: the phase.
        nodes: nodes that are ready and on, sorted by name.
        waiting_pods: pods of others that are Pending and not bound to a node.
        settings: the exerciser's settings.
        turn: number of the phase in the run. It chooses among nodes that would do equally well, since the executor
            acts on one node so and so often only.
    """
    if not nodes:
        return LoadPlan((), "no node is ready and on", Reason.NO_NODES)
    if phase.spread == "one_node":
        return _on_one_node(phase, nodes, settings, turn)
    disturbed = _by_safety(phase, nodes) or _by_admission(phase, nodes, waiting_pods)
    if disturbed is not None:
        return disturbed
    if phase.spread == "nothing":
        return _on_no_node(phase, nodes)
    if phase.spread == "every_node":
        return _on_every_node(phase, nodes, settings, turn)
    return _unschedulable(phase, waiting_pods, settings)


def _by_safety(phase: Phase, nodes: Sequence[NodeLoad]) -> LoadPlan | None:
    """Return the refusal when agent A would act on a node whatever the phase does."""
    worst = max(nodes, key=lambda node: (not node.calm, node.shares.pressure))
    if worst.calm and worst.shares.pressure < THROTTLE_FROM:
        return None
    why = (
        f"requests give it {worst.shares.pressure:.3f}"
        if worst.calm
        else f"{worst.unhealthy_pods} unhealthy and {worst.restarted_pods} restarted pods"
    )
    text = f"agent A would win over {phase.name}: node {worst.name} is at risk ({why})"
    return LoadPlan((), text, Reason.PHASE_UNREACHABLE)


def _by_admission(phase: Phase, nodes: Sequence[NodeLoad], waiting_pods: int) -> LoadPlan | None:
    """Return the refusal when agent C would win over an efficiency phase."""
    if phase.agent != EFFICIENCY:
        return None
    full = [node for node in nodes if node.shares.fullest > OVERLOADED_ABOVE]
    if not waiting_pods and len(full) < OVERLOADED_SHARE * len(nodes):
        return None
    why = f"{waiting_pods} pods wait" if waiting_pods else f"{len(full)} nodes are overloaded"
    text = f"agent C would win over {phase.name}: {why}"
    return LoadPlan((), text, Reason.PHASE_UNREACHABLE)


def _on_no_node(phase: Phase, nodes: Sequence[NodeLoad]) -> LoadPlan:
    least = min(nodes, key=lambda node: (node.shares.pressure, node.name))
    if least.shares.pressure >= phase.band[1]:
        text = f"even the idlest node, {least.name}, has demand {least.shares.pressure:.3f}"
        return LoadPlan((), text, Reason.PHASE_UNREACHABLE)
    return LoadPlan((), "no load of the exerciser")


def _on_every_node(
    phase: Phase, nodes: Sequence[NodeLoad], settings: ExerciserSettings, turn: int
) -> LoadPlan:
    if len(nodes) > settings.most_nodes:
        text = f"{len(nodes)} nodes are more than {settings.most_nodes} (most_nodes)"
        return LoadPlan((), text, Reason.PHASE_UNREACHABLE)
    target = _shares(phase, settings)
    more = LoadShares(target.cpu_ratio + AHEAD_CPU_RATIO, target.memory_ratio)
    below = [node for node in nodes if node.shares.pressure < target.pressure]
    least = _chosen(below, turn) if below else None
    loads: list[PlannedLoad] = []
    reached: list[float] = []
    for number, node in enumerate(nodes):
        wanted = target if node is least else more
        if node.shares.pressure >= wanted.pressure:
            reached.append(node.shares.pressure)
            continue
        if not node.schedulable:
            text = f"node {node.name} is on but takes no pods, and would stay the idlest"
            return LoadPlan((), text, Reason.PHASE_UNREACHABLE)
        load, pressure = _fill(f"exercise-{phase.index}-{number}", node, wanted)
        # Where namespaces are named, no node is written on which something asks to be left alone.
        fixed = phase.kind is ActionKind.MEMORY_BALLOON
        loads.append(replace(load, protected=node is not least, fixed_memory=fixed))
        reached.append(pressure)
    if not phase.band[0] <= min(reached) < phase.band[1]:
        text = f"the idlest node would have demand {min(reached):.3f}, outside the phase's band"
        return LoadPlan((), text, Reason.PHASE_UNREACHABLE)
    if max(reached) >= THROTTLE_FROM:
        text = f"the fullest node would have risk {max(reached):.3f} and agent A would act"
        return LoadPlan((), text, Reason.PHASE_UNREACHABLE)
    return LoadPlan(tuple(loads), f"{_shares_text(target)} of each of {len(nodes)} nodes")


def _on_one_node(
    phase: Phase, nodes: Sequence[NodeLoad], settings: ExerciserSettings, turn: int
) -> LoadPlan:
    target = _shares(phase, settings)
    candidates = [node for node in nodes if node.schedulable and node.calm]
    if not candidates:
        return LoadPlan((), "no node is calm and takes pods", Reason.NO_NODES)
    if phase.parts > 1:
        roomy = [node for node in candidates if _has_refuge(node, nodes, target, phase.parts)]
        candidates = roomy or candidates
    chosen = _chosen(candidates, turn)
    load, pressure = _fill(f"exercise-{phase.index}", chosen, target)
    if not phase.band[0] <= pressure < phase.band[1]:
        text = f"node {chosen.name} would have risk {pressure:.3f}, outside the phase's band"
        return LoadPlan((), text, Reason.PHASE_UNREACHABLE)
    rivals = [node for node in nodes if node is not chosen]
    worst = max(rivals, key=lambda node: (not node.calm, node.shares.pressure), default=None)
    if worst is not None and (not worst.calm or worst.shares.pressure >= pressure):
        text = f"node {worst.name} is at higher risk than the phase would bring about"
        return LoadPlan((), text, Reason.PHASE_UNREACHABLE)
    return LoadPlan(_parts(load, phase.parts), f"{_shares_text(target)} of node {chosen.name}")


def _chosen(nodes: Sequence[NodeLoad], turn: int) -> NodeLoad:
    """Return the node of this turn: one without pods of others, which an action might concern; else the idlest."""
    free = [node for node in nodes if not node.pods]
    if free:
        return free[turn % len(free)]
    return min(nodes, key=lambda node: (node.shares.pressure, node.name))


def _has_refuge(node: NodeLoad, nodes: Sequence[NodeLoad], target: LoadShares, parts: int) -> bool:
    """Say whether a part of the load that a node gets also fits somewhere else."""
    load = _parts(_fill("", node, target)[0], parts)[0]
    return any(
        other.schedulable
        and load.cpu_millicores <= other.cpu_millicores - other.cpu_requested_millicores
        and load.memory_bytes <= other.memory_bytes - other.memory_requested_bytes
        for other in nodes
        if other is not node
    )


def _parts(load: PlannedLoad, parts: int) -> tuple[PlannedLoad, ...]:
    """Return a load as so many Deployments of one pod each, their amounts rounded up."""
    if parts == 1:
        return (load,)
    cpu, memory = math.ceil(load.cpu_millicores / parts), math.ceil(load.memory_bytes / parts)
    part = replace(load, cpu_millicores=cpu, memory_bytes=memory, movable=True)
    return tuple(replace(part, name=f"{load.name}-{number}") for number in range(parts))


def _unschedulable(phase: Phase, waiting_pods: int, settings: ExerciserSettings) -> LoadPlan:
    replicas = max(0, phase.queue - waiting_pods)
    queue = replicas + waiting_pods
    if not phase.queue_band[0] <= queue < phase.queue_band[1]:
        text = f"{waiting_pods} pods of others wait already; the queue would be {queue}"
        return LoadPlan((), text, Reason.PHASE_UNREACHABLE)
    cpu, memory = waiting_size(phase, randomise=settings.randomise, seed=settings.seed)
    name = f"exercise-{phase.index}"
    jobs = min(WAITING_JOBS, replicas // phase.job_pods) if phase.job_pods else 0
    rest = replicas - jobs * phase.job_pods
    loads = [PlannedLoad(name, rest, cpu, memory)] if rest else []
    loads += [
        PlannedLoad(f"{name}-job-{number}", phase.job_pods, cpu, memory, kind="Job")
        for number in range(jobs)
    ]
    text = f"{replicas} pods that fit nowhere, beside {waiting_pods} of others"
    return LoadPlan(tuple(loads), text)


def _shares(phase: Phase, settings: ExerciserSettings) -> LoadShares:
    shares = phase_shares(phase, randomise=settings.randomise, seed=settings.seed)
    assert shares is not None
    return shares


def _fill(name: str, node: NodeLoad, target: LoadShares) -> tuple[PlannedLoad, float]:
    """Return the load that lifts a node to the wanted shares, and the pressure it then has."""
    cpu = _amount_to_reach(target.cpu_ratio, node.cpu_millicores, node.cpu_requested_millicores)
    memory = _amount_to_reach(target.memory_ratio, node.memory_bytes, node.memory_requested_bytes)
    shares = LoadShares(
        _share(node.cpu_requested_millicores + cpu, node.cpu_millicores),
        _share(node.memory_requested_bytes + memory, node.memory_bytes),
    )
    return PlannedLoad(name, 1, cpu, memory, node.name), shares.pressure


def _amount_to_reach(ratio: float, allocatable: int, requested: int) -> int:
    return max(0, math.ceil(min(ratio, MOST_RATIO) * allocatable) - requested)


def _share(requested: int, allocatable: int) -> float:
    return requested / allocatable if allocatable else 1.0


def _shares_text(shares: LoadShares) -> str:
    return f"{shares.cpu_ratio:.0%} of the CPU and {shares.memory_ratio:.0%} of the memory"
