"""What a server and other processes send: acknowledgements, headers, time stamps and heartbeats."""

from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from bus.errors import BusUnavailable
from bus.nats_wire import nanoseconds, read_ack, status_of, stored_message
from bus.recording.format import rfc3339_nanoseconds
from foresail.status import parse_heartbeat
from tests.fuzz.mutation import FUZZ, ODD_TEXTS, broken_encodings

ACK = {"stream": "s", "seq": 7, "duplicate": True, "error": {"err_code": 10071, "description": "x"}}
TIMES = (
    st.integers(0, 4 * 10**18).map(rfc3339_nanoseconds)
    | st.sampled_from(ODD_TEXTS)
    | st.from_regex(
        r"[0-9]{4}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-6][0-9](\.[0-9+-]{0,12})?Z?",
        fullmatch=True,
    )
)
HEADERS = {
    "Nats-Sequence": "7",
    "Nats-Time-Stamp": "2026-01-01T00:00:00.5Z",
    "Nats-Subject": "foresail.c.decision",
    "ce-id": "x",
}


@FUZZ
@given(broken_encodings(ACK))
def test_an_acknowledgement_of_any_form(data: bytes) -> None:
    """BusUnavailable is the only refusal; what is accepted has a position and a code as numbers."""
    try:
        ack = read_ack(data)
    except BusUnavailable:
        return
    assert type(ack.seq) is type(ack.error_code) is int
    assert isinstance(ack.description, str)
    assert ack.seq >= 0


@FUZZ
@given(
    st.dictionaries(st.sampled_from([*HEADERS, "Status", "x"]), st.sampled_from(ODD_TEXTS) | TIMES)
)
def test_headers_of_any_form(changed: dict[str, str]) -> None:
    """BusUnavailable is the only refusal of a stored message's headers."""
    headers = {**HEADERS, **changed}
    assert isinstance(status_of(headers), str)
    try:
        message = stored_message(headers, b"")
    except BusUnavailable:
        return
    assert message.seq > 0
    assert set(message.headers) <= {"ce-id", "Status", "x"}


@FUZZ
@given(TIMES)
def test_a_time_stamp_of_any_form(text: str) -> None:
    """A time stamp is exact to the nanosecond or refused."""
    try:
        actual = nanoseconds(text)
    except ValueError:
        return
    whole = datetime.fromisoformat(text[:19]).replace(tzinfo=UTC)
    assert 0 <= actual - int(whole.timestamp()) * 10**9 < 10**9


@FUZZ
@given(st.integers(0, 9 * 10**18))
def test_a_time_stamp_is_read_back(time_ns: int) -> None:
    """What recordings write is read to the same nanosecond."""
    assert time_ns == nanoseconds(rfc3339_nanoseconds(time_ns))


@FUZZ
@given(broken_encodings({"state": "live", "pid": 7, "seq": 3, "trouble": ""}))
def test_a_heartbeat_of_any_form(payload: bytes) -> None:
    """A heartbeat that nobody of ours sent is passed over."""
    heartbeat = parse_heartbeat(payload)

    assert heartbeat is None or (
        type(heartbeat["pid"]) is int and isinstance(heartbeat["state"], str)
    )
