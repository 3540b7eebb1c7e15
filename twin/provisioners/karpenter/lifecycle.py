"""The life of a NodeClaim: launched, registered, initialized, or given up
(pkg/controllers/nodeclaim/lifecycle, expiration).
"""

from __future__ import annotations

from inputs.quantities import cpu_text, memory_text
from twin.chance import Chance
from twin.changes import Change
from twin.config.provisioning import KarpenterConfig
from twin.machines.catalogue import SPOT, Offering
from twin.machines.cloud import Cloud, CloudRefusal
from twin.part import Part
from twin.provisioners.client import Client
from twin.provisioners.karpenter.claims import (
    INITIALIZED,
    LAUNCHED,
    REGISTERED,
    holds,
    is_true,
    offered_labels,
    set_status,
)
from twin.provisioners.karpenter.names import (
    CAPACITY_TYPE,
    EPHEMERAL,
    FINALIZER,
    INSTANCE_TYPE,
    POOL,
    UNREGISTERED,
    ZONE,
)
from twin.provisioners.karpenter.names import INITIALIZED as INITIALIZED_LABEL
from twin.provisioners.karpenter.names import REGISTERED as REGISTERED_LABEL
from twin.provisioners.karpenter.pools import read_duration
from twin.provisioners.karpenter.recorder import Recorder
from twin.provisioners.karpenter.requirements import Requirements, of_expressions
from twin.records import NodeRecord, Object, ObjectRecord
from twin.world import World

_SOON_SECONDS = 0.05  # latency of a watch at rest: our own choice
_UNAVAILABLE_SECONDS = 180.0  # aws/karpenter-provider-aws pkg/cache/unavailableofferings.go
_GONE_SECONDS = 5.0  # between two looks whether an instance has gone (finalize, RequeueAfter)


