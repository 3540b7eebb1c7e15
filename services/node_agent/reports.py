"""What the agent says: its condition, and events where something has changed; pure."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from schemas.envelope import rfc3339
from schemas.node_annotations import NodeLimit
from schemas.node_limits import CONDITION, AgentReport, LimitReport, LimitState, RefusedBecause
from services.kube_objects import FIELD_MANAGER, Condition
from services.node_agent.machine import Machine, height
from services.node_agent.wishes import Wish

MOST_NOTE_BYTES = 1_000
MOST_NAME = 230
"""Characters of a node's name that an event's name, of 253 at most, begins with."""
EVENTS_PATH = "/apis/events.k8s.io/v1/namespaces/default/events"
"""Where the API wants events about objects that lie in no namespace."""


@dataclass(frozen=True, slots=True)
class NodeEvent:
    """What an event says."""

    reason: str
    note: str
    warning: bool = False


def limit_reports(
    wishes: Sequence[Wish], machine: Machine, failed: Mapping[str, str]
) -> tuple[LimitReport, ...]:
    """Return what became of each limit, by what the kernel shows.

    Args:
        wishes: what is asked for, judged.
        machine: as it was read back.
        failed: what the kernel said of each knob that it did not take.
    """
    return tuple(_limit_report(wish, machine, failed) for wish in wishes)


def read_back(limit: NodeLimit, machine: Machine) -> str:
    """Return what the kernel shows of a limit, in a few words."""
    if limit is NodeLimit.CPU_CAP:
        return "" if machine.group is None else f"cpu.max {machine.group.text}"
    if limit is not NodeLimit.CLOCK_SCALE:
        return ""
    alike = Counter((one.limit_khz, one.most_khz) for one in machine.policies)
    return ", ".join(
        f"{count} x {limit_khz} kHz of {most_khz}"
        for (limit_khz, most_khz), count in sorted(alike.items())
    )


def _limit_report(wish: Wish, machine: Machine, failed: Mapping[str, str]) -> LimitReport:
    request, values = wish.request, machine.values()
    above = [
        knob
        for knob, wanted in wish.values.items()
        if knob not in values or height(knob, values[knob]) > height(knob, wanted)
    ]
    state, reason, text = wish.state, wish.reason, wish.text
    shown = read_back(request.limit, machine)
    if above:
        errors = [failed[knob] for knob in above if knob in failed]
        reason = RefusedBecause.WRITE_FAILED if errors else RefusedBecause.NOT_READ_BACK
        state = LimitState.REFUSED
        why = errors[0] if errors else f"the kernel shows {shown} after the write"
        text = f"{request.limit.word} {request.value}: {why}"
    return LimitReport(
        limit=request.limit,
        value=request.value[:40],
        state=state,
        decision=request.decision[:80],
        expires=request.expires[:40],
        read=shown,
        reason=reason,
        text=text[:300],
    )


def condition_patch(
    report: AgentReport, before: Condition | None, now_seconds: float
) -> dict[str, Any]:
    """Return the strategic merge patch of the Node's status: conditions are merged by their type."""
    refused = any(one.state is LimitState.REFUSED for one in report.limits)
    in_force = any(one.state is LimitState.IN_FORCE for one in report.limits)
    status = "False" if refused else "True"
    since = before.last_transition_time if before is not None and before.status == status else None
    now = _whole_seconds(now_seconds)
    condition = {
        "type": CONDITION,
        "status": status,
        "reason": "Refused" if refused else ("InForce" if in_force else "Idle"),
        "message": report.message(),
        "lastHeartbeatTime": now,
        "lastTransitionTime": since or now,
    }
    return {"status": {"conditions": [condition]}}


def removal_patch() -> dict[str, Any]:
    """Return the patch that takes the condition away: an agent that has ended leaves nothing."""
    return {"status": {"conditions": [{"type": CONDITION, "$patch": "delete"}]}}


def changes_told(
    before: Sequence[LimitReport], after: Sequence[LimitReport], machine: Machine
) -> tuple[NodeEvent, ...]:
    """Return an event for each limit that is in force now, is refused now, or has ended."""
    told = []
    known = {one.limit: one for one in before}
    for report in after:
        was = known.get(report.limit)
        same = was is not None and (was.state, was.reason, was.value, was.decision) == (
            report.state,
            report.reason,
            report.value,
            report.decision,
        )
        if not same and report.state is LimitState.IN_FORCE:
            told.append(NodeEvent("LimitInForce", _in_force_note(report)))
        if not same and report.state is LimitState.REFUSED:
            told.append(NodeEvent("LimitRefused", report.text, warning=True))
    now = {one.limit: one for one in after}
    for was in before:
        is_now = now.get(was.limit)
        if was.state is LimitState.IN_FORCE and (
            is_now is None or is_now.state is not LimitState.IN_FORCE
        ):
            told.append(NodeEvent("LimitEnded", _ended_note(was, is_now, machine)))
    return tuple(told)


def _in_force_note(report: LimitReport) -> str:
    return (
        f"{report.limit.word} {report.value} in force: {report.read} "
        f"(decision {report.decision}, until {report.expires})"
    )


def _ended_note(was: LimitReport, now: LimitReport | None, machine: Machine) -> str:
    why = "its annotation is gone" if now is None else (now.text or now.state.value)
    return f"{was.limit.word} {was.value} ended, {why}: {read_back(was.limit, machine)}"


def event_body(told: NodeEvent, node: str, uid: str, now_seconds: float) -> dict[str, Any]:
    """Return an event about the Node; one that is told again at the same time has the same name."""
    key = f"{node} {uid} {told.reason} {told.note} {now_seconds:.6f}"
    digest = hashlib.sha256(key.encode()).hexdigest()[:16]
    regarding = {"apiVersion": "v1", "kind": "Node", "name": node}
    return {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": f"{node[:MOST_NAME]}.{digest}", "namespace": "default"},
        "eventTime": rfc3339(now_seconds),
        "reportingController": FIELD_MANAGER,
        "reportingInstance": "node-agent",
        "action": "Limit",
        "reason": told.reason,
        "regarding": {**regarding, "uid": uid} if uid else regarding,
        "note": told.note.encode()[:MOST_NOTE_BYTES].decode(errors="ignore"),
        "type": "Warning" if told.warning else "Normal",
    }


def _whole_seconds(seconds: float) -> str:
    return rfc3339(float(int(seconds))).replace(".000000", "")
