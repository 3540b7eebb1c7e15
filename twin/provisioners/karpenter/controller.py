"""Karpenter as one: what it hears, what is there from the start, and the state that it writes on its
objects (pkg/controllers/controllers.go).
"""

from __future__ import annotations

from inputs.quantities import cpu_text, memory_text
from twin.changes import Change
from twin.controllers.conditions import set_condition
from twin.machines.cloud import Cloud
from twin.part import Part
from twin.provisioners.client import Client, is_daemon
from twin.provisioners.karpenter.candidate import quiet_since
from twin.provisioners.karpenter.candidates import DisruptionCandidates
from twin.provisioners.karpenter.claims import (
    INITIALIZED,
    LAUNCHED,
    holds,
    is_true,
    say_transitions,
    set_status,
)
from twin.provisioners.karpenter.commands import Queue
from twin.provisioners.karpenter.disruption import Disruption
from twin.provisioners.karpenter.interruption import Interruption
from twin.provisioners.karpenter.lifecycle import Lifecycle
from twin.provisioners.karpenter.memory import is_respecified
from twin.provisioners.karpenter.names import HASH, HASH_VERSION, POOL
from twin.provisioners.karpenter.pools import HASH_VERSION as VERSION
from twin.provisioners.karpenter.pools import Pool, read_pool
from twin.provisioners.karpenter.provisioning import Provisioning
from twin.provisioners.karpenter.recorder import Recorder
from twin.provisioners.karpenter.requirements import conflict, of_labels
from twin.provisioners.karpenter.state import ClusterState
from twin.provisioners.karpenter.state_node import StateNode
from twin.provisioners.karpenter.termination import Termination
from twin.records import NodeRecord, Object, ObjectRecord, PodRecord
from twin.timestamps import rfc3339
from twin.world import World

CLASS: Object = {"group": "karpenter.kwok.sh", "kind": "KWOKNodeClass", "name": "default"}
_QUIET_SECONDS = 10.0  # nodeclaim/podevents, dedupeTimeout
_STATUS_SECONDS = 1.0


