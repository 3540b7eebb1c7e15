"""What an earlier stack of ours left on objects, by the marks that it made. Pure.

A mark says what was before: the owner's number, a held workload's size. What a taint, a cordon with our annotation, a
limit or a quota of ours says is enough, since nothing was there before. Each thing found is told as a plan would have
written it, so that it is taken back, guarded and shown like anything else that stands (`foresail.undo`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from schemas.actions import (
    Action,
    AdmissionAction,
    DvfsAction,
    MemoryBalloonAction,
    MigrateAction,
    PowerStateAction,
    ReplicateAction,
    ResourceCapAction,
    Target,
    TargetKind,
    ThrottleAction,
)
from schemas.envelope import rfc3339
from schemas.left_behind import LeftBehind
from schemas.node_annotations import POWER_STATE, NodeLimit
from schemas.node_limits import LimitRequest, read_requests
from schemas.outcome import Operation, Verb
from schemas.surge import OWNER_REPLICAS
from services.executor.facts import AutoscalerFacts, NodeFacts, WorkloadFacts
from services.executor.plans.admission import annotated_state
from services.executor.plans.migrate import RISK_TAINT
from services.executor.plans.node_limits import CAPPED_TAINT, NODE_AGENT
from services.executor.plans.planned import canonical_json
from services.executor.plans.power_state import SLEEPING, hand_back_command
from services.executor.plans.resize import LIMITED_TAINT, TAINT
from services.executor.plans.resource_cap import DECISION, MEANS, QUOTA
from services.executor.raises import read_raise
from services.executor.reach import AUTOSCALERS
from services.executor.settings import ExecutorSettings, HandBack
from services.executor.taints import has_taint
from services.held import HELD
from services.kube_objects import FIELD_MANAGER

_ID = re.compile(r"[0-9a-f-]{1,40}")
"""Of a decision; anybody may write annotations."""
FULL = 1.0
"""Of a ratio that the mark does not say."""
_QUEUE = Target(kind=TargetKind.QUEUE, name="pending")


def left_on_node(node: NodeFacts, settings: ExecutorSettings) -> Iterator[LeftBehind]:
    """Return what bears our marks on a node: taints, a cordon, limits."""
    target = Target(kind=TargetKind.NODE, name=node.name)
    tainted: list[tuple[Mapping[str, str], Action, str, str]] = [
        (RISK_TAINT, MigrateAction(target=target), "move", ""),
        (LIMITED_TAINT, ThrottleAction(target=target, cpu_cap_ratio=FULL), "limit", TAINT),
        (CAPPED_TAINT, _cap(target), "limit", ""),
    ]
    for taint, action, direction, means in tainted:
        if has_taint(node.taints, taint):
            change = {"patch": _taints(add=[taint]), "undo": _taints(remove=[taint])}
            text = f"taint {taint['key']} on {node.name}"
            one = _node_write(node, Verb.TAINT, text, **change)
            yield _found(action, direction, (one,), text, means=means)
    if node.annotations.get(POWER_STATE) in SLEEPING:
        yield _asleep(node, target, settings)
    for request in read_requests(node.annotations):
        yield _limited(node, target, request)


def _asleep(node: NodeFacts, target: Target, settings: ExecutorSettings) -> LeftBehind:
    """Return a node that was put to sleep; somebody may have opened it again since."""
    state = node.annotations[POWER_STATE]
    patch: dict[str, Any] = {"metadata": {"annotations": {POWER_STATE: state}}}
    undo: dict[str, Any] = {"metadata": {"annotations": {POWER_STATE: None}}}
    if node.unschedulable:
        patch["spec"], undo["spec"] = {"unschedulable": True}, {"unschedulable": None}
    text = f"node {node.name} set to {state}" + (" and cordoned" if node.unschedulable else "")
    cordon = _node_write(node, Verb.PATCH, text, canonical_json(patch), canonical_json(undo))
    command = hand_back_command(node, settings) if settings.wake_command else None
    by_command = command is not None and settings.hand_back is HandBack.COMMAND
    operations = (cordon, command) if by_command and command else (cordon,)
    word = "off" if state == "off" else "sleep"
    action = PowerStateAction(target=target, power_state=word)
    return _found(action, "off", operations, text, means=HandBack.COMMAND if by_command else "")


def _limited(node: NodeFacts, target: Target, request: LimitRequest) -> LeftBehind:
    """Return a limit that annotations ask a node agent for."""
    limit = request.limit
    keys = [
        key
        for key in (limit.value, limit.decision_key, limit.expires_key)
        if key in node.annotations
    ]
    patch = {"metadata": {"annotations": {key: node.annotations[key] for key in keys}}}
    undo = {"metadata": {"annotations": dict.fromkeys(keys)}}
    ratio = request.ratio
    share = FULL if ratio is None or not 0 <= ratio <= FULL else ratio
    value = "(unreadable)" if ratio is None else f"{ratio:g}"
    action: Action
    match limit:
        case NodeLimit.CLOCK_SCALE:
            action = DvfsAction(target=target, clock_scale_ratio=share)
        case NodeLimit.CPU_CAP:
            action = ThrottleAction(target=target, cpu_cap_ratio=share)
        case NodeLimit.MEMORY_SCALE:
            action = MemoryBalloonAction(target=target, memory_scale_ratio=share)
        case NodeLimit.MEMORY_CAP:
            action = _cap(target)
    ends = request.expires_seconds
    text = f"{limit.word} {value} of {node.name}"
    text = text if ends is None else f"{text} until {rfc3339(ends)[:19]}Z"
    one = _node_write(node, Verb.PATCH, text, canonical_json(patch), canonical_json(undo))
    means = NODE_AGENT if request.expires else ""
    return _found(action, "limit", (one,), text, request.decision, means=means)


def left_on_workload(workload: WorkloadFacts) -> LeftBehind | None:
    """Return a raise or a hold of ours on a Deployment or Job; None: there is none that can be read."""
    if HELD in workload.annotations:
        return _held(workload)
    return _raised(workload, "deployments", "replicas", workload.replicas)


def left_on_autoscaler(autoscaler: AutoscalerFacts) -> LeftBehind | None:
    """Return a raise of ours of an autoscaler's minimum; None: there is none that can be read."""
    return _raised(autoscaler, AUTOSCALERS, "minReplicas", autoscaler.least_replicas)


