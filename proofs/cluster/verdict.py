"""What a session over three servers came to: the log against what was acknowledged and read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from bus.port import StoredMessage
from proofs.cluster.traffic import CLUSTER, Acknowledged, Traffic
from proofs.faults.waiting import wait_until
from schemas.envelope import MESSAGE_ID

READ_SECONDS = 900.0


@dataclass
class SessionFindings:
    """Everything that was wrong with one session, and its figures."""

    acknowledged: int = 0
    read: int = 0
    longest_stop_seconds: float = 0.0
    """Longest time without an acknowledgement to anybody."""
    gave_up: int = 0
    """Publishes that ended as BusUnavailable; each was sent again and stored."""
    rivals: int = 0
    """Times that a stale writer tried, and was refused."""
    faults: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


async def judge(traffic: Traffic, findings: SessionFindings) -> None:
    """Compare the whole log with what was acknowledged and what the reader saw."""
    stored = [message async for message in traffic.reading.history([f"foresail.{CLUSTER}.>"])]
    end = stored[-1].seq if stored else 0
    caught_up = await wait_until(
        lambda: traffic.failure or (traffic.seen and traffic.seen[-1].seq >= end), READ_SECONDS
    )
    if traffic.failure or not caught_up:
        findings.problems.append(traffic.failure or f"the reader did not reach position {end}")
    findings.acknowledged, findings.read = traffic.acknowledged, len(traffic.seen)
    findings.longest_stop_seconds = traffic.longest_stop_seconds
    findings.gave_up, findings.rivals = traffic.gave_up, traffic.rivals
    findings.problems += broken_promises(stored, traffic.acks, traffic.seen)


def broken_promises(
    stored: Sequence[StoredMessage], acks: Sequence[Acknowledged], live: Sequence[StoredMessage]
) -> list[str]:
    """Return what a log does not keep of its promises; nothing when it keeps them.

    Args:
        stored: the whole log.
        acks: what was acknowledged, in the order of the acknowledgements.
        live: what a reader got, in its order.
    """
    problems = []
    at = {message.seq: message for message in stored}
    lost = [ack for ack in acks if ack[2] not in at or _describe_position(at[ack[2]]) != ack]
    if lost:
        problems.append(f"{len(lost)} acknowledged events are not where they were: {lost[0]}")
    ids = Counter(message.headers.get(MESSAGE_ID, "") for message in stored)
    doubled = sorted(event_id for event_id, times in ids.items() if times > 1)
    if doubled:
        problems.append(f"{len(doubled)} events are stored more than once: {doubled[0]}")
    if [message.seq for message in stored] != list(range(1, len(stored) + 1)):
        problems.append("the log has holes")
    for subject in sorted({message.subject for message in stored}):
        names = [message.headers[MESSAGE_ID] for message in stored if message.subject == subject]
        own = subject.rsplit(".", 1)[-1]
        expected = [f"{own}-before", *(f"{own}-{number}" for number in range(len(names) - 1))]
        if names != expected:
            odd = next(have for have, want in zip(names, expected, strict=True) if have != want)
            problems.append(f"{subject} is not what its one writer published, from {odd} on")
    read = [(message.seq, message.subject, message.data) for message in live]
    if read != [(message.seq, message.subject, message.data) for message in stored[: len(live)]]:
        problems.append("the reader saw something else than what is stored")
    return problems


def _describe_position(message: StoredMessage) -> Acknowledged:
    return message.subject, message.headers.get(MESSAGE_ID, ""), message.seq
