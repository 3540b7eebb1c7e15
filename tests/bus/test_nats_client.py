"""The light client reads headers exactly as the library does."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from nats.aio.client import Client

from bus.nats_client import LightClient

LINES = st.lists(
    st.one_of(st.binary(max_size=30), st.sampled_from([b"ce-id: 1", b"a:b", b"a b: c", b":x"]))
)


@given(LINES)
def test_headers_are_read_as_the_library_reads_them(lines: list[bytes]) -> None:
    """Any bytes, well formed or not, give the headers that nats-py's own client gives."""
    raw = b"\r\n".join(lines)
    assert LightClient._parse_header_lines(raw) == Client._parse_header_lines(raw)
