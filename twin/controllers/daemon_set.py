"""DaemonSet: one pod on every node that takes it.

Each pod is made for one node, by required affinity to its name, and bound by the scheduler, as
upstream does since 1.12; it tolerates what upstream's daemon pods tolerate, so it stays on a node
that fails and starts on a cordoned one. Rolling updates: `daemon_rollout.py`.
Source: kubernetes/kubernetes pkg/controller/daemon.
"""

from __future__ import annotations

from collections.abc import Sequence

from twin.admission.workloads import TEMPLATE_GENERATION
from twin.changes import Change
from twin.controllers.adoption import Adoption
from twin.controllers.daemon_rollout import NodeState, limits_of, replace, surge
from twin.controllers.loop import ControllerLoop
from twin.controllers.pods_of import create_pod, delete_pod, owned_pods, report, set_status
from twin.controllers.revisions import POD_REVISION, current_revision, forget_revisions
from twin.intake import pod_shape
from twin.part import Part
from twin.records import NodeRecord, Object, ObjectRecord, PodRecord, PodShape
from twin.scheduling.placement_rules import covers, refusal
from twin.world import World

_RESOURCE = "daemonsets"
GENERATION = "pod-template-generation"
TOLERATIONS: tuple[Object, ...] = tuple(
    {"key": f"node.kubernetes.io/{key}", "operator": "Exists", "effect": effect}
    for key, effect in (
        ("not-ready", "NoExecute"),
        ("unreachable", "NoExecute"),
        ("disk-pressure", "NoSchedule"),
        ("memory-pressure", "NoSchedule"),
        ("pid-pressure", "NoSchedule"),
        ("unschedulable", "NoSchedule"),
    )
)
"""What AddOrUpdateDaemonPodTolerations gives each pod (pkg/controller/daemon/util)."""

Verdicts = dict[str, tuple[bool, bool]]
"""By node: (a pod should start here, a pod that is here may stay)"""
Pods = dict[str, list[PodRecord]]
"""By the node that they are on or made for."""


