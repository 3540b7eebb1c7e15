"""Disruption commands under way: replacements first, then the nodes that they replace
(pkg/controllers/disruption/queue.go).
"""

from __future__ import annotations

from dataclasses import dataclass

from twin.config.provisioning import KarpenterConfig
from twin.part import Part, keepable
from twin.provisioners.client import Client
from twin.provisioners.karpenter.claims import INITIALIZED, is_true, set_status
from twin.provisioners.karpenter.names import DISRUPTED
from twin.provisioners.karpenter.recorder import Recorder
from twin.provisioners.karpenter.state_node import StateNode
from twin.records import NodeRecord
from twin.world import World

_LOOK_SECONDS = 1.0  # queueBaseDelay
_SOON_SECONDS = 0.05


@keepable
@dataclass(slots=True, eq=False)
class Command:
    """Nodes that go, and the NodeClaims that have to be ready before."""

    number: int
    reason: str
    names: list[str]
    replacements: list[str]
    begun_at: float


class Queue(Part):
    """Commands by number."""

    KEEPS = ("commands", "_count")

    def __init__(
        self, world: World, client: Client, recorder: Recorder, config: KarpenterConfig
    ) -> None:
        self._clock = world.clock
        self._client = client
        self._recorder = recorder
        self._config = config
        self.commands: dict[int, Command] = {}
        self._count = 0
        self._clock.handle("karpenter.command", self._look)

    def marked(self) -> list[str]:
        """Return the nodes that commands take away."""
        return [name for command in self.commands.values() for name in command.names]

    def has(self, name: str) -> bool:
        """True for a node that a command takes away."""
        return any(name in command.names for command in self.commands.values())

    def mark(self, names: list[str], reason: str) -> None:
        """Taint nodes and say on their NodeClaims why."""
        for name in names:
            node = self._client.node(name)
            claim = self._client.find("nodeclaims", "", name)
            if node is not None:
                taint(self._client, node)
            if claim is not None:
                condition = {"DisruptionReason": ("True", reason, reason)}
                set_status(self._client, claim, condition)

    def start(self, names: list[str], replacements: list[str], reason: str) -> None:
        """Take nodes away once their replacements are ready."""
        self._count += 1
        self.commands[self._count] = Command(
            self._count, reason, names, replacements, self._client.now
        )
        self._clock.after(_SOON_SECONDS, "karpenter.command", self._count)

    def free_others(self, disrupted: list[StateNode]) -> None:
        """Take the taint off nodes that no command takes away, of those that carry it or say why."""
        for state in disrupted:
            leaving = any(
                record is not None and record.deletion_at is not None
                for record in (state.node, state.claim)
            )
            if not leaving and not self.has(state.name):
                self._free(state.name)

    def _look(self, number: int) -> None:
        command = self.commands.get(number)
        if command is None:
            return
        waiting = False
        for name in command.replacements:
            claim = self._client.find("nodeclaims", "", name)
            if claim is None or claim.deletion_at is not None:
                self._give_up(command)
                return
            text = f"Launching NodeClaim: {command.reason}"
            self._recorder.say(claim, "NodeClaim", "DisruptionLaunching", text)
            if not is_true(claim, INITIALIZED):
                text = "Waiting on readiness to continue disruption"
                self._recorder.say(claim, "NodeClaim", "DisruptionWaitingReadiness", text)
                waiting = True
        if waiting:
            if self._client.now - command.begun_at > self._config.replacement_seconds:
                self._give_up(command)
            else:
                self._clock.after(_LOOK_SECONDS, "karpenter.command", number)
            return
        for name in command.names:
            self._terminate(name, command.reason)
        del self.commands[number]

    def _terminate(self, name: str, reason: str) -> None:
        node, claim = self._client.node(name), self._client.find("nodeclaims", "", name)
        self._client.delete("nodeclaims", "", name)
        if node is not None:
            text = f"Disrupting Node: {reason}"
            self._recorder.say(node, "Node", "DisruptionTerminating", text)
        if claim is not None:
            text = f"Disrupting NodeClaim: {reason}"
            self._recorder.say(claim, "NodeClaim", "DisruptionTerminating", text)

    def _give_up(self, command: Command) -> None:
        del self.commands[command.number]
        for name in command.names:
            self._free(name)

    def _free(self, name: str) -> None:
        node, claim = self._client.node(name), self._client.find("nodeclaims", "", name)
        if node is not None:
            rest = tuple(one for one in node.taints if one["key"] != DISRUPTED["key"])
            self._client.set_node(node, taints=rest)
        if claim is not None and is_true(claim, "DisruptionReason"):
            set_status(self._client, claim, {"DisruptionReason": ("", "", "")})


def taint(client: Client, node: NodeRecord) -> None:
    """Keep new pods off a node."""
    if not any(one["key"] == DISRUPTED["key"] for one in node.taints):
        client.set_node(node, taints=(*node.taints, DISRUPTED))
