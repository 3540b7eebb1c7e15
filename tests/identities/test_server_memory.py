"""Reading through an account leaves nothing behind on the server."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from bus.logins import new_logins
from bus.nats_adapter import NatsBus
from bus.nats_conf import MAIN, accounts_conf
from bus.nats_server import NatsServer
from bus.port import Message
from bus.ports import free_port
from bus.streams import StreamDeclaration
from services.identities import IDENTITIES

pytestmark = pytest.mark.nats

LOG = StreamDeclaration.of("c", "i1")
DECISION = "foresail.c.decision"
READS = 50


async def test_reads_leave_nothing_on_the_server(tmp_path: Path) -> None:
    """However often a process asks for the newest event or for history, the server keeps no trace of
    it; it would remember each batched answer for as long as its inbox stays open.
    """
    logins, port = new_logins(IDENTITIES), free_port()
    conf = accounts_conf("c", LOG.name, logins)
    server = NatsServer(tmp_path, accounts=f'{conf}http: "127.0.0.1:{port}"\n')
    url = await server.start()
    try:
        await NatsBus.declare(url, LOG, login=logins["bootstrap"])
        login = logins["referee"]
        bus = await NatsBus.connect(url, cluster="c", stream=LOG.name, login=login)
        await bus.publish([Message(DECISION, {}, b"{}")])
        for _ in range(READS):
            assert await bus.last(DECISION) is not None
            assert 1 == len([message async for message in bus.history([DECISION])])
        await bus.info()
        left = await asyncio.to_thread(open_answers, port)
        await bus.close()
    finally:
        await server.stop()

    assert left <= 1  # the inbox of the last read may just be going


def open_answers(port: int) -> int:
    """Return how many open answers the log's account has."""
    with urlopen(f"http://127.0.0.1:{port}/accountz?acc={MAIN}") as answer:
        detail: dict[str, Any] = json.loads(answer.read())["account_detail"]
    return len(detail.get("responses") or {})
