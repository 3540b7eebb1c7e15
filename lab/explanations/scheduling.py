"""Why a pod is on no node: per node the first filter that rejects it, and what preemption could do.

Source of every rule: kube-scheduler 1.36, as `twin.scheduling` follows it, with its default profile.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from lab.explanations.frozen_cluster import FrozenCluster
from twin.records import PodRecord
from twin.scheduling.cycle import NODE_RULES, Cycle, Diagnosis
from twin.scheduling.placement_rules import (
    AFFINITY,
    CONFLICT,
    NAMED_ELSEWHERE,
    TAINTED,
    UNSCHEDULABLE,
    names_conflict,
)
from twin.scheduling.sentences import NO_CLAIMS, NO_NODES, early_error, fit_error

_PLUGIN_OF_RULE = {
    UNSCHEDULABLE: "NodeUnschedulable",
    TAINTED: "TaintToleration",
    AFFINITY: "NodeAffinity",
    NAMED_ELSEWHERE: "NodeAffinity",
}
DEFAULT_SCHEDULER = "default-scheduler"


@dataclass(frozen=True, slots=True)
class NodeVerdict:
    """What the first filter that rejects a node says."""

    node: str
    plugin: str
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Preempts:
    """What preemption would do: nobody, with the reason, or pods of one node."""

    sentence: str
    node: str = ""
    victims: tuple[str, ...] = ()
    """`namespace/name`."""
    violations: int = 0
    """Of the victims, how many a PodDisruptionBudget protects."""


@dataclass(frozen=True, slots=True)
class SchedulingAnswer:
    """What the scheduler finds for one pod at one moment."""

    pod: str
    nodes: int
    feasible: tuple[str, ...]
    """Nodes that would take it now."""
    verdicts: tuple[NodeVerdict, ...]
    counts: dict[str, int]
    """How many nodes each reason rejects: a node may lack several resources."""
    sentence: str
    """In the scheduler's own words; empty where a node would take it."""
    preempts: Preempts | None
    """None where preemption is not asked."""


def first_obstacle(pod: PodRecord) -> str:
    """Return why the default scheduler does not look at a pod at all; empty where it does."""
    name = pod.shape.spec.get("schedulerName", DEFAULT_SCHEDULER)
    if pod.node_name:
        return f"it is on {pod.node_name}"
    if pod.terminal:
        return f"it has ended ({pod.phase})"
    if pod.deletion_at is not None:
        return "it is being deleted"
    if pod.shape.needs.gates:
        return f"scheduling gates hold it: {', '.join(pod.shape.needs.gates)}"
    if name != DEFAULT_SCHEDULER:
        return f"it asks for the scheduler {name}, whose rules are not known here"
    return ""


def explain_scheduling(cluster: FrozenCluster, pod: PodRecord) -> SchedulingAnswer:
    """Return what each node says to a pod, which is taken as if it were on none."""
    total, name = cluster.nodes.existing, f"{pod.namespace}/{pod.name}"
    if not total:
        return SchedulingAnswer(name, 0, (), (), {}, NO_NODES, None)
    if problem := early_problem(cluster, pod):
        counts = {problem: total}
        return SchedulingAnswer(name, total, (), (), counts, early_error(total, problem), None)
    cycle = cycle_of(cluster, pod)
    mask = cycle.feasible()
    feasible = tuple(cluster.nodes.names[row] for row in cluster.rows() if mask[row])
    verdicts = _verdicts(cluster, cycle)
    counts = Counter(reason for one in verdicts for reason in one.reasons)
    ordered = dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
    if feasible:
        return SchedulingAnswer(name, total, feasible, verdicts, ordered, "", None)
    diagnosis = cycle.diagnose()
    preempts = _preempts(cluster, cycle, diagnosis)
    sentence = fit_error(diagnosis.nodes, diagnosis.reasons)
    if not preempts.victims:
        sentence = f"{sentence} {NO_CLAIMS}, {preempts.sentence}"
    return SchedulingAnswer(name, total, (), verdicts, ordered, sentence, preempts)


def early_problem(cluster: FrozenCluster, pod: PodRecord) -> str:
    """Return what keeps a pod from every node before one is looked at; empty for nothing."""
    if names_conflict(pod.shape.node_affinity):
        return CONFLICT
    return cluster.plugins.volumes.problem(pod) if pod.shape.spec.get("volumes") else ""


def cycle_of(cluster: FrozenCluster, pod: PodRecord) -> Cycle:
    """Return the filters of a pod; others of at least its priority that nodes are promised to keep their room."""
    reserved = [
        (cluster.nodes.row_of[other.nominated_node], other)
        for other in cluster.world.pods.values()
        if not other.node_name
        and other.nominated_node in cluster.nodes.row_of
        and other.uid != pod.uid
        and other.shape.priority >= pod.shape.priority
    ]
    return Cycle(cluster.plugins, pod, reserved)


def _verdicts(cluster: FrozenCluster, cycle: Cycle) -> tuple[NodeVerdict, ...]:
    refused = cycle.refusals_by_row()
    return tuple(
        NodeVerdict(cluster.nodes.names[row], _plugin(*refused[row]), refused[row][1])
        for row in cluster.rows()
        if row in refused
    )


def _plugin(plugin: str, reasons: tuple[str, ...]) -> str:
    return _PLUGIN_OF_RULE.get(reasons[0], plugin) if plugin == NODE_RULES else plugin


def _preempts(cluster: FrozenCluster, cycle: Cycle, diagnosis: Diagnosis) -> Preempts:
    outcome = cluster.preemption.find(cycle, diagnosis)
    if outcome.candidate is None:
        return Preempts(outcome.sentence)
    chosen = outcome.candidate
    victims = tuple(f"{one.namespace}/{one.name}" for one in chosen.victims)
    node = cluster.nodes.names[chosen.row]
    return Preempts("", node, victims, chosen.violations)