class DaemonSets(Part):
    """Reconciles daemonsets."""

    KEEPS = ("_looks",)
    LEAVES = ("_verdicts",)  # pure results of the nodes and a template

    def __init__(self, world: World, loop: ControllerLoop, adoption: Adoption) -> None:
        self._world = world
        self._loop = loop
        self._adoption = adoption
        self._looks: dict[str, Object] = {}  # what placement depends on, by node, as last seen
        self._verdicts: dict[str, tuple[int, Verdicts]] = {}  # by uid, with the generation

    def follow_node(self, change: Change) -> None:
        """Look at every DaemonSet when a node came, went, or takes other pods than before."""
        node = change.record
        assert isinstance(node, NodeRecord)
        if not self._world.store.count(_RESOURCE):
            self._looks.clear()
            self._verdicts.clear()
            return
        look: Object = {"labels": node.labels, "taints": node.taints}
        if change.type != "DELETED" and self._looks.get(node.name) == look:
            return
        if change.type == "DELETED":
            self._looks.pop(node.name, None)
        else:
            self._looks[node.name] = look
        self._verdicts.clear()
        for record in self._world.store.records(_RESOURCE):
            self._loop.note(_RESOURCE, record.namespace, record.name)

    def reconcile(self, namespace: str, name: str) -> bool:
        """Make, replace and remove pods, then write the status; False when one was refused."""
        record = self._world.store.find(_RESOURCE, namespace, name)
        if not isinstance(record, ObjectRecord) or record.deletion_at is not None:
            return True
        self._adoption.claim(_RESOURCE, record)
        revision = current_revision(self._world, _RESOURCE, record)
        runs, by_node = self._runs(record), self._by_node(record)
        made, accepted = self._manage(record, revision, runs, by_node)
        if made:
            by_node = self._by_node(record)
        if (record.body["spec"].get("updateStrategy") or {}).get("type") != "OnDelete":
            accepted = self._roll(record, revision, runs, by_node) and accepted
            by_node = self._by_node(record)
        self._write_status(record, revision, runs, by_node)
        marks = {pod.labels.get(POD_REVISION, "") for pods in by_node.values() for pod in pods}
        in_use = {f"{record.name}-{mark}" for mark in marks}
        forget_revisions(self._world, record, {*in_use, revision.name})
        return accepted

    def _runs(self, record: ObjectRecord) -> Verdicts:
        known = self._verdicts.get(record.uid)
        if known is None or known[0] != record.generation:
            shape = _shape(record)
            nodes = [node for node in self._world.store.records("nodes")
                     if isinstance(node, NodeRecord) and node.deletion_at is None]  # fmt: skip
            known = (record.generation, {node.name: _verdict(node, shape) for node in nodes})
            self._verdicts[record.uid] = known
        return known[1]

    # ---- pods

    def _manage(
        self, record: ObjectRecord, revision: ObjectRecord, runs: Verdicts, by_node: Pods
    ) -> tuple[bool, bool]:
        """Remove what does not belong and make missing pods; returns (any made, none refused)."""
        for node, pods in by_node.items():
            stays = runs.get(node, (False, False))[1]
            live = [pod for pod in pods if pod.deletion_at is None]
            extra = {pod.uid for pod in self._second_pods(record, revision, live)}
            for pod in live:
                if pod.terminal:
                    self._report_ended(record, pod, node)
                    delete_pod(self._world, _RESOURCE, record, pod)
                elif not stays or pod.uid in extra:
                    delete_pod(self._world, _RESOURCE, record, pod)
        missing = [node for node, (starts, _) in runs.items() if starts and node not in by_node]
        accepted = all(self._create(record, revision, node) for node in missing)
        return bool(missing), accepted

    def _second_pods(
        self, record: ObjectRecord, revision: ObjectRecord, live: list[PodRecord]
    ) -> list[PodRecord]:
        """Return what a node has beyond one pod, or beyond an old and a new one during a surge."""
        healthy = sorted((p for p in live if not p.terminal), key=lambda p: (p.created_at, p.name))
        if len(healthy) <= 1 or not limits_of(record.body["spec"], 1).surge:
            return healthy[1:]
        mark = revision.labels[POD_REVISION]
        new = [pod for pod in healthy if pod.labels.get(POD_REVISION) == mark]
        old = [pod for pod in healthy if pod.labels.get(POD_REVISION) != mark]
        replaced = new and old and (not old[0].ready or self._available(record, new[0]))
        return [*new[1:], *(old if replaced else old[1:])]

    def _roll(
        self, record: ObjectRecord, revision: ObjectRecord, runs: Verdicts, by_node: Pods
    ) -> bool:
        """Take the next step of a rolling update; False when a pod was refused."""
        nodes = [node for node, (starts, _) in runs.items() if starts]
        limits = limits_of(record.body["spec"], len(nodes))
        states = {
            node: self._state(record, revision.labels[POD_REVISION], by_node.get(node, ()))
            for node in nodes
        }
        step = (surge if limits.surge else replace)(states, limits)
        for pod in step.delete:
            delete_pod(self._world, _RESOURCE, record, pod)
        return all(self._create(record, revision, node) for node in step.create)

    def _state(self, record: ObjectRecord, mark: str, pods: Sequence[PodRecord]) -> NodeState:
        live = [pod for pod in pods if not pod.terminal]
        new = [pod for pod in live if pod.labels.get(POD_REVISION) == mark]
        old = [pod for pod in live if pod.labels.get(POD_REVISION) != mark]
        return NodeState(
            new=new,
            old=old,
            new_available=any(self._available(record, pod) for pod in new),
            old_available=any(self._available(record, pod) for pod in old),
        )

    def _create(self, record: ObjectRecord, revision: ObjectRecord, node: str) -> bool:
        mark = revision.labels[POD_REVISION]
        labels = {
            **((record.body["spec"]["template"].get("metadata") or {}).get("labels") or {}),
            POD_REVISION: mark,
            GENERATION: record.annotations.get(TEMPLATE_GENERATION, "1"),
        }
        spec = _bind_to_node(daemon_spec(record), node)
        metadata = {"labels": labels}
        made = create_pod(
            self._world, _RESOURCE, record, metadata=metadata, spec=spec, stands_for=node
        )
        return made is None

    def _report_ended(self, record: ObjectRecord, pod: PodRecord, node: str) -> None:
        failed = pod.phase == "Failed"
        word, rest = ("failed", "kill") if failed else ("succeeded", "delete")
        text = f"Found {word} daemon pod {pod.namespace}/{pod.name} on node {node}, will try to "
        reason = "FailedDaemonPod" if failed else "SucceededDaemonPod"
        report(self._world, _RESOURCE, record, reason, f"{text}{rest} it")

    def _by_node(self, record: ObjectRecord) -> Pods:
        pods_by_node: Pods = {}
        for pod in owned_pods(self._world, record.uid):
            pods_by_node.setdefault(target_node(pod), []).append(pod)
        return pods_by_node

    def _available(self, record: ObjectRecord, pod: PodRecord) -> bool:
        least = record.body["spec"].get("minReadySeconds", 0)
        if not pod.ready or pod.deletion_at is not None:
            return False
        wait = pod.ready_at + least - self._world.now
        if least and wait > 0.0:
            self._loop.note_later(wait, _RESOURCE, record.namespace, record.name)
            return False
        return True

    # ---- status

    def _write_status(
        self, record: ObjectRecord, revision: ObjectRecord, runs: Verdicts, by_node: Pods
    ) -> None:
        mark = revision.labels[POD_REVISION]
        wanted_nodes = [node for node, (starts, _) in runs.items() if starts]
        first = {node: min(pods, key=lambda p: (p.created_at, p.name))
                 for node, pods in by_node.items()}  # fmt: skip
        scheduled = [first[node] for node in wanted_nodes if node in first]
        stray = [node for node in by_node if not runs.get(node, (False, False))[0]]
        available = sum(self._available(record, pod) for pod in scheduled)
        status: Object = {
            "currentNumberScheduled": len(scheduled),
            "numberMisscheduled": len(stray),
            "desiredNumberScheduled": len(wanted_nodes),
            "numberReady": sum(pod.ready for pod in scheduled),
            "observedGeneration": record.generation,
        }
        counts = {
            "updatedNumberScheduled": sum(p.labels.get(POD_REVISION) == mark for p in scheduled),
            "numberAvailable": available,
            "numberUnavailable": len(wanted_nodes) - available,
        }
        status.update({name: count for name, count in counts.items() if count})
        set_status(self._world, _RESOURCE, record, status)


