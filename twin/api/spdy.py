"""Frames of SPDY/3.1, in which kubectl carries a port-forward (inside a WebSocket, KEP-4006).

Only what two peers need that open streams with headers and send data: no priorities, no settings, no flow
control. Pure: bytes in, frames out. Source: the draft draft-mbelshe-httpbis-spdy-00, sections 2.2 to 2.6.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from twin.errors import ApiError, bad_request

SYN_STREAM, SYN_REPLY, RST_STREAM, PING, GOAWAY = 1, 2, 3, 6, 7
_VERSION = 3
FIN = 0x01
LARGEST_FRAME = 1 << 20
"""Bytes of a frame that is read; a data frame could have sixteen times as many."""
_LARGEST_HEADERS = 64 << 10
_WORDS = (
    "options head post put delete trace accept accept-charset accept-encoding accept-language accept-ranges "
    "age allow authorization cache-control connection content-base content-encoding content-language "
    "content-length content-location content-md5 content-range content-type date etag expect expires from host "
    "if-match if-modified-since if-none-match if-range if-unmodified-since last-modified location max-forwards "
    "pragma proxy-authenticate proxy-authorization range referer retry-after server te trailer transfer-encoding "
    "upgrade user-agent vary via warning www-authenticate method get status"
)
_MORE_WORDS = (
    "200 OK",
    "version",
    "HTTP/1.1",
    "url",
    "public",
    "set-cookie",
    "keep-alive",
    "origin",
)
_CODES = (
    "100 101 201 202 205 206 300 302 303 304 305 306 307 402 405 406 407 408 409 410 411 412 413 414 415 416 "
    "417 502 504 505"
)
_TAIL = (
    "203 Non-Authoritative Information204 No Content301 Moved Permanently400 Bad Request401 Unauthorized"
    "403 Forbidden404 Not Found500 Internal Server Error501 Not Implemented503 Service Unavailable"
    "Jan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec 00:00:00 Mon, Tue, Wed, Thu, Fri, Sat, Sun, GMT"
    "chunked,text/html,image/png,image/jpg,image/gif,application/xml,application/xhtml+xml,text/plain,"
    "text/javascript,publicprivatemax-age=gzip,deflate,sdchcharset=utf-8charset=iso-8859-1,utf-,*,enq=0."
)


def _dictionary() -> bytes:
    """Return what both sides' compression of headers begins with (section 2.6.10.1)."""
    words = [*_WORDS.split(), *_MORE_WORDS]
    listed = b"".join(struct.pack(">I", len(word)) + word.encode() for word in words)
    return listed + _CODES.replace(" ", "").encode() + _TAIL.encode()


DICTIONARY = _dictionary()


@dataclass(frozen=True, slots=True)
class Opened:
    """A stream that the peer has opened."""

    stream: int
    headers: Mapping[str, str]
    ends: bool
    """Whether the peer will send nothing on it."""


@dataclass(frozen=True, slots=True)
class Data:
    """A piece of a stream."""

    stream: int
    data: bytes
    ends: bool


@dataclass(frozen=True, slots=True)
class Reset:
    """A stream that the peer has given up."""

    stream: int


@dataclass(frozen=True, slots=True)
class Ping:
    """A ping, to be answered with the same id."""

    number: int


Frame = Opened | Data | Reset | Ping


@dataclass(slots=True)
class Framer:
    """Reads the frames of a peer, and writes ours; one for each connection."""

    _rest: bytes = b""
    _inflater: zlib._Decompress = field(
        default_factory=lambda: zlib.decompressobj(zdict=DICTIONARY)
    )
    _deflater: zlib._Compress = field(default_factory=lambda: zlib.compressobj(zdict=DICTIONARY))

    def read(self, data: bytes) -> Iterator[Frame]:
        """Yield the frames that are whole by now; raises ApiError 400 for what is no SPDY."""
        self._rest += data
        while len(self._rest) >= 8:
            head, flags_length = struct.unpack_from(">II", self._rest)
            flags, length = flags_length >> 24, flags_length & 0xFFFFFF
            if length > LARGEST_FRAME:
                raise bad_request(f"a frame of {length} bytes; at most {LARGEST_FRAME} are read")
            if len(self._rest) < 8 + length:
                return
            payload, self._rest = self._rest[8 : 8 + length], self._rest[8 + length :]
            if not head >> 31:
                yield Data(head, payload, bool(flags & FIN))
                continue
            if (head >> 16) & 0x7FFF != _VERSION:
                raise bad_request("the frames are not those of SPDY/3.1")
            frame = self._control(head & 0xFFFF, flags, payload)
            if frame is not None:
                yield frame

    def _control(self, kind: int, flags: int, payload: bytes) -> Frame | None:
        try:
            number = struct.unpack_from(">I", payload)[0] & 0x7FFFFFFF
            if kind == SYN_STREAM:
                return Opened(number, self._headers(payload[10:]), bool(flags & FIN))
            if kind == RST_STREAM:
                return Reset(number)
            return Ping(struct.unpack_from(">I", payload)[0]) if kind == PING else None
        except (struct.error, zlib.error, UnicodeDecodeError) as error:
            raise bad_request(f"a frame of SPDY/3.1 is malformed: {error}") from error

    def _headers(self, block: bytes) -> dict[str, str]:
        plain = self._inflater.decompress(block, _LARGEST_HEADERS)
        if self._inflater.unconsumed_tail:
            raise _too_many_headers()
        (count,) = struct.unpack_from(">I", plain)
        texts, place = [], 4
        for _ in range(2 * min(count, 1_000)):
            (length,) = struct.unpack_from(">I", plain, place)
            texts.append(plain[place + 4 : place + 4 + length].decode())
            place += 4 + length
        return dict(zip(texts[::2], texts[1::2], strict=True))

    def reply(self, stream: int) -> bytes:
        """Return a frame that accepts a stream, without headers."""
        block = self._deflater.compress(struct.pack(">I", 0))
        block += self._deflater.flush(zlib.Z_SYNC_FLUSH)
        return _control_frame(SYN_REPLY, struct.pack(">I", stream) + block)

    def data(self, stream: int, data: bytes, *, ends: bool = False) -> bytes:
        """Return a frame with a piece of a stream."""
        return struct.pack(">II", stream, (FIN << 24 if ends else 0) | len(data)) + data

    def ping(self, number: int) -> bytes:
        """Return the answer to a ping."""
        return _control_frame(PING, struct.pack(">I", number))

    def goaway(self, last_stream: int) -> bytes:
        """Return a frame that ends the connection in good order."""
        return _control_frame(GOAWAY, struct.pack(">II", last_stream, 0))


def _control_frame(kind: int, payload: bytes) -> bytes:
    return struct.pack(">HHI", 0x8000 | _VERSION, kind, len(payload)) + payload


def _too_many_headers() -> ApiError:
    return bad_request(f"headers of a stream are over {_LARGEST_HEADERS} bytes")
