"""nats-py's client with a cheaper reading of headers, and without a memory across connections.

The library checks every character of every header name of every message; our events carry about 17
headers with the same few names, so that check alone was a fifth of what receiving cost. Here a name
is checked once and remembered. What is read is the same (a test compares the two).

Every process receives every event, because only then can it notice a hole, but most use a few types.
A feed gets each message as it came, without a queue and a task in between, and parses what it needs.

The library also keeps what it could not send and sends it over the next connection, unasked. Such an
event may be based on messages that the log has lost meanwhile; its publisher tries again anyway, and
checks the log first.

This overrides private methods of nats-py, so pyproject.toml caps its version, and
tests/bus/test_nats_py_contract.py holds every private name used here against the installed one.
"""

from __future__ import annotations

import bus.lean_nats  # noqa: F401  # before nats itself

# isort: split

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from nats.aio.client import Client
from nats.aio.subscription import Subscription

_REFUSAL = re.compile('permissions violation for publish to "([^"]+)"')  # the library lowers it

Feed = Callable[[bytes, bytes, bytes], None]
"""Takes subject, headers as they came, and payload of one message; must not raise."""


class LightClient(Client):
    """A NATS client that remembers header names and can forget what it has not sent."""

    def __init__(self) -> None:
        super().__init__()
        self._feeds: dict[int, Feed] = {}
        self._refused: set[str] = set()

    async def feed(self, subject: str, on_message: Feed) -> Subscription:
        """Subscribe with a callback that runs while the connection is read."""

        async def late(message: Any) -> None:
            raise AssertionError(f"a feed has no queue: {message.subject}")

        sid = self._sid + 1  # what the library gives to the next subscription
        self._feeds[sid] = on_message
        subscription = await self.subscribe(subject, cb=late)
        if self._subs.get(sid) is not subscription:
            raise AssertionError("nats-py numbers its subscriptions in another way now")
        return subscription

    async def _process_msg(
        self, sid: int, subject: bytes, reply: bytes, data: bytes, headers: bytes
    ) -> None:
        on_message = self._feeds.get(sid)
        if on_message is None:
            await super()._process_msg(sid, subject, reply, data, headers)
        elif sid in self._subs:
            self.stats["in_msgs"] += 1
            self.stats["in_bytes"] += len(data)
            on_message(subject, headers, data)
        else:
            del self._feeds[sid]

    def may_publish(self, subject: str) -> bool:
        """Say whether the server has not refused this login's messages on a subject."""
        return subject.lower() not in self._refused

    async def _process_err(self, err_msg: str) -> None:
        refusal = _REFUSAL.search(err_msg)
        if refusal:
            self._refused.add(refusal.group(1))
        await super()._process_err(err_msg)

    async def switch_server(self) -> None:
        """Connect to another server of the same cluster, where one is known."""
        if len(self._server_pool) > 1:
            await self.force_reconnect()

    def forget_unsent(self) -> None:
        """Drop what waits to be sent; subscriptions are renewed by the library in any case."""
        self._pending = []
        self._pending_data_size = 0

    @staticmethod
    def parse_headers(raw: bytes) -> dict[str, str]:
        """Read headers as they came, the protocol's line first."""
        return LightClient._parse_header_lines(raw.partition(b"\r\n")[2])

    @staticmethod
    def _parse_header_lines(raw: bytes) -> dict[str, str]:
        headers: dict[str, str] = {}
        for line in raw.split(b"\r\n"):
            before, colon, value = line.partition(b":")
            if colon and (name := _header_name(before)) is not None:
                headers[name] = value.strip().decode("utf-8", "replace")
        return headers


@lru_cache(maxsize=1_024)
def _header_name(raw: bytes) -> str | None:
    """Return a header's name; None for one that the library ignores, too."""
    try:
        name = raw.strip().decode("ascii")
    except UnicodeDecodeError:
        return None
    return None if any(char.isspace() for char in name) else name
