"""Envelope, identity and codec: equal facts are equal bytes, and everything that was said can be
read.
"""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.control import Command, Control
from schemas.envelope import NewEvent, attributes_of, headers_of, stamp
from schemas.identity import Origin, cycle_of, event_id, traceparent
from schemas.numbers import rounded
from schemas.registry import UnknownEvent, decode, encode
from schemas.upcast import upcast

ORIGIN = Origin("twin", "i1")


def control(text: str = "") -> NewEvent:
    """Return a small new event."""
    data = Control(command=Command.KILL, nonce="n1", wall_time_seconds=1.5, text=text)
    return NewEvent(data, 7, 1_700_000_000.25, ("cause-a", "cause-b"))


@given(st.text(max_size=60))
def test_decode_undoes_encode(text: str) -> None:
    """Any text survives the way through headers and JSON."""
    if text.encode("utf-8", "ignore").decode() != text:
        return
    event = stamp(control(text), ORIGIN, "operator", "hash")
    encoded = encode(event)

    assert event == decode(encoded.subject, encoded.headers, encoded.data)


def test_the_same_draft_is_the_same_bytes() -> None:
    """Stamping twice gives one identity and one encoding."""
    first, second = (encode(stamp(control(), ORIGIN, "operator", "hash")) for _ in range(2))

    assert first == second


def test_headers_are_cloudevents_in_binary_mode() -> None:
    """The attributes that CloudEvents asks for are there, with our correlation and causes."""
    headers = headers_of(stamp(control(), ORIGIN, "operator", "hash"))

    assert "1.0" == headers["ce-specversion"]
    assert "foresail.control.v1" == headers["ce-type"]
    assert "/foresail/twin/i1/operator" == headers["ce-source"]
    assert "2023-11-14T22:13:20.250000Z" == headers["ce-time"]
    assert "twin/i1/7" == headers["ce-correlationid"]
    assert "cause-a cause-b" == headers["ce-causationid"]
    assert headers["ce-id"] == headers["Nats-Msg-Id"]


def test_header_names_are_read_without_case() -> None:
    """A proxy that changes the case of header names does no harm."""
    assert {"id": "x%"} == attributes_of({"Ce-Id": "x%25"})


def test_an_id_depends_on_what_the_event_is_about_and_on_nothing_else() -> None:
    """Cycle, key and incarnation change the id; causes and time do not enter it."""
    base = event_id(ORIGIN, "referee", "t", cycle=1)

    assert base == event_id(ORIGIN, "referee", "t", cycle=1)
    others = {
        event_id(ORIGIN, "referee", "t", cycle=2),
        event_id(ORIGIN, "referee", "t", cycle=1, key="k"),
        event_id(Origin("twin", "i2"), "referee", "t", cycle=1),
        event_id(ORIGIN, "executor", "t", cycle=1),
    }
    assert 4 == len(others - {base})


def test_one_cycle_is_one_trace() -> None:
    """All events of a cycle share the trace id and differ in the span."""
    one, two = (traceparent(ORIGIN, 3, name).split("-") for name in ("a", "b"))

    assert one[1] == two[1]
    assert one[2] != two[2]


def test_the_cycle_is_read_back_from_the_correlation_id() -> None:
    """The cycle number survives names with slashes."""
    assert 12 == cycle_of(Origin("a/b", "i").correlation_id(12))


def test_readers_ignore_fields_of_newer_producers() -> None:
    """An additive change of a producer does not break a reader."""
    encoded = encode(stamp(control(), ORIGIN, "operator", "hash"))
    newer = json.dumps({**json.loads(encoded.data), "colour": "green"}).encode()

    assert "kill" == decode(encoded.subject, encoded.headers, newer).data.command


@pytest.mark.parametrize(
    ("headers", "data", "message"),
    [
        ({}, b"{}", "no ce-specversion"),
        ({"ce-specversion": "1.0", "ce-type": "other.v1"}, b"{}", "unknown or missing"),
        ({"ce-specversion": "1.0", "ce-type": "foresail.control.v1"}, b"{", "does not fit"),
    ],
)
def test_a_message_that_is_no_event_says_why(
    headers: dict[str, str], data: bytes, message: str
) -> None:
    """Foreign or broken messages are named, not guessed at."""
    with pytest.raises(UnknownEvent, match=message):
        decode("foresail.twin.control", headers, data)


def test_numbers_are_finite_and_have_six_decimals() -> None:
    """NaN never enters an event, and minus zero is zero."""
    assert 0.123457 == rounded(0.1234567)
    assert "0.0" == str(rounded(-0.0))
    with pytest.raises(ValueError, match="finite"):
        rounded(float("nan"))


def test_upcasters_run_in_a_chain() -> None:
    """Data two versions old goes through both steps."""
    steps = {
        "a.v1": ("a.v2", lambda data: {**data, "two": 2}),
        "a.v2": ("a.v3", lambda data: {**data, "three": 3}),
    }

    assert ("a.v3", {"two": 2, "three": 3}) == upcast("a.v1", {}, steps)


def test_upcasters_in_a_circle_are_refused() -> None:
    """A wrong registration is an error, not an endless loop."""
    with pytest.raises(ValueError, match="circle"):
        upcast("a", {}, {"a": ("b", dict), "b": ("a", dict)})