def target_node(pod: PodRecord) -> str:
    """Return the node that a daemon pod is bound to or made for."""
    if pod.node_name:
        return pod.node_name
    for term in pod.shape.node_affinity:
        for field in term.get("matchFields") or ():
            if field.get("key") == "metadata.name" and field.get("values"):
                return str(field["values"][0])
    return ""


def daemon_spec(record: ObjectRecord) -> Object:
    """Return the spec of a DaemonSet's pods before they are bound to a node."""
    spec: Object = record.body["spec"]["template"]["spec"]
    known = spec.get("tolerations") or []
    added = [entry for entry in TOLERATIONS if entry not in known]
    if spec.get("hostNetwork"):
        key = "node.kubernetes.io/network-unavailable"
        added.append({"key": key, "operator": "Exists", "effect": "NoSchedule"})
    return {**spec, "tolerations": [*known, *added]}


def _bind_to_node(spec: Object, node: str) -> Object:
    """Return the spec with required affinity to one node by name, instead of any other."""
    affinity = spec.get("affinity") or {}
    field = {"key": "metadata.name", "operator": "In", "values": [node]}
    required = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    by_node = {**(affinity.get("nodeAffinity") or {}),
               "requiredDuringSchedulingIgnoredDuringExecution": required}  # fmt: skip
    return {**spec, "affinity": {**affinity, "nodeAffinity": by_node}}


def _shape(record: ObjectRecord) -> PodShape:
    return pod_shape(daemon_spec(record))


def _verdict(node: NodeRecord, shape: PodShape) -> tuple[bool, bool]:
    """Return (a pod should start here, a pod that is here may stay)."""
    if refusal(node, shape, ("NodeAffinity",)):
        return False, False
    open_ = [taint for taint in node.taints if taint["effect"] in ("NoSchedule", "NoExecute")
             and not any(covers(entry, taint) for entry in shape.tolerations)]  # fmt: skip
    return not open_, not any(taint["effect"] == "NoExecute" for taint in open_)
