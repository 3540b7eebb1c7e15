"""VolumeBinding: a pod waits for its claims, and goes where their volumes can be used.

Upstream: pkg/scheduler/framework/plugins/volumebinding (v1.36). Claims that wait for their first
consumer get a volume when their pod gets its node, in the same moment. Capacities that CSI drivers
publish are not read, and neither VolumeRestrictions nor NodeVolumeLimits are checked.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from twin.records import NodeRecord, Object, ObjectRecord, PodRecord
from twin.scheduling.node_table import Flags, NodeTable
from twin.scheduling.placement_rules import term_selects
from twin.volumes.binding import CLAIMS, SIMULATED, VOLUMES, Volumes
from twin.volumes.rules import (
    SELECTED_NODE,
    claim_names,
    class_of,
    ephemeral_name,
    is_for_pod,
    is_fully_bound,
    phase_of,
    requested_size,
    spec_of,
    volume_on_node,
    waits_for_consumer,
)
from twin.world import World

PLUGIN = "VolumeBinding"
AFFINITY = "node(s) didn't match PersistentVolume's node affinity"
NO_VOLUME = "node(s) didn't find available persistent volumes to bind"
GONE = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"
IMMEDIATE = "pod has unbound immediate PersistentVolumeClaims"
_NO_PROVISIONER = ("", "kubernetes.io/no-provisioner")


@dataclass(frozen=True, slots=True)
class Choice:
    """What the claims of a pod would get on one node."""

    reason: str = ""
    """Why it cannot go there, in the scheduler's words; empty when it can."""
    found: tuple[tuple[ObjectRecord, ObjectRecord], ...] = ()
    """Claims with the volumes that they would be bound to."""
    made: tuple[ObjectRecord, ...] = ()
    """Claims for which a volume would be made."""


class VolumeBinding:
    """The claims of pods, as the scheduler looks at them."""

    def __init__(self, world: World, nodes: NodeTable) -> None:
        """Look claims and volumes up in a world."""
        self._world = world
        self.nodes = nodes
        self._volumes = Volumes(world)

    def problem(self, pod: PodRecord) -> str:
        """Return what keeps a pod from every node, in the scheduler's words, or nothing."""
        for volume in pod.shape.spec.get("volumes") or ():
            source, ephemeral = volume.get("persistentVolumeClaim"), volume.get("ephemeral")
            if not source and not ephemeral:
                continue
            name = source["claimName"] if source else ephemeral_name(pod.name, volume)
            claim = self._volumes.claim(pod.namespace, name)
            if claim is None and ephemeral:
                return f'waiting for ephemeral volume controller to create the persistentvolumeclaim "{name}"'
            if claim is None:
                return f'persistentvolumeclaim "{name}" not found'
            if phase_of(claim) == "Lost":
                lost = spec_of(claim).get("volumeName", "")
                return f'persistentvolumeclaim "{name}" bound to non-existent persistentvolume "{lost}"'
            if claim.deletion_at is not None:
                return f'persistentvolumeclaim "{name}" is being deleted'
            if ephemeral and not is_for_pod(claim, pod.uid):
                place = f"{pod.namespace}/{pod.name}"
                return (
                    f"PVC {pod.namespace}/{name} was not created for pod {place} (pod is not owner)"
                )
        claims = self._claims(pod)
        waits = any(not is_fully_bound(one) and not self._is_delayed(one) for one in claims)
        return IMMEDIATE if waits else ""

    def filter(self, pod: PodRecord) -> VolumesFilter | None:
        """Return the answer for one pod on all nodes, None for a pod without claims."""
        if not pod.shape.spec.get("volumes"):
            return None
        claims = self._claims(pod)
        return VolumesFilter(self, claims) if claims else None

    def bind(self, pod: PodRecord, node: str) -> bool:
        """Bind the claims of a pod that goes to a node; False while one has to be waited for."""
        target = self._world.node(node)
        claims = self._claims(pod) if pod.shape.spec.get("volumes") else []
        if target is None or not claims:
            return True
        choice = self.choose(claims, target)
        for claim, volume in choice.found:
            self._volumes.bind(volume, claim)
        for claim in choice.made:
            notes = {**claim.annotations, SELECTED_NODE: node}
            self._volumes.write(CLAIMS, claim, annotations=notes)
            storage_class = self._volumes.class_by_name(class_of(claim))
            if storage_class is not None and storage_class.body.get("provisioner") == SIMULATED:
                self._volumes.provision(claim, storage_class)
        return all(map(is_fully_bound, claims))

    def choose(self, claims: Iterable[ObjectRecord], node: NodeRecord) -> Choice:
        """Return what claims would get on a node."""
        found: list[tuple[ObjectRecord, ObjectRecord]] = []
        made: list[ObjectRecord] = []
        for claim in sorted(claims, key=requested_size):
            spec, selected = spec_of(claim), claim.annotations.get(SELECTED_NODE)
            if is_fully_bound(claim):
                volume = self._volumes.volume(spec["volumeName"])
                if volume is None or not _reaches(volume, node):
                    return Choice(GONE if volume is None else AFFINITY)
                continue
            if selected is None:
                taken = {volume.name for _, volume in found}
                free = (one for one in self._volumes.all(VOLUMES) if one.name not in taken)
                volume = volume_on_node(claim, free, lambda one: _reaches(one, node))
                if volume is not None:
                    found.append((claim, volume))
                    continue
            if selected not in (None, node.name) or not self._can_provision(claim, node):
                return Choice(NO_VOLUME)
            made.append(claim)
        return Choice("", tuple(found), tuple(made))

    def node(self, row: int) -> NodeRecord | None:
        """Return the node of a row."""
        return self._world.node(self.nodes.names[row])

    def _claims(self, pod: PodRecord) -> list[ObjectRecord]:
        names = claim_names(pod.name, pod.shape.spec)
        found = (self._volumes.claim(pod.namespace, name) for name in names)
        return [claim for claim in found if claim is not None]

    def _is_delayed(self, claim: ObjectRecord) -> bool:
        storage_class = self._volumes.class_by_name(class_of(claim))
        return waits_for_consumer(storage_class) and not spec_of(claim).get("volumeName")

    def _can_provision(self, claim: ObjectRecord, node: NodeRecord) -> bool:
        storage_class = self._volumes.class_by_name(class_of(claim))
        if storage_class is None or storage_class.body.get("provisioner") in _NO_PROVISIONER:
            return False
        topologies = storage_class.body.get("allowedTopologies") or ()
        return not topologies or any(_is_in(term, node) for term in topologies)


