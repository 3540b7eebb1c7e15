"""The Lease by which one executor alone acts on a cluster: what its object says, and how one stands to it. Pure.

As client-go's leader election: a holder that has not renewed for two thirds of the duration stops by itself, and others
take a Lease over once they have seen it unchanged for the whole duration, by their own clock. So no two clocks are
compared. Source: Kubernetes API, coordination.k8s.io/v1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from projections.times import wall_time
from schemas.envelope import rfc3339
from schemas.leadership import LeadState
from schemas.reasons import Reason
from services.kube_objects import parse_time

GROUP = "coordination.k8s.io"
NAME = "foresail-executor"
"""Of the Lease."""
DEADLINE_SHARE = 2 / 3
"""Of the duration after which a holder that has not renewed stops; client-go: 10 of 15 s."""
RENEW_SHARE = 1 / 5
"""Of the duration between two renewals."""
WAIT_SHARE = 1 / 3
"""Of the duration between two looks of one that waits."""
MOST_HOLDER = 200
"""Characters of a holder's name that are shown; anybody with the right may write it."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """One executor process."""

    stack: str
    """The same for every replica of a stack, which share one log."""
    process: str
    """Tells replicas apart, and one start of a process from the next."""

    @property
    def identity(self) -> str:
        """What spec.holderIdentity says while it leads."""
        return f"{self.stack}/{self.process}"


def stack_of(holder: str) -> str:
    """Return the stack of a holder's identity; another program's holder is its own stack."""
    return holder.rpartition("/")[0] or holder


@dataclass(frozen=True, slots=True)
class LeaseRecord:
    """A Lease as the API shows it."""

    holder: str = ""
    duration_seconds: float = 0.0
    acquired: str = ""
    """spec.acquireTime as it is written."""
    renewed: str = ""
    """spec.renewTime as it is written."""
    transitions: int = 0
    version: str = ""
    """metadata.resourceVersion."""

    @property
    def acquired_seconds(self) -> float | None:
        """Since when the holder has it, by its own clock; None where it does not say."""
        return _seconds(self.acquired)

    @property
    def renewed_seconds(self) -> float | None:
        """When it was renewed last, by its own clock; None where it does not say."""
        return _seconds(self.renewed)

    def held_text(self) -> str:
        """Return who holds it and since when."""
        since, shown = self.acquired_seconds, self.holder[:MOST_HOLDER]
        return f"{shown!r} holds it" + ("" if since is None else f" since {wall_time(since)}")


def _seconds(text: str) -> float | None:
    try:
        return max(0.0, parse_time(text))
    except ValueError:
        return None


def read_record(content: Any) -> LeaseRecord:
    """Return the record of a Lease's JSON; what has another form counts as not said."""
    spec = content.get("spec") if isinstance(content, dict) else None
    metadata = content.get("metadata") if isinstance(content, dict) else None
    said = spec if isinstance(spec, dict) else {}
    about = metadata if isinstance(metadata, dict) else {}

    def text(name: str) -> str:
        return said[name] if isinstance(said.get(name), str) else ""

    def whole(name: str) -> int:
        number = said.get(name)
        return number if type(number) is int and 0 <= number < 2**31 else 0

    return LeaseRecord(
        holder=text("holderIdentity"),
        duration_seconds=float(whole("leaseDurationSeconds")),
        acquired=text("acquireTime"),
        renewed=text("renewTime"),
        transitions=whole("leaseTransitions"),
        version=str(about.get("resourceVersion", "")),
    )


def held_spec(
    before: LeaseRecord, candidate: Candidate, duration_seconds: float, now_seconds: float
) -> dict[str, Any]:
    """Return the spec with which a candidate takes a Lease or renews it; `now_seconds` is wall time."""
    own = before.holder == candidate.identity
    now = rfc3339(now_seconds)
    return {
        "holderIdentity": candidate.identity,
        "leaseDurationSeconds": max(1, round(duration_seconds)),
        "acquireTime": before.acquired if own and before.acquired else now,
        "renewTime": now,
        "leaseTransitions": before.transitions + (0 if own or not before.version else 1),
    }


def released_spec(before: LeaseRecord, now_seconds: float) -> dict[str, Any]:
    """Return the spec with which a holder lets go: the next one need not wait."""
    now = rfc3339(now_seconds)
    return {
        "holderIdentity": "",
        "leaseDurationSeconds": 1,
        "acquireTime": now,
        "renewTime": now,
        "leaseTransitions": before.transitions,
    }


def lease_path(namespace: str, name: str = "") -> str:
    """Return the API path of Leases of a namespace, or of one."""
    leases = f"/apis/{GROUP}/v1/namespaces/{namespace}/leases"
    return f"{leases}/{name}" if name else leases


@dataclass(frozen=True, slots=True)
class Lead:
    """How an executor stands to the Lease at one moment."""

    state: LeadState
    text: str = ""
    """Who holds it, or why it may not be had; empty while it leads."""
    record: LeaseRecord = LeaseRecord()

    @property
    def leading(self) -> bool:
        """Whether it may write."""
        return self.state is LeadState.LEADING

    @property
    def reason(self) -> Reason | None:
        """Why it may not write; None while it may."""
        if self.leading:
            return None
        return Reason.LEASE_LOST if self.state is LeadState.SUSPENDED else Reason.NOT_LEADER


NOT_HELD = Lead(LeadState.REFUSED, "the Lease by which one stack alone acts is not held yet")
"""Before anything is known of it."""