class Karpenter(Part):
    """All controllers of Karpenter."""

    KEEPS = ("_pod_events", "_planned")
    LEAVES = ("_untold", "_restless")

    def __init__(self, world: World, cloud: Cloud, client: Client) -> None:
        self._world = world
        self._client = client
        self._config = config = world.config.provisioning.karpenter
        recorder = Recorder(client)
        self.lifecycle = Lifecycle(world, client, cloud, recorder, config)
        self.queue = Queue(world, client, recorder, config)
        self.state = ClusterState(
            client,
            cloud,
            config,
            self.lifecycle.is_available,
            self.queue.marked,
        )
        self.provisioning = Provisioning(world, client, self.state, recorder, config)
        self.termination = Termination(world, client, cloud, recorder, config)
        nominated = self.provisioning.nominated
        self.interruption = Interruption(world, client, self.lifecycle, recorder, config)
        found = DisruptionCandidates(client, cloud, self.state, recorder, nominated)
        self.disruption = Disruption(
            world, client, self.state, found, self.queue, self.provisioning, recorder, config
        )
        self._pod_events: dict[str, float] = {}  # by node: when a pod last came or went
        self._planned = False
        self._untold: dict[str, None] | None = None
        """NodeClaims that something was heard of since their status was written; None: of all."""
        self._restless: dict[str, float] = {}
        """Those that are not quiet for long enough yet, and when they will be (unix seconds)."""
        world.clock.handle("karpenter.status", self._write_status)

    def begin(self) -> None:
        """Make the node class, the default pool if one is wanted, and plan the first look."""
        metadata = {"name": "default"}
        self._client.create("kwoknodeclasses", "", {"metadata": metadata, "spec": {}})
        if self._config.default_pool:
            spec = {"template": {"spec": {"requirements": [], "nodeClassRef": CLASS}}}
            self._client.create("nodepools", "", {"metadata": metadata, "spec": spec})
        self.disruption.begin()

    def restored(self) -> None:
        """Look at every NodeClaim the next time."""
        self._untold, self._restless = None, {}

    def follow(self, change: Change) -> None:
        """Take in one change; nothing is written from here."""
        record = change.record
        self.state.follow(change)
        if change.resource == "nodepools":
            self._untold = None if is_respecified(change) else self._untold
        elif self._untold is not None and change.resource == "nodeclaims":
            self._untold[record.name] = None
        if change.resource not in ("pods", "nodes", "nodeclaims", "nodepools", "daemonsets"):
            return
        if isinstance(record, PodRecord):
            self._follow_pod(record, change)
        else:
            self.disruption.changes += int(
                change.resource != "nodeclaims" or change.type != "MODIFIED"
            )
            self.lifecycle.follow(change)
            self._plan_status()
        if isinstance(record, NodeRecord):
            self.termination.follow(change)
            self.interruption.follow(change)
        self.provisioning.follow(change)

    def _follow_pod(self, pod: PodRecord, change: Change) -> None:
        before = change.before if isinstance(change.before, PodRecord) else None
        bound = bool(pod.node_name) and (before is None or not before.node_name)
        ended = pod.terminal and not (before is not None and before.terminal)
        leaving = pod.deletion_at is not None and (before is None or before.deletion_at is None)
        if change.type == "DELETED" or bound or ended or leaving:
            self.disruption.changes += 1
        if not pod.node_name or is_daemon(pod) or not (bound or ended or leaving):
            return
        now = self._client.now
        if now - self._pod_events.get(pod.node_name, 0.0) >= _QUIET_SECONDS:
            self._pod_events[pod.node_name] = now
            if self._untold is not None:
                self._untold[pod.node_name] = None
            self._plan_status()

    def _plan_status(self) -> None:
        if not self._planned:
            self._planned = True
            self._world.clock.after(_STATUS_SECONDS, "karpenter.status")

    # ---- what it writes on its objects

    def _write_status(self) -> None:
        self._planned = False
        nodes = self.state.nodes()
        pools = {}
        for record in self._client.objects("nodepools"):
            if record.deletion_at is None:
                pools[record.name] = self._write_pool(record, nodes)
        untold, self._untold = self._untold, {}
        for state in nodes:
            if untold is not None and state.name not in untold and not self._is_due(state.name):
                continue
            if state.claim is not None and state.claim.deletion_at is None:
                self._write_claim(state.claim, pools.get(state.claim.labels.get(POOL, "")))
        names = self.state.names()
        self._restless = {name: at for name, at in self._restless.items() if name in names}
        self._pod_events = {name: at for name, at in self._pod_events.items() if name in names}

    def _is_due(self, name: str) -> bool:
        """True for a NodeClaim that was not quiet for long enough, and is now; and for the first that is not as
        long as no further look is planned, which plans one.
        """
        quiet_at = self._restless.get(name)
        return quiet_at is not None and (quiet_at <= self._client.now or not self._planned)

    def _write_pool(self, record: ObjectRecord, nodes: list[StateNode]) -> Pool:
        pool = read_pool(record)
        notes = {**record.annotations, HASH: pool.hash, HASH_VERSION: VERSION}
        self._client.set_metadata("nodepools", record, annotations=notes)
        total = self.state.resources_of(pool.name, nodes)
        resources = {
            "cpu": cpu_text(total["cpu"]),
            "memory": memory_text(total["memory"]),
            "pods": str(total["pods"]),
            "nodes": str(total["nodes"]),
        }
        rows = list((record.body.get("status") or {}).get("conditions") or ())
        known = {row["type"]: row["status"] for row in rows}
        ready = "True" if self.state.has_class(record) else "False"
        for kind, status in (
            ("ValidationSucceeded", "True"),
            ("NodeClassReady", ready),
            ("Ready", ready),
        ):
            reason = kind if status == "True" else "NodeClassNotFound"
            rows = set_condition(rows, kind, status, reason, "", rfc3339(self._client.now))
        written = {"resources": resources, "nodes": total["nodes"], "conditions": rows}
        self._client.set_object("nodepools", record, status=written)
        say_transitions(self._client, record, "NodePool", known, rows)
        return pool

    def _write_claim(self, claim: ObjectRecord, pool: Pool | None) -> None:
        """Write lastPodEventTime and the conditions Consolidatable and Drifted."""
        members: dict[str, object] = {}
        last = self._pod_events.get(claim.name)
        if last is not None:
            members["lastPodEventTime"] = rfc3339(last)
        conditions: dict[str, tuple[str, str, str]] = {}
        if pool is not None and is_true(claim, LAUNCHED):
            why = drift_reason(claim, pool)
            conditions["Drifted"] = ("True", why, why) if why else ("", "", "")
        if pool is not None:
            quiet = self._is_quiet(claim, pool, last)
            conditions["Consolidatable"] = holds("Consolidatable") if quiet else ("", "", "")
        if conditions or members:
            set_status(self._client, claim, conditions, **members)

    def _is_quiet(self, claim: ObjectRecord, pool: Pool, last: float | None) -> bool:
        after = pool.consolidate_after_seconds
        if after is None or not is_true(claim, INITIALIZED):
            return False
        quiet_at = (quiet_since(claim) if last is None else last) + after
        left = quiet_at - self._client.now
        if left > 0.0:
            self._restless[claim.name] = quiet_at
        else:
            self._restless.pop(claim.name, None)
        if left > 0.0 and not self._planned:
            self._planned = True
            self._world.clock.after(max(left, _STATUS_SECONDS), "karpenter.status")
        return left <= 0.0


def drift_reason(claim: ObjectRecord, pool: Pool) -> str:
    """Return how a NodeClaim differs from what its pool wants now
    (controllers/nodeclaim/disruption/drift.go).
    """
    same_version = claim.annotations.get(HASH_VERSION) == VERSION
    if same_version and claim.annotations.get(HASH) != pool.hash:
        return "NodePoolDrifted"
    if conflict(of_labels(claim.labels), pool.requirements, open_keys=False):
        return "RequirementsDrifted"
    return ""
