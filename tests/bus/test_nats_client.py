"""The light client reads headers exactly as the library does."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from nats.aio.client import Client

from bus.nats_client import LightClient
from bus.nats_wire import position_only, stored_message

LINES = st.lists(
    st.one_of(st.binary(max_size=30), st.sampled_from([b"ce-id: 1", b"a:b", b"a b: c", b":x"]))
)


@given(LINES)
def test_headers_are_read_as_the_library_reads_them(lines: list[bytes]) -> None:
    """Any bytes, well formed or not, give the headers that nats-py's own client gives."""
    raw = b"\r\n".join(lines)
    assert LightClient._parse_header_lines(raw) == Client._parse_header_lines(raw)


@given(
    st.dictionaries(st.sampled_from(["ce-id", "Nats-Sequence", "Nats-Time-Stamp"]), st.text("19ab"))
)
def test_the_place_of_a_skipped_message_is_the_place_of_a_read_one(own: dict[str, str]) -> None:
    """Whatever headers a publisher wrote, the server's own say where a message stands."""
    server = ["Nats-Subject: a.b", "Nats-Sequence: 7", "Nats-Time-Stamp: 2026-01-01T00:00:00.5Z"]
    lines = ["NATS/1.0", *(f"{name}: {value}" for name, value in own.items()), *server, "", ""]
    raw = "\r\n".join(lines).encode()
    read, skipped = stored_message(LightClient.parse_headers(raw), b"{}"), position_only("a.b", raw)
    assert (skipped.seq, skipped.time_ns, skipped.subject) == (7, read.time_ns, "a.b")
    assert read.seq == 7
