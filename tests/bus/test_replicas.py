"""A log that several servers keep: followers lag, leaders change, and a writer neither loses nor doubles
anything, nor takes its own message for another's.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from nats.errors import NoRespondersError

from bus.errors import AnotherWriter, BusUnavailable, StreamMissing
from bus.link import LinkCounts
from bus.nats_publish import JetStreamPublisher, NewestMessage
from bus.nats_wire import SIGNATURE, parse_got_message
from bus.port import LogInfo, Message, StoredMessage
from bus.replica_reads import LEASE_SECONDS, Backoff, is_led, read_without_holes
from bus.virtual_loop import run_virtual
from schemas.envelope import MESSAGE_ID

LOG = LogInfo(1, 6, 6, 600, -1, 0.0, replicas=3)
SUBJECT = "foresail.c.decision"


def message_at(seq: int, name: str = "", subject: str = SUBJECT) -> StoredMessage:
    """Return the message at a position."""
    return StoredMessage(seq, seq, subject, {MESSAGE_ID: name or f"m{seq}"}, b"{}")


@dataclass
class Lagging:
    """Replicas that show so much more with each question."""

    shown: list[Sequence[int]]
    log: LogInfo = LOG
    waited: float = 0.0

    async def batch(self, start_seq: int, end_seq: int) -> list[StoredMessage]:
        """Return what this replica has; two messages make a batch."""
        has = self.shown.pop(0) if len(self.shown) > 1 else self.shown[0]
        return [message_at(seq) for seq in has if seq >= start_seq][:2]

    async def info(self) -> LogInfo:
        """Return what the leader knows."""
        return self.log

    async def sleep(self, seconds: float) -> None:
        """Wait in no time."""
        self.waited += seconds

    async def read(self, start: int = 1, end: int = 6) -> list[int]:
        """Read a range; return the positions."""
        patience = Backoff(self.sleep)
        return [
            message.seq async for message in read_without_holes(self, start, end, patience=patience)
        ]


async def test_what_a_follower_has_not_got_yet_is_no_hole() -> None:
    """A batch that ends early, is empty or jumps is asked for again until everything was there."""
    replicas = Lagging([[1, 2], [], [1, 2, 3], [5, 6], [1, 2, 3, 4, 5, 6]])

    assert [1, 2, 3, 4, 5, 6] == await replicas.read()
    assert replicas.waited > 0


async def test_a_hole_that_everybody_shows_is_stepped_over() -> None:
    """A store that lost its middle must not end its readers; before that every replica had time."""
    replicas = Lagging([[1, 2, 5, 6]])

    assert [1, 2, 5, 6] == await replicas.read()
    assert replicas.waited >= 15


async def test_retention_and_the_leaders_own_end_are_believed_at_once() -> None:
    """What the leader says is gone, or was never there, is waited for by nobody."""
    lagging = Lagging([[4, 5, 6]], replace(LOG, first_seq=4))
    short = Lagging([[1, 2, 3]], replace(LOG, last_seq=3))

    assert [4, 5, 6] == await lagging.read()
    assert [1, 2, 3] == await short.read()
    assert (0, 0) == (lagging.waited, short.waited)


async def test_replicas_that_never_catch_up_are_an_outage() -> None:
    """Less than the whole range is never taken for all of it."""
    with pytest.raises(BusUnavailable, match="no replica shows position 4 of 6"):
        await Lagging([[1, 2, 3]]).read()


async def test_another_server_is_asked_every_few_seconds() -> None:
    """The one that does not help may be cut off from the others."""
    moves: list[float] = []
    replicas = Lagging([[]])

    async def switch_server() -> None:
        moves.append(replicas.waited)

    patience = Backoff(replicas.sleep, switch_server)
    while not patience.spent:
        await patience.wait()

    assert 5 == len(moves)
    assert moves[0] < 5


NEAR, FAR = {"active": 5_000_000}, {"active": round((LEASE_SECONDS + 1) * 1e9)}
OFFLINE = {"active": 0, "offline": True}


@pytest.mark.parametrize(
    ("cluster", "led"),
    [
        ({"leader": "n1", "replicas": [NEAR, NEAR]}, True),
        ({"leader": "n1", "replicas": [NEAR, FAR]}, True),
        ({"leader": "n1", "replicas": [FAR, FAR]}, False),
        ({"leader": "n1", "replicas": [OFFLINE, FAR]}, False),
        ({"leader": "", "replicas": [NEAR, NEAR]}, False),
        ({"replicas": [NEAR, NEAR]}, False),
        ({"leader": "n1", "replicas": [NEAR, NEAR, FAR, FAR]}, True),
        ({"leader": "n1", "replicas": [NEAR, FAR, FAR, FAR]}, False),
        ({}, False),
    ],
)
def test_only_a_leader_that_hears_the_others_is_believed(
    cluster: dict[str, Any], led: bool
) -> None:
    """A follower without a leader, and a leader without most of the others, answer for themselves."""
    assert led == is_led(cluster)


def ack(seq: int = 0, code: int = 0, text: str = "") -> bytes:
    """Return the server's answer to a publish."""
    error = {"error": {"code": 503, "err_code": code, "description": text}} if code else {}
    return json.dumps({"stream": "S", "seq": seq, **error}).encode()


