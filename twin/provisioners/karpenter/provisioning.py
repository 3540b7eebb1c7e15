"""From waiting pods to NodeClaims, a batch at a time
(pkg/controllers/provisioning/{batcher,provisioner,controller}.go).
"""

from __future__ import annotations

from twin.changes import Change
from twin.config.provisioning import KarpenterConfig
from twin.part import Part
from twin.provisioners.client import Client, is_daemon, waits_for_room
from twin.provisioners.karpenter.claims import claim_object
from twin.provisioners.karpenter.existing import Existing
from twin.provisioners.karpenter.names import DISRUPTED
from twin.provisioners.karpenter.recorder import Recorder
from twin.provisioners.karpenter.solver import Solution, Solver
from twin.provisioners.karpenter.state import ClusterState
from twin.records import NodeRecord, ObjectRecord, PodRecord
from twin.world import World

_FAILED_SECONDS = 300.0  # dedupe of FailedScheduling (scheduling/events.go)


class Provisioning(Part):
    """Batches pods and orders machines for them."""

    KEEPS = ("nominated_until", "_begun_at", "_number", "_seen")

    def __init__(
        self,
        world: World,
        client: Client,
        state: ClusterState,
        recorder: Recorder,
        config: KarpenterConfig,
    ) -> None:
        self._clock = world.clock
        self._client = client
        self._state = state
        self._recorder = recorder
        self._config = config
        self.nominated_until: dict[str, float] = {}  # by node or NodeClaim
        self._begun_at = -1.0  # of the open batch; below zero without one
        self._number = 0
        self._seen: dict[str, None] = {}  # uids in the open batch
        for kind, handler in (
            ("karpenter.batch", self._end_batch),
            ("karpenter.retry", self._retry),
            ("karpenter.retry_node", self._retry_node),
        ):
            self._clock.handle(kind, handler)

    def follow(self, change: Change) -> None:
        """Count a pod that has just found no node, or a node that is being drained, into the batch."""
        record, before = change.record, change.before
        if isinstance(record, PodRecord) and _waits(record):
            if not (isinstance(before, PodRecord) and _waits(before)):
                self._trigger(record.uid)
                self._clock.after(self._config.requeue_seconds, "karpenter.retry", record.uid)
        elif isinstance(record, NodeRecord) and _is_disrupted(record):
            if isinstance(before, NodeRecord) and _is_disrupted(before):
                return
            self._trigger(record.uid)
            wait = self._config.requeue_seconds
            self._clock.after(wait, "karpenter.retry_node", record.name, record.uid)

    def nominated(self) -> dict[str, float]:
        """Return the nodes that a pod was lately promised to, and until when that counts."""
        now = self._client.now
        return {name: until for name, until in self.nominated_until.items() if until > now}

    def nominate(self, entry: Existing) -> None:
        """Promise a node to the pods that a run has put there, and say so."""
        window = max(2.0 * self._config.batch_most_seconds, 10.0)
        self.nominated_until[entry.place.name] = self._client.now + window
        parts = [f"nodeclaim/{entry.claim}"] if entry.claim else []
        parts += [f"node/{entry.node}"] if entry.node else []
        for pod in entry.added:
            self._say_nominated(pod, ", ".join(parts))

    def order(
        self, solution: Solution, solver: Solver, *, nominates: bool = True
    ) -> list[ObjectRecord]:
        """Create the NodeClaims of a solution."""
        made = []
        for machine in solution.machines:
            claim = self._client.create("nodeclaims", "", claim_object(machine, solver))
            made.append(claim)
            for pod in machine.pods if nominates else ():
                self._say_nominated(pod, f"nodeclaim/{claim.name}")
        return made

    # ---- batches

    def _trigger(self, uid: str) -> None:
        if uid in self._seen:
            return
        self._seen[uid] = None
        now = self._client.now
        if self._begun_at < 0.0:
            self._begun_at = now
        ends = min(
            now + self._config.batch_idle_seconds, self._begun_at + self._config.batch_most_seconds
        )
        self._number += 1
        self._clock.at(ends, "karpenter.batch", self._number)

    def _retry(self, uid: str) -> None:
        pod = self._client.pod(uid)
        if pod is not None and _waits(pod):
            self._trigger(uid)
            self._clock.after(self._config.requeue_seconds, "karpenter.retry", uid)

    def _retry_node(self, name: str, uid: str) -> None:
        node = self._client.node(name)
        if node is not None and node.uid == uid and _is_disrupted(node):
            self._trigger(uid)
            self._clock.after(self._config.requeue_seconds, "karpenter.retry_node", name, uid)

    def _end_batch(self, number: int) -> None:
        if number != self._number:
            return
        self._begun_at, self._seen = -1.0, {}
        pods = self._state.waiting_pods()
        for state in self._state.leaving():
            if state.node is not None:
                pods += self._state.movable(state.node.name)
        if not pods:
            return
        solver = self._state.solver()
        if not solver.pools:
            return
        solution = solver.solve(pods)
        for pod, error in solution.errors.values():
            text = f"Failed to schedule pod, {error}"
            self._recorder.say(pod, "Pod", "FailedScheduling", text, pod.uid, _FAILED_SECONDS)
        for entry in solution.existing:
            self.nominate(entry)
        self.order(solution, solver)
        self.nominated_until = self.nominated()

    def _say_nominated(self, pod: PodRecord, where: str) -> None:
        self._recorder.say(pod, "Pod", "Nominated", f"Pod should schedule on: {where}", pod.uid)


def _waits(pod: PodRecord) -> bool:
    return waits_for_room(pod) and not pod.nominated_node and not is_daemon(pod)


def _is_disrupted(node: NodeRecord) -> bool:
    return any(taint["key"] == DISRUPTED["key"] for taint in node.taints)