class VolumesFilter:
    """The answer for one pod on all nodes."""

    plugin = PLUGIN

    def __init__(self, binding: VolumeBinding, claims: list[ObjectRecord]) -> None:
        self._binding = binding
        self._claims = claims

    def passing(self) -> Flags:
        """Return the rows where the pod's volumes can be used."""
        nodes = self._binding.nodes
        mask = np.ones(nodes.count, np.bool_)
        for row in range(nodes.count):
            if self.reason(row):
                mask[row] = False
        return mask

    def reasons(self) -> list[tuple[str, Flags, bool]]:
        """Return (reason, rows, False): taking pods away does not help."""
        said = [self.reason(row) for row in range(self._binding.nodes.count)]
        return [
            (text, np.array([one == text for one in said], np.bool_), False)
            for text in (AFFINITY, NO_VOLUME, GONE)
        ]

    def trial(self, row: int) -> VolumesTrial:
        """Return one node; other pods make no difference to it."""
        return VolumesTrial(self.reason(row))

    def reason(self, row: int) -> str:
        """Return why the pod's volumes cannot be used on a node, or nothing."""
        node = self._binding.node(row)
        return "" if node is None else self._binding.choose(self._claims, node).reason


@dataclass(frozen=True, slots=True)
class VolumesTrial:
    """One node, where other pods come and go without a difference."""

    reason: str

    def shift(self, pod: PodRecord, sign: int) -> None:
        """Put a pod on the node (1) or take it away (-1)."""

    def reasons(self) -> tuple[str, ...]:
        """Return the reasons against the node."""
        return (self.reason,) if self.reason else ()


def _reaches(volume: ObjectRecord, node: NodeRecord) -> bool:
    """Say whether a volume can be used on a node."""
    required = (spec_of(volume).get("nodeAffinity") or {}).get("required")
    terms = (required or {}).get("nodeSelectorTerms") or ()
    return required is None or any(term_selects(term, node) for term in terms)


def _is_in(term: Object, node: NodeRecord) -> bool:
    rules = term.get("matchLabelExpressions") or ()
    return all(node.labels.get(rule["key"]) in (rule.get("values") or ()) for rule in rules)
