"""NodeClaims as objects: how one is made, and the conditions that tell of its life
(pkg/apis/v1/nodeclaim*.go, controllers/provisioning/scheduling/nodeclaimtemplate.go).
"""

from __future__ import annotations

from inputs.quantities import cpu_text, memory_text
from twin.controllers.conditions import find, remove_condition, set_condition
from twin.machines.catalogue import Offering
from twin.provisioners.client import Client
from twin.provisioners.karpenter.instance_types import cheapest
from twin.provisioners.karpenter.names import (
    CAPACITY_TYPE,
    FINALIZER,
    HASH,
    HASH_VERSION,
    INSTANCE_TYPE,
    WELL_KNOWN,
)
from twin.provisioners.karpenter.pools import HASH_VERSION as VERSION
from twin.provisioners.karpenter.requirements import add, expressions, one_of
from twin.provisioners.karpenter.solver import MOST_TYPES, NewMachine, Solver
from twin.records import Object, ObjectRecord
from twin.timestamps import rfc3339, unix

LAUNCHED, REGISTERED, INITIALIZED = "Launched", "Registered", "Initialized"
_READY = (LAUNCHED, REGISTERED, INITIALIZED)
_FROM_THE_START = frozenset({*_READY, "Ready", "ValidationSucceeded", "NodeClassReady"})


def claim_object(machine: NewMachine, solver: Solver) -> Object:
    """Return the NodeClaim that asks for a machine, its instance types by price."""
    pool, requirements = machine.pool, dict(machine.requirements)
    offers = {one.name: solver.types.offerings(one, requirements) for one in machine.types}
    types = sorted(machine.types, key=lambda one: cheapest(offers[one.name]))[:MOST_TYPES]
    kinds = dict.fromkeys(offer.capacity_type for one in types for offer in offers[one.name])
    add(requirements, {INSTANCE_TYPE: one_of(*(one.name for one in types))})
    add(requirements, {CAPACITY_TYPE: one_of(*kinds)})
    labels = dict(pool.labels)
    for key, entry in requirements.items():
        if key not in WELL_KNOWN and not entry.complement and entry.values:
            labels[key] = entry.values[0]
    cpu, memory, gpus, pods = machine.used
    requests = {"cpu": cpu_text(cpu), "memory": memory_text(memory), "pods": str(pods)}
    if gpus:
        requests["nvidia.com/gpu"] = str(gpus)
    reference: Object = {"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "name": pool.name}
    return {
        "metadata": {
            "generateName": f"{pool.name}-",
            "labels": labels,
            "annotations": {**pool.annotations, HASH: pool.hash, HASH_VERSION: VERSION},
            "ownerReferences": [{**reference, "uid": pool.uid, "blockOwnerDeletion": True}],
            "finalizers": [FINALIZER],
        },
        "spec": {
            "taints": list(pool.taints),
            "startupTaints": list(pool.startup_taints),
            "requirements": expressions(requirements),
            "resources": {"requests": requests},
            "nodeClassRef": pool.class_reference,
            "expireAfter": pool.expire_after,
            **({"terminationGracePeriod": pool.grace} if pool.grace else {}),
        },
    }


def offered_labels(offering: Offering) -> dict[str, str]:
    """Return the labels that a chosen offering adds."""
    return {
        INSTANCE_TYPE: offering.machine.name,
        "topology.kubernetes.io/zone": offering.zone,
        CAPACITY_TYPE: offering.capacity_type,
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/os": "linux",
    }


def conditions_of(claim: ObjectRecord) -> list[Object]:
    """Return a NodeClaim's conditions."""
    return list((claim.body.get("status") or {}).get("conditions") or ())


def is_true(claim: ObjectRecord, kind: str) -> bool:
    """True when a condition holds."""
    found = find(conditions_of(claim), kind)
    return found is not None and found["status"] == "True"


def since(claim: ObjectRecord, kind: str) -> float:
    """Return since when a condition is what it is; the creation without one (unix seconds)."""
    found = find(conditions_of(claim), kind)
    return claim.created_at if found is None else unix(found["lastTransitionTime"])


def set_status(
    client: Client,
    claim: ObjectRecord,
    conditions: dict[str, tuple[str, str, str]],
    **members: object,
) -> None:
    """Write members and conditions (status, reason, message) of a NodeClaim's status; an empty
    status takes a condition away.
    """
    now, rows = rfc3339(client.now), conditions_of(claim)
    known = {row["type"]: row["status"] for row in rows}
    for kind, (status, reason, message) in conditions.items():
        rows = remove_condition(rows, kind) if not status else rows
        rows = set_condition(rows, kind, status, reason, message, now) if status else rows
    found = {row["type"]: row["status"] for row in rows}
    ready = all(found.get(kind) == "True" for kind in _READY)
    reason = "Ready" if ready else "ReconcilingDependents"
    rows = set_condition(rows, "Ready", "True" if ready else "Unknown", reason, "", now)
    written = {**(claim.body.get("status") or {}), **members, "conditions": rows}
    client.set_object("nodeclaims", claim, status=written)
    say_transitions(client, claim, "NodeClaim", known, rows)


def say_transitions(
    client: Client,
    record: ObjectRecord,
    kind: str,
    known: dict[str, str],
    rows: list[Object],
) -> None:
    """Write a KubeEvent for each condition that has changed, as Karpenter's status controller does for
    those that stand on an object from its beginning (awslabs/operatorpkg status/controller.go).
    """
    for row in rows:
        name, status = row["type"], row["status"]
        before = known.get(name, "Unknown" if name in _FROM_THE_START else status)
        if status != before:
            tail = f", Message: {row['message']}" if row["message"] else ""
            text = (
                f"Status condition transitioned, Type: {name}, Status: {before} -> {status}, "
                f"Reason: {row['reason']}{tail}"
            )
            client.report(record, kind, name, text)


def holds(kind: str) -> tuple[str, str, str]:
    """Return what a condition that holds says."""
    return ("True", kind, "")
