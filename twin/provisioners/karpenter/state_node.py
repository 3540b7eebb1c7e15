"""A node and its NodeClaim seen as one (pkg/controllers/state/statenode.go)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from twin.provisioners.karpenter.names import EPHEMERAL, INITIALIZED, REGISTERED
from twin.records import NodeRecord, Object, ObjectRecord
from twin.scheduling.placement_rules import UNSCHEDULABLE_TAINT


@dataclass(frozen=True, slots=True, eq=False)
class StateNode:
    """A node, its NodeClaim, or both."""

    node: NodeRecord | None
    claim: ObjectRecord | None
    marked: bool
    """Chosen by a disruption command that has begun."""

    @property
    def name(self) -> str:
        """Name of the node, or of the NodeClaim while there is no node."""
        return self.node.name if self.node is not None else self.record.name

    @property
    def record(self) -> NodeRecord | ObjectRecord:
        """The node if there is one, else the NodeClaim."""
        found = self.node if self.node is not None else self.claim
        assert found is not None
        return found

    @property
    def registered(self) -> bool:
        """True when the node has joined; always, for one that Karpenter does not manage."""
        if self.claim is None:
            return True
        return self.node is not None and self.node.labels.get(REGISTERED) == "true"

    @property
    def initialized(self) -> bool:
        """True when the node is ready for good; always, for one that Karpenter does not manage."""
        if self.claim is None:
            return True
        return self.node is not None and self.node.labels.get(INITIALIZED) == "true"

    @property
    def deleting(self) -> bool:
        """True when the node is on its way out."""
        return self.marked or any(
            record is not None and record.deletion_at is not None
            for record in (self.node, self.claim)
        )

    @property
    def labels(self) -> Mapping[str, str]:
        """Labels of the node once it is registered, of the NodeClaim before."""
        use_node = self.node is not None and self.registered
        source = self.node if use_node else self.claim
        assert source is not None
        return source.labels

    def taints(self) -> tuple[Object, ...]:
        """Return what keeps pods away for good, not what goes when the node has started."""
        if self.claim is not None and not self.registered:
            return tuple(self.claim.body["spec"].get("taints") or ())
        assert self.node is not None
        taints = self.node.taints
        if self.node.unschedulable:
            taints = (*taints, UNSCHEDULABLE_TAINT)
        if self.claim is None or self.initialized:
            return taints
        starting = self.claim.body["spec"].get("startupTaints") or ()
        keys = EPHEMERAL | {taint["key"] for taint in starting}
        return tuple(taint for taint in taints if taint["key"] not in keys)
