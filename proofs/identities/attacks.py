"""What an identity must not be able to do, as data: subjects, headers and bodies to try."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from bus.identities import Identity
from bus.login import API, IMPORTED_API, INBOX
from bus.streams import StreamDeclaration
from schemas import subjects
from services.identities import IDENTITIES

CLUSTER = "proof"
LOG = StreamDeclaration.of(CLUSTER, "i1", max_bytes=64 * 1024**2)
OTHER = "OTHER"
"""A second stream in the same account, with subjects that no identity has."""
OTHER_SUBJECT = "other.inject"
DURABLE = "pipe"
"""A consumer on the log, created by an identity with the right to do so."""
CONSUMER_CALLS = (
    f"CONSUMER.CREATE.{LOG.name}",
    f"CONSUMER.CREATE.{LOG.name}.mine",
    f"CONSUMER.CREATE.{LOG.name}.{DURABLE}",
    f"CONSUMER.CREATE.{LOG.name}.mine.foresail.{CLUSTER}.decision",
    f"CONSUMER.CREATE.{OTHER}.mine",
    f"CONSUMER.DURABLE.CREATE.{LOG.name}.mine",
)
CALLS = (
    "INFO",
    "STREAM.NAMES",
    "STREAM.LIST",
    "STREAM.CREATE.MINE",
    f"STREAM.UPDATE.{LOG.name}",
    f"STREAM.DELETE.{LOG.name}",
    f"STREAM.DELETE.{OTHER}",
    f"STREAM.PURGE.{LOG.name}",
    f"STREAM.PURGE.{OTHER}",
    f"STREAM.INFO.{OTHER}",
    f"STREAM.SNAPSHOT.{LOG.name}",
    "STREAM.RESTORE.MINE",
    f"STREAM.MSG.GET.{OTHER}",
    f"STREAM.MSG.DELETE.{LOG.name}",
    f"STREAM.MSG.DELETE.{OTHER}",
    f"STREAM.LEADER.STEPDOWN.{LOG.name}",
    f"DIRECT.GET.{OTHER}",
    f"DIRECT.GET.{OTHER}.{OTHER_SUBJECT}",
    f"CONSUMER.NAMES.{LOG.name}",
    f"CONSUMER.LIST.{LOG.name}",
    f"CONSUMER.INFO.{LOG.name}.{DURABLE}",
    f"CONSUMER.DELETE.{LOG.name}.{DURABLE}",
    f"CONSUMER.PAUSE.{LOG.name}.{DURABLE}",
    f"CONSUMER.UNPIN.{LOG.name}.{DURABLE}",
    f"CONSUMER.MSG.NEXT.{LOG.name}.{DURABLE}",
    "ACCOUNT.PURGE.MAIN",
)
"""JetStream calls of the bootstrap alone."""
DELIVER_TO = (
    f"foresail.{CLUSTER}.decision",
    OTHER_SUBJECT,
    "cmd.run",
    f"live.foresail.{CLUSTER}.x",
)
"""Where a push consumer would inject."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One publish that must be refused."""

    group: str
    subject: str
    body: bytes = b"{ }"
    """Differs from what the witness sends, so that the two can be distinguished."""


def every_subject() -> tuple[str, ...]:
    """Return every stored subject of the table."""
    return tuple(subject for identity in IDENTITIES for subject in identity.subjects(CLUSTER))


def publishes(identity: Identity) -> Iterator[Attempt]:
    """Yield every publish that is not the identity's to make."""
    own = set(identity.subjects(CLUSTER))
    yield from (
        Attempt("another's subject", subject) for subject in every_subject() if subject not in own
    )
    for one in (*sorted(own), f"foresail.{CLUSTER}"):
        yield Attempt("a subject beside its own", f"{one}.more")
    yield Attempt("a subject beside its own", subjects.build("elsewhere", ("decision",)))
    for one in (*sorted(own), f"foresail.{CLUSTER}.decision", "x"):
        yield Attempt("the live feed", subjects.live(one))
    for other in IDENTITIES:
        if other is not identity or not identity.sends_heartbeats:
            yield Attempt("another's heartbeat", subjects.health(CLUSTER, other.name))
        if other is not identity:
            yield Attempt("another's inbox", f"{INBOX}_{other.name}.a.b")
    for subject in (f"{INBOX}.a.b", "_R_.a", OTHER_SUBJECT, "cmd.run"):
        yield Attempt("no subject of ours", subject)
    for call in ("SERVER.PING", "SERVER.PING.CONNZ", "ACCOUNT.MAIN.CONNZ", "ACCOUNT.PING.STATZ"):
        yield Attempt("the system", f"$SYS.REQ.{call}")
    if not identity.administers:
        yield from _calls()
    yield Attempt("an acknowledgement", f"$JS.ACK.{LOG.name}.{DURABLE}.1.1.1.1.0", b"+TERM")


