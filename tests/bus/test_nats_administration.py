"""Questions about a log to a server that is busy with other work."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from nats.errors import ConnectionClosedError
from nats.errors import TimeoutError as NatsTimeout

from bus.errors import BusUnavailable
from bus.nats_connection import ACK_SECONDS, ADMINISTRATION_SECONDS, api_call

CALL = "STREAM.DELETE.log"


class Client:
    """A connection on which the next questions fail as said; then they are answered."""

    is_connected = True

    def __init__(self, *failures: Exception) -> None:
        self.failures = list(failures)
        self.asked = 0

    async def request(self, subject: str, body: bytes, timeout: float) -> Any:  # noqa: ASYNC109 - the library's
        """Fail, or answer."""
        assert (subject, body, timeout) == (f"$JS.API.{CALL}", b"{}", ACK_SECONDS)
        self.asked += 1
        if self.failures:
            raise self.failures.pop(0)
        return SimpleNamespace(data=b'{"success": true}')


async def test_what_is_not_answered_in_time_is_asked_again() -> None:
    """Up to a far bound; creating or removing a log twice does what doing it once does."""
    slow, silent = Client(NatsTimeout(), NatsTimeout()), Client(*[NatsTimeout()] * 1_000)
    asked: Any = slow
    assert await api_call(asked, CALL, {}) == {"success": True}
    assert slow.asked == 3
    asked = silent
    with pytest.raises(BusUnavailable, match=f"does not answer {CALL}"):
        await api_call(asked, CALL, {})
    assert silent.asked * ACK_SECONDS == ADMINISTRATION_SECONDS


async def test_a_lost_connection_is_not_asked_again() -> None:
    """Nobody would answer on it."""
    client = Client(ConnectionClosedError())
    asked: Any = client
    with pytest.raises(BusUnavailable):
        await api_call(asked, CALL, {})
    assert client.asked == 1