def _held(workload: WorkloadFacts) -> LeftBehind | None:
    before = annotated_state(workload)
    if not before:
        return None
    job = workload.kind == "Job"
    now: dict[str, Any] = {"suspend": workload.suspended} if job else {"replicas": 0}
    note: dict[str, Any] = {"metadata": {"annotations": {HELD: workload.annotations[HELD]}}}
    free: dict[str, Any] = {"metadata": {"annotations": {HELD: None}}}
    ours = workload.suspended if job else workload.replicas == 0
    patch, undo = ({**note, "spec": now}, {**free, "spec": before}) if ours else (note, free)
    text = f"{workload.kind.lower()} {workload.namespace}/{workload.name} held"
    action = AdmissionAction(target=_QUEUE, admission="queue" if job else "reject")
    operation = _write(workload, "jobs" if job else "deployments", patch, undo, text)
    return _found(action, "close", (operation,), text)


def _raised(
    held_by: WorkloadFacts | AutoscalerFacts, resource: str, field: str, number: int
) -> LeftBehind | None:
    raised = read_raise(held_by.annotations)
    if raised is None:
        return None
    note: dict[str, Any] = {
        "metadata": {"annotations": {OWNER_REPLICAS: held_by.annotations[OWNER_REPLICAS]}}
    }
    free: dict[str, Any] = {"metadata": {"annotations": {OWNER_REPLICAS: None}}}
    name = f"{held_by.namespace}/{held_by.name}"
    if raised.ours == number:
        patch = {**note, "spec": {field: number}}
        undo = {**free, "spec": {field: raised.owner}}
        text = f"{name}: {field} {number}, its owner's number is {raised.owner}"
    else:  # somebody else's number stands; our note of it is all that is left
        patch, undo = note, free
        text = f"{name}: our note of {field} {raised.owner}, which somebody has changed since"
    target = Target(kind=TargetKind.WORKLOAD, name=f"{held_by.namespace}/Deployment/{held_by.name}")
    action = ReplicateAction(target=target, replicas=raised.ours)
    return _found(action, "up", (_write(held_by, resource, patch, undo, text),), text)


def left_quota(quota: Mapping[str, Any]) -> LeftBehind | None:
    """Return our quota, as the API shows it; None where it is another's, or another has changed it since."""
    metadata = quota["metadata"]
    notes = metadata.get("annotations") or {}
    if metadata["name"] != QUOTA or DECISION not in notes or _written_by_others(metadata):
        return None
    own = {name: text for name, text in notes.items() if name.startswith("foresail.dev/")}
    content = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": QUOTA, "namespace": metadata["namespace"], "annotations": own},
        "spec": quota["spec"],
    }
    text = f"quota {metadata['namespace']}/{QUOTA}"
    operation = Operation(
        verb=Verb.CREATE,
        resource="resourcequotas",
        namespace=metadata["namespace"],
        name=QUOTA,
        uid=metadata["uid"],
        patch=canonical_json(content),
        undo="{}",
        text=text,
    )
    action = _cap(Target(kind=TargetKind.NONE))
    return _found(action, "limit", (operation,), text, notes[DECISION], means=MEANS)


def _written_by_others(metadata: Mapping[str, Any]) -> bool:
    """Say whether somebody else wrote what we write of an object: its spec or our annotations."""
    others = [
        entry.get("fieldsV1") or {}
        for entry in metadata.get("managedFields") or ()
        if entry.get("manager") != FIELD_MANAGER
    ]
    return any("f:spec" in fields for fields in others)


def _cap(target: Target) -> ResourceCapAction:
    return ResourceCapAction(target=target, cpu_cap_ratio=FULL, memory_cap_ratio=FULL)


def _taints(
    add: list[Mapping[str, str]] | None = None, remove: list[Mapping[str, str]] | None = None
) -> str:
    return canonical_json({"add": add or [], "remove": remove or []})


def _node_write(node: NodeFacts, verb: Verb, text: str, patch: str, undo: str) -> Operation:
    return Operation(
        verb=verb, resource="nodes", name=node.name, uid=node.uid, patch=patch, undo=undo, text=text
    )


def _write(
    held_by: WorkloadFacts | AutoscalerFacts,
    resource: str,
    patch: dict[str, Any],
    undo: dict[str, Any],
    text: str,
) -> Operation:
    return Operation(
        verb=Verb.PATCH,
        resource=resource,
        namespace=held_by.namespace,
        name=held_by.name,
        uid=held_by.uid,
        resource_version=held_by.resource_version,
        patch=canonical_json(patch),
        undo=canonical_json(undo),
        text=text,
    )


def _found(
    action: Action,
    direction: str,
    operations: tuple[Operation, ...],
    text: str,
    decision_id: str = "",
    *,
    means: str = "",
) -> LeftBehind:
    return LeftBehind(
        part=0,
        action=action,
        direction=direction,
        means=means,
        operations=operations,
        decision_id=decision_id if _ID.fullmatch(decision_id) else "",
        text=text,
    )
