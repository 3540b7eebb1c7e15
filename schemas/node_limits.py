"""Limits on one node, as annotations of the Node say them, and what a node agent says it did about them.

The executor writes the annotations, the node agent reads them and answers by a condition of the Node, and the
executor, the collector and `doctor` read that condition: all of them through this file. A limit is three annotations:
its value, the decision that owns it, and when it ends:

    foresail.dev/clock-scale: "0.65"
    foresail.dev/clock-scale-decision: 6f1c...
    foresail.dev/clock-scale-expires: "2026-11-26T13:30:00Z"
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from enum import StrEnum

from pydantic import ValidationError

from schemas.limited_json import load_json
from schemas.model import DataModel
from schemas.node_annotations import NodeLimit

CONDITION = "foresail.dev/NodeAgent"
"""Type of the condition: there while an agent runs, `True` while everything asked for is in force."""
MOST_LEASE_SECONDS = 86_400.0
"""A limit that is to stand longer has to be renewed."""
DEAD_HEARTBEATS = 3.0
"""An agent that has missed so many heartbeats counts as gone."""
MOST_MESSAGE_BYTES = 16_384
"""Of a condition; ours have some hundreds."""
_RATIO = re.compile(r"[0-9](\.[0-9]{1,6})?")


class LimitState(StrEnum):
    """What became of a limit."""

    IN_FORCE = "in_force"
    """Read back from the kernel: nothing goes above it."""
    REFUSED = "refused"
    """It is not in force; the reason says why."""
    EXPIRED = "expired"
    """Its time is over, and what it had changed is as before."""


class RefusedBecause(StrEnum):
    """Why a node agent does not hold a limit."""

    UNREADABLE = "unreadable"
    """The value is no ratio, or the end no time."""
    OUT_OF_BOUNDS = "out_of_bounds"
    """The value, or what it comes to on this machine, is outside what the hardware or the settings allow."""
    NO_DECISION = "no_decision"
    NO_EXPIRY = "no_expiry"
    LEASE_TOO_LONG = "lease_too_long"
    UNSUPPORTED = "unsupported"
    """This machine, or this agent, has no means to do it."""
    CHANGED_BY_OTHER = "changed_by_other"
    """Somebody else has raised what we had lowered; theirs holds until another limit is asked for."""
    NOT_READ_BACK = "not_read_back"
    """It was written, and the kernel shows more all the same."""
    WRITE_FAILED = "write_failed"


class LimitRequest(DataModel):
    """What the annotations of a node ask for, one limit of them, unjudged."""

    limit: NodeLimit
    value: str
    decision: str = ""
    expires: str = ""

    @property
    def ratio(self) -> float | None:
        """The value; None where it is no decimal number of at most six places."""
        return float(self.value) if _RATIO.fullmatch(self.value) else None

    @property
    def expires_seconds(self) -> float | None:
        """When it ends, seconds since the Unix epoch; None where it does not say so readably."""
        try:
            moment = datetime.fromisoformat(self.expires)
        except ValueError:
            return None
        return None if moment.tzinfo is None else moment.timestamp()


class LimitReport(DataModel):
    """What became of one limit."""

    limit: NodeLimit
    value: str
    """As the annotation has it."""
    state: LimitState
    decision: str = ""
    expires: str = ""
    read: str = ""
    """What the kernel shows, read back after the write."""
    reason: RefusedBecause | None = None
    text: str = ""
    """One sentence for people."""

    def answers(self, request: LimitRequest) -> bool:
        """Say whether it is about this very request."""
        asked = request.limit, request.value, request.decision, request.expires
        return (self.limit, self.value, self.decision, self.expires) == asked


class AgentReport(DataModel):
    """What a node agent says of itself, as JSON in its condition's message."""

    version: str
    can: tuple[NodeLimit, ...]
    """Limits that this machine has the means for."""
    heartbeat_seconds: float
    """How often it says so at least."""
    limits: tuple[LimitReport, ...] = ()

    def in_force(self, limit: NodeLimit) -> LimitReport | None:
        """Return the report of a limit that is in force; None: it is not."""
        found = (one for one in self.limits if one.limit is limit)
        return next((one for one in found if one.state is LimitState.IN_FORCE), None)

    def message(self) -> str:
        """Return it as a condition's message."""
        return self.model_dump_json(exclude_defaults=True)


def read_requests(annotations: Mapping[str, str]) -> tuple[LimitRequest, ...]:
    """Return what annotations ask for, in a fixed order."""
    return tuple(
        LimitRequest(
            limit=limit,
            value=annotations[limit.value],
            decision=annotations.get(limit.decision_key, ""),
            expires=annotations.get(limit.expires_key, ""),
        )
        for limit in NodeLimit
        if limit.value in annotations
    )


def limit_annotations(
    limit: NodeLimit, ratio: float, decision: str, expires_seconds: float
) -> dict[str, str]:
    """Return the annotations that ask a node agent for a limit."""
    ends = datetime.fromtimestamp(math.floor(expires_seconds), UTC)
    return {
        limit.value: f"{ratio:g}",
        limit.decision_key: decision,
        limit.expires_key: ends.strftime("%Y-%m-%dT%H:%M:%SZ"),
    }


def read_report(message: str) -> AgentReport | None:
    """Return what an agent's condition says; None where the message is none of an agent."""
    try:
        content = load_json(message, most_bytes=MOST_MESSAGE_BYTES)
        return AgentReport.model_validate(content, extra="ignore")
    except (ValidationError, ValueError):
        return None


def live_report(
    message: str, heartbeat_seconds: float | None, now_seconds: float
) -> AgentReport | None:
    """Return the report of an agent that lives; None where it has been silent for too long.

    Args:
        message: its condition's.
        heartbeat_seconds: when the condition was written last; None: it does not say.
        now_seconds: the cluster's time.
    """
    report = read_report(message)
    if report is None or heartbeat_seconds is None:
        return None
    silent_seconds = now_seconds - heartbeat_seconds
    return report if silent_seconds <= DEAD_HEARTBEATS * report.heartbeat_seconds else None
