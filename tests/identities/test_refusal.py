"""A process with somebody else's login is told so, instead of waiting for ever."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest

from bus.errors import BusUnavailable, NotPermitted
from bus.logins import new_logins
from bus.nats_adapter import NatsBus
from bus.nats_conf import accounts_conf
from bus.nats_server import NatsServer
from bus.port import Message
from bus.streams import StreamDeclaration
from services.identities import IDENTITIES

pytestmark = pytest.mark.nats

LOG = StreamDeclaration.of("c", "i1")
DECISION = "foresail.c.decision"


async def test_a_subject_of_somebody_else_is_refused_by_name(tmp_path: Path) -> None:
    """The reader's decision is refused in one sentence, nothing is stored, and reading goes on."""
    logins = new_logins(IDENTITIES)
    server = NatsServer(tmp_path, accounts=accounts_conf("c", LOG.name, logins))
    url = await server.start()
    try:
        await NatsBus.declare(url, LOG, login=logins["bootstrap"])
        bus = await NatsBus.connect(url, cluster="c", stream=LOG.name, login=logins["reader"])
        with pytest.raises(NotPermitted, match=f"may not publish {DECISION}"):
            await bus.publish([Message(DECISION, {}, b"{}")])
        stored = (await bus.info()).messages
        await bus.close()
    finally:
        await server.stop()

    assert 0 == stored


async def test_a_refused_connection_leaves_no_socket_open(tmp_path: Path) -> None:
    """A client without a login is refused in one sentence, and nothing is left to clean up."""
    server = NatsServer(
        tmp_path, accounts=accounts_conf("c", LOG.name, new_logins(IDENTITIES), anonymous=False)
    )
    url = await server.start()
    try:
        with pytest.raises(BusUnavailable, match="Authorization"):
            await NatsBus.connect(url, cluster="c", stream=LOG.name)
        left = gc.collect()  # an open socket would warn here, and warnings are errors
    finally:
        await server.stop()

    assert left >= 0
