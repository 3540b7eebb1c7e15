"""Spot notices: the node is drained while its machine still runs, and what its pods need is ordered at once
(aws/karpenter-provider-aws pkg/controllers/interruption).

The message that EC2 puts into the interruption queue is here the taint that the cloud puts on the node with its
notice. The NodeClaim is deleted; draining and ordering follow from that, as after any other deletion.
"""

from __future__ import annotations

from twin.changes import Change
from twin.config.provisioning import KarpenterConfig
from twin.controllers.spot import TAINT
from twin.part import Part
from twin.provisioners.client import Client
from twin.provisioners.karpenter.lifecycle import Lifecycle
from twin.provisioners.karpenter.recorder import Recorder
from twin.records import NodeRecord, Record
from twin.world import World

_DELIVERY_SECONDS = 1.0  # from the notice through the queue, which is long-polled: our own choice


class Interruption(Part):
    """Keeps nothing: a notice that is on its way stands in the clock."""

    def __init__(
        self,
        world: World,
        client: Client,
        lifecycle: Lifecycle,
        recorder: Recorder,
        config: KarpenterConfig,
    ) -> None:
        self._clock = world.clock
        self._client = client
        self._lifecycle = lifecycle
        self._recorder = recorder
        self._listens = bool(config.interruption_queue)
        self._clock.handle("karpenter.interruption", self._interrupt)

    def follow(self, change: Change) -> None:
        """Receive the notice that a node has just got; without a queue there is none."""
        node, before = change.record, change.before
        if not self._listens or not isinstance(node, NodeRecord) or change.type == "DELETED":
            return
        if _has_notice(node) and not (isinstance(before, NodeRecord) and _has_notice(before)):
            self._clock.after(_DELIVERY_SECONDS, "karpenter.interruption", node.name, node.uid)

    def _interrupt(self, name: str, uid: str) -> None:
        """Say what was heard, and delete the NodeClaim; a node without one is not Karpenter's."""
        claim, node = self._client.find("nodeclaims", "", name), self._client.node(name)
        if claim is None or node is None or node.uid != uid:
            return
        about: tuple[tuple[Record, str], ...] = ((claim, "NodeClaim"), (node, "Node"))
        for record, kind in about:
            text = "Spot interruption warning was triggered"
            self._recorder.say(record, kind, "SpotInterrupted", text)
        self._lifecycle.avoid_spot(claim)
        if claim.deletion_at is not None:
            return
        self._client.delete("nodeclaims", "", name)
        for record, kind in about:
            text = f"Interruption triggered termination for the {kind}"
            self._recorder.say(record, kind, "TerminatingOnInterruption", text)


def _has_notice(node: NodeRecord) -> bool:
    return any(taint["key"] == TAINT for taint in node.taints)
