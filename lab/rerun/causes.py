"""The causal chain of one event: everything that led to it, read from the recording a second time."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass

from bus.port import StoredMessage
from lab.rerun.stage import AnyEvent
from schemas.envelope import attributes_of

REACH = 50_000
"""Messages before an event among which its causes are looked for."""


@dataclass(frozen=True, slots=True)
class Link:
    """One event of a chain."""

    seq: int
    """0: it is not in the recording."""
    subject: str
    id: str
    depth: int
    """Steps from the event asked about."""


def chain_of(messages: Iterable[StoredMessage], event: AnyEvent) -> tuple[Link, ...]:
    """Return the causes of an event, nearest first, then the causes of those."""
    before: deque[tuple[str, int, str, tuple[str, ...]]] = deque(maxlen=REACH)
    for message in messages:
        if message.seq >= event.seq:
            break
        attributes = attributes_of(message.headers)
        causes = tuple(attributes.get("causationid", "").split())
        before.append((attributes.get("id", ""), message.seq, message.subject, causes))
    known = {identity: (seq, subject, causes) for identity, seq, subject, causes in before}
    links: list[Link] = []
    visited: set[str] = set()
    queue = deque((cause, 1) for cause in event.causation_ids)
    while queue:
        identity, depth = queue.popleft()
        if identity in visited:
            continue
        visited.add(identity)
        if identity not in known:
            links.append(Link(0, "", identity, depth))
            continue
        seq, subject, causes = known[identity]
        links.append(Link(seq, subject, identity, depth))
        queue.extend((cause, depth + 1) for cause in causes)
    return tuple(links)