def _calls() -> Iterator[Attempt]:
    for prefix in (API, IMPORTED_API):
        for call in CALLS:
            yield Attempt("a JetStream call", f"{prefix}.{call}")
        for call in CONSUMER_CALLS:
            for target in DELIVER_TO:
                yield Attempt("a consumer that delivers", f"{prefix}.{call}", _consumer(target))
    for call in (f"STREAM.INFO.{LOG.name}", f"DIRECT.GET.{LOG.name}"):
        yield Attempt("a JetStream call", f"{API}.{call}")
    yield Attempt("a JetStream call", f"{API}.DIRECT.GET.{LOG.name}.foresail.{CLUSTER}.decision")


def _consumer(deliver_to: str) -> bytes:
    config = {"name": "mine", "deliver_subject": deliver_to, "ack_policy": "none"}
    return json.dumps({"stream_name": LOG.name, "config": config}).encode()


def subscriptions(identity: Identity) -> Iterator[str]:
    """Yield every subscription that is not the identity's to make."""
    yield from (">", "*", "*.>", "foresail.>", f"foresail.{CLUSTER}.>", "live.>", "health.>")
    yield from (f"foresail.{CLUSTER}.decision", f"foresail.{CLUSTER}.control", OTHER_SUBJECT)
    yield from ("$SYS.>", "$JS.>", f"{API}.>", "$JS.ACK.>", f"{IMPORTED_API}.>", "_R_.>", "cmd.>")
    if not identity.receives_heartbeats:
        yield subjects.health(CLUSTER, "*")
    if identity.name != "reader":
        yield f"{INBOX}.>"
    for other in IDENTITIES:
        if other is not identity:
            yield f"{INBOX}_{other.name}.>"


def requests(identity: Identity) -> Iterator[tuple[str, bytes]]:
    """Yield every request that the identity may make: each can name a reply subject."""
    for subject in identity.subjects(CLUSTER):
        yield subject, b'{"injected": true}'
    if identity.reads:
        yield f"{IMPORTED_API}.STREAM.INFO.{LOG.name}", b"{}"
        yield f"{IMPORTED_API}.DIRECT.GET.{LOG.name}.foresail.{CLUSTER}.control", b""
        bodies: tuple[dict[str, Any], ...] = (
            {"seq": 1},
            {"last_by_subj": f"foresail.{CLUSTER}.control"},
            {"seq": 1, "batch": 3, "next_by_subj": f"foresail.{CLUSTER}.>"},
            {"multi_last": [f"foresail.{CLUSTER}.>"]},
            {"seq": 10**9},
        )
        for body in bodies:
            yield f"{IMPORTED_API}.DIRECT.GET.{LOG.name}", json.dumps(body).encode()


def reply_targets(identity: Identity) -> Iterator[str]:
    """Yield where a reply must never arrive in the account of the log."""
    own = set(identity.subjects(CLUSTER))
    yield from (subject for subject in every_subject() if subject not in own)
    yield from (OTHER_SUBJECT, "cmd.run", subjects.live(f"foresail.{CLUSTER}.nobody"))
    yield from (subjects.health(CLUSTER, "referee"), f"{INBOX}_bootstrap.a.b")
    yield from (f"{API}.STREAM.PURGE.{OTHER}", f"{API}.STREAM.DELETE.{OTHER}")
    yield f"{API}.CONSUMER.DELETE.{LOG.name}.{DURABLE}"


def headers() -> tuple[tuple[str, Mapping[str, str]], ...]:
    """Return headers by which a publish on one's own subject would do more than store."""
    decision = f"foresail.{CLUSTER}.decision"
    schedule = {"Nats-Schedule": "@at 2020-01-01T00:00:00Z", "Nats-Schedule-Target": decision}
    return (
        ("remove what was stored before (subject)", {"Nats-Rollup": "sub"}),
        ("remove what was stored before (all)", {"Nats-Rollup": "all"}),
        ("a time to live", {"Nats-TTL": "1s"}),
        ("a scheduled message for another subject", schedule),
        ("a counter", {"Nats-Incr": "+1"}),
        ("another stream", {"Nats-Expected-Stream": OTHER}),
    )