class Lifecycle(Part):
    """Brings NodeClaims up and takes them down."""

    KEEPS = ("_unavailable", "_launches")

    def __init__(
        self,
        world: World,
        client: Client,
        cloud: Cloud,
        recorder: Recorder,
        config: KarpenterConfig,
    ) -> None:
        self._clock = world.clock
        self._client = client
        self._cloud = cloud
        self._recorder = recorder
        self._config = config
        self._draws = Chance(world.seed).draws("karpenter zones")
        self._unavailable: dict[str, float] = {}  # offerings refused lately: until when
        self._launches: dict[str, int] = {}  # by pool
        self._clock.handle("karpenter.claim", self._reconcile)
        self._clock.handle("karpenter.expire", self._expire)

    def follow(self, change: Change) -> None:
        """Look at a NodeClaim when it, or its node, has come or changed."""
        record = change.record
        if change.resource == "nodeclaims" and isinstance(record, ObjectRecord):
            if change.type == "ADDED":
                self._plan_ends(record)
            if change.type == "ADDED" or (
                record.deletion_at is not None and change.type != "DELETED"
            ):
                self._clock.after(_SOON_SECONDS, "karpenter.claim", record.name)
        elif isinstance(record, NodeRecord) and POOL in record.labels:
            done = record.labels.get(INITIALIZED_LABEL) == "true"
            if change.type == "DELETED" or not done:
                self._clock.after(_SOON_SECONDS, "karpenter.claim", record.name)

    def is_available(self, offering: Offering) -> bool:
        """True for an offering that was not refused lately."""
        return self._unavailable.get(_key(offering), 0.0) <= self._client.now

    def avoid_spot(self, claim: ObjectRecord) -> None:
        """Do not try the spot offering of a NodeClaim's machine for three minutes."""
        machine, zone = claim.labels.get(INSTANCE_TYPE, ""), claim.labels.get(ZONE, "")
        if machine and zone:
            until = self._client.now + _UNAVAILABLE_SECONDS
            self._unavailable[f"{machine}/{zone}/{SPOT}"] = until

    def _plan_ends(self, claim: ObjectRecord) -> None:
        expiry = read_duration(claim.body["spec"].get("expireAfter", "Never"))
        if expiry is not None:
            self._clock.after(expiry, "karpenter.expire", claim.name, claim.uid)
        wait = self._config.registration_seconds + 1.0
        self._clock.after(wait, "karpenter.claim", claim.name)

    def _expire(self, name: str, uid: str) -> None:
        claim = self._client.find("nodeclaims", "", name)
        if claim is not None and claim.uid == uid and claim.deletion_at is None:
            self._client.delete("nodeclaims", "", name)

    def _reconcile(self, name: str) -> None:
        claim = self._client.find("nodeclaims", "", name)
        if claim is None:
            return
        if claim.deletion_at is not None:
            self._finalize(claim)
            return
        if not is_true(claim, LAUNCHED) and not self._launch(claim):
            return
        node = self._client.node(name)
        if not is_true(claim, REGISTERED):
            self._register(claim, node)
        if is_true(claim, REGISTERED) and not is_true(claim, INITIALIZED):
            self._initialize(claim, node)
        late = self._client.now - claim.created_at > self._config.registration_seconds
        if late and not is_true(claim, REGISTERED):
            self._client.delete("nodeclaims", "", name)

    # ---- coming

    def _launch(self, claim: ObjectRecord) -> bool:
        """Order the cheapest machine that the cloud grants; False when it grants none."""
        requirements = of_expressions(claim.body["spec"]["requirements"])
        pool = claim.labels[POOL]
        number = self._launches[pool] = self._launches.get(pool, 0) + 1
        offers = [
            offering
            for machine in requirements[INSTANCE_TYPE].values
            for offering in self._cloud.catalogue.offerings(machine)
            if _fits(offering, requirements) and self.is_available(offering)
        ]
        offers.sort(key=lambda one: (one.price, self._luck(pool, number, one)))
        why = "all requested instance types were unavailable during launch"
        for offering in offers:
            refusal = self._cloud.refusal(offering)
            if refusal is None:
                self._start(claim, offering)
                return True
            why = str(refusal)
            self._unavailable[_key(offering)] = self._client.now + _UNAVAILABLE_SECONDS
        text = f"NodeClaim {claim.name} event: {why}"
        self._recorder.say(claim, "NodeClaim", "InsufficientCapacityError", text)
        self._client.delete("nodeclaims", "", claim.name)
        return False

    def _luck(self, pool: str, number: int, offering: Offering) -> float:
        """Return by what equally cheap zones are chosen."""
        return self._draws.uniform(f"{pool}/{number}/{offering.zone}")

    def _start(self, claim: ObjectRecord, offering: Offering) -> None:
        labels = {**claim.labels, **offered_labels(offering)}
        try:
            self._cloud.order(
                claim.labels[POOL],
                claim.name,
                offering,
                labels=labels,
                annotations=claim.annotations,
                taints=(UNREGISTERED,),
            )
        except CloudRefusal:  # the offering was asked a moment ago
            return
        self._client.set_metadata("nodeclaims", claim, labels=labels)
        shape = offering.machine
        amounts = {
            "cpu": cpu_text(shape.cpu_millicores),
            "memory": memory_text(shape.memory_bytes),
            "pods": str(shape.pods),
            **({"nvidia.com/gpu": str(shape.gpus)} if shape.gpus else {}),
        }
        unknown = ("Unknown", "AwaitingReconciliation", "object is awaiting reconciliation")
        set_status(
            self._client,
            claim,
            {
                LAUNCHED: holds(LAUNCHED),
                REGISTERED: ("Unknown", "NodeNotFound", "Node not registered with cluster"),
                INITIALIZED: unknown,
            },
            providerID=f"foresail://{claim.name}",
            capacity=amounts,
            allocatable=amounts,
        )

    def _register(self, claim: ObjectRecord, node: NodeRecord | None) -> None:
        if node is None:
            return
        spec = claim.body["spec"]
        wanted = (*(spec.get("taints") or ()), *(spec.get("startupTaints") or ()))
        kept = [taint for taint in node.taints if taint["key"] != UNREGISTERED["key"]]
        kept += [taint for taint in wanted if taint not in kept]
        self._client.set_node(
            node,
            labels={**node.labels, **claim.labels, REGISTERED_LABEL: "true"},
            taints=tuple(kept),
            finalizers=tuple(dict.fromkeys((*node.finalizers, FINALIZER))),
        )
        set_status(self._client, claim, {REGISTERED: holds(REGISTERED)}, nodeName=node.name)

    def _initialize(self, claim: ObjectRecord, node: NodeRecord | None) -> None:
        waits = _what_is_missing(claim, node)
        if waits is not None:
            set_status(self._client, claim, {INITIALIZED: ("Unknown", *waits)})
            return
        assert node is not None
        self._client.set_node(node, labels={**node.labels, INITIALIZED_LABEL: "true"})
        set_status(self._client, claim, {INITIALIZED: holds(INITIALIZED)})

    # ---- going

    def _finalize(self, claim: ObjectRecord) -> None:
        """Delete the node first, then give the machine back, then let the NodeClaim go."""
        if FINALIZER not in claim.finalizers:
            return
        node = self._client.node(claim.name)
        if is_true(claim, REGISTERED) and node is not None:
            if node.deletion_at is None:
                self._client.delete("nodes", "", node.name)
            return
        if claim.name in self._cloud.machines:
            self._cloud.stop(claim.name)
            set_status(self._client, claim, {"InstanceTerminating": holds("InstanceTerminating")})
        if claim.name in self._cloud.machines:
            self._clock.after(_GONE_SECONDS, "karpenter.claim", claim.name)
            return
        rest = tuple(name for name in claim.finalizers if name != FINALIZER)
        self._client.report(claim, "NodeClaim", "Finalized", f"Finalized {FINALIZER}")
        self._client.set_metadata("nodeclaims", claim, finalizers=rest)


def _what_is_missing(claim: ObjectRecord, node: NodeRecord | None) -> tuple[str, str] | None:
    """Return (reason, message) of what keeps a node from being initialized."""
    if node is None:
        return "NodeNotFound", "Node not registered with cluster"
    if node.ready_status != "True":
        return "NodeNotReady", "Node status is NotReady"
    for taint in claim.body["spec"].get("startupTaints") or ():
        if any(_is_same(taint, held) for held in node.taints):
            return "StartupTaintsExist", f'StartupTaint "{_taint_text(taint)}" still exists'
    for held in node.taints:
        if held["key"] in EPHEMERAL:
            text = f'KnownEphemeralTaint "{_taint_text(held)}" still exists'
            return "KnownEphemeralTaintsExist", text
    return None


def _is_same(one: Object, other: Object) -> bool:
    return (one["key"], one["effect"]) == (other["key"], other["effect"])


def _taint_text(taint: Object) -> str:
    value = f"={taint['value']}" if taint.get("value") else ""
    return f"{taint['key']}{value}:{taint['effect']}"


def _fits(offering: Offering, requirements: Requirements) -> bool:
    zone, kind = requirements.get(ZONE), requirements.get(CAPACITY_TYPE)
    return (zone is None or zone.has(offering.zone)) and (
        kind is None or kind.has(offering.capacity_type)
    )


def _key(offering: Offering) -> str:
    return f"{offering.machine.name}/{offering.zone}/{offering.capacity_type}"
