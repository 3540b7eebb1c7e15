"""What node agents answer to the limits that we wrote: a limit counts only once its agent has read it back; pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from schemas.node_limits import (
    CONDITION,
    LimitRequest,
    LimitState,
    read_report,
    read_requests,
)
from schemas.outcome import GuardCheck, Operation, Verb


def agent_check(operation: Operation, current: Mapping[str, Any] | None) -> GuardCheck | None:
    """Return whether a node's agent says that the limits of an operation are in force.

    Returns:
        None where no agent is asked: other writes, limits without an owner, which simulated nodes honour, a node
        that is gone.
    """
    if current is None or operation.verb is not Verb.PATCH or operation.resource != "nodes":
        return None
    written = (json.loads(operation.patch).get("metadata") or {}).get("annotations") or {}
    asked = [
        request
        for request in read_requests({key: str(value) for key, value in written.items() if value})
        if request.decision
    ]
    if not asked:
        return None
    told = _answers(asked, current)
    held = sum(1 for text, in_force in told if in_force)
    return GuardCheck(
        guard="node_agent",
        passed=held == len(asked),
        measured=held,
        limit=len(asked),
        unit="limits",
        text="; ".join(text for text, _ in told),
    )


def _answers(asked: Iterable[LimitRequest], current: Mapping[str, Any]) -> list[tuple[str, bool]]:
    conditions = (current.get("status") or {}).get("conditions") or ()
    message = next(
        (one.get("message", "") for one in conditions if one.get("type") == CONDITION), ""
    )
    report = read_report(message)
    if report is None:
        return [(f"{request.limit.word}: no node agent answers", False) for request in asked]
    answers = []
    for request in asked:
        found = next((one for one in report.limits if one.answers(request)), None)
        if found is None:
            answers.append((f"{request.limit.word}: its agent has not answered yet", False))
        elif found.state is LimitState.IN_FORCE:
            text = f"{request.limit.word} {request.value} in force: {found.read}"
            answers.append((text, True))
        else:
            text = found.text or f"{request.limit.word} {request.value}: {found.state.value}"
            answers.append((text, False))
    return answers