@dataclass
class Server:
    """A client and the log behind it: answers publishes as told; the last answer repeats."""

    answers: list[bytes | Exception]
    newest_seq: int = 4
    newest_id: str = "m4"
    missing: bool = False
    max_payload: int = 1_048_576
    sent: list[dict[str, str]] = field(default_factory=list)
    moves: int = 0

    def new_inbox(self) -> str:
        """Return a word of its own."""
        return "_INBOX.us"

    def may_publish(self, subject: str) -> bool:
        """Allow everything."""
        return bool(subject)

    async def switch_server(self) -> None:
        """Count."""
        self.moves += 1

    async def request(self, _subject: str, _data: bytes, *, headers: Any, **_timeout: float) -> Any:
        """Answer one publish."""
        self.sent.append(headers)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return type("Reply", (), {"data": answer})

    async def newest(self, subject: str, at_least: int = 0) -> NewestMessage:
        """Return the newest message of the subject."""
        assert at_least >= 0
        return NewestMessage(message_at(self.newest_seq, self.newest_id, subject), "us")

    async def info(self) -> LogInfo:
        """Return the log, if it is there."""
        if self.missing:
            raise StreamMissing("no log")
        return LOG

    async def publish(self, name: str = "m5") -> tuple[int, ...]:
        """Publish one message as the product does."""
        publisher: Any = JetStreamPublisher(self, self, LinkCounts())  # type: ignore[arg-type]
        return tuple(await publisher.publish([Message(SUBJECT, {MESSAGE_ID: name}, b"{}")]))


REFUSED = ack(code=10071, text="wrong last sequence: 4")
IN_FLIGHT = ack(code=10164, text="wrong last sequence")


@pytest.mark.parametrize("refusal", [REFUSED, IN_FLIGHT])
def test_a_refusal_while_nothing_newer_is_stored_is_waited_out(refusal: bytes) -> None:
    """An earlier try is on its way to the replicas: the message before it is no other writer's."""
    server = Server([refusal, refusal, ack(5)])

    assert (5,) == run_virtual(server.publish)
    assert 3 == len(server.sent)


def test_a_newer_message_of_somebody_else_still_ends_the_writer() -> None:
    """Waiting out what is in flight does not let a second writer in."""
    server = Server([REFUSED])

    async def publish() -> None:
        publisher: Any = JetStreamPublisher(server, server, LinkCounts())  # type: ignore[arg-type]
        publisher._expected[SUBJECT] = 3
        await publisher.publish([Message(SUBJECT, {MESSAGE_ID: "m5"}, b"{}")])

    with pytest.raises(AnotherWriter):
        run_virtual(publish)
    assert 1 == len(server.sent)


@pytest.mark.parametrize("code", [10008, 10009, 10158, 10163, 10167])
def test_a_log_without_a_leader_is_waited_for(code: int) -> None:
    """What passes by itself is tried again, and is an outage when it lasts; it is never an end."""
    text = "JetStream system temporarily unavailable"
    lasting = Server([ack(code=code, text=text)])

    assert (5,) == run_virtual(Server([ack(code=code, text=text)] * 3 + [ack(5)]).publish)
    with pytest.raises(BusUnavailable, match=text):
        run_virtual(lasting.publish)
    assert lasting.moves > 1


def test_nobody_who_stores_is_an_outage_while_the_log_is_there() -> None:
    """An election takes up to nine seconds, in which nobody answers a publish."""
    nobody = NoRespondersError()

    assert (5,) == run_virtual(Server([*[nobody] * 14, ack(5)]).publish)
    with pytest.raises(BusUnavailable, match="nobody stores"):
        run_virtual(Server([nobody]).publish)
    with pytest.raises(StreamMissing):
        run_virtual(Server([nobody], missing=True).publish)


def test_the_leaders_answer_is_read_whole() -> None:
    """Position, time, headers without the server's and the writer's signature; no message is None."""
    headers = f"NATS/1.0\r\n{MESSAGE_ID}: m7\r\n{SIGNATURE}: us\r\nce-id: m7\r\n\r\n".encode()
    actual = {
        "subject": SUBJECT,
        "seq": 7,
        "hdrs": base64.b64encode(headers).decode(),
        "data": base64.b64encode(b"{}").decode(),
        "time": "2026-01-01T00:00:00.5Z",
    }
    message, signature = parse_got_message({"message": actual}) or (None, "")

    assert message is not None
    assert (7, SUBJECT, b"{}", "us") == (message.seq, message.subject, message.data, signature)
    assert {MESSAGE_ID: "m7", "ce-id": "m7"} == message.headers
    assert 500_000_000 == message.time_ns % 1_000_000_000
    assert parse_got_message({"error": {"err_code": 10037}}) is None
    for odd in ({"error": {"err_code": 10008, "description": "x"}}, {"message": 5}, {}):
        with pytest.raises(BusUnavailable):
            parse_got_message(odd)
