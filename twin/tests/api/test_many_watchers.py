"""Many watchers beside many writers: each sees every change once and in order, written down once for all."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.patience import HANGS_SECONDS
from twin.api import watching
from twin.api.server import ApiServer
from twin.api.tokens import Tokens
from twin.engine import Engine

PODS = "/api/v1/namespaces/default/pods"
WATCHERS, WRITERS, EACH = 10, 8, 250


class Client:
    """Asks an application as an HTTP server hands requests to it."""

    def __init__(self, server: ApiServer, token: str) -> None:
        self._server = server
        self._headers = [(b"authorization", f"Bearer {token}".encode())]

    async def ask(
        self, method: str, query: str, body: bytes, take: Callable[[dict[str, Any]], None]
    ) -> None:
        """Send one request; each message of its answer goes to `take`."""
        scope = {
            "type": "http",
            "method": method,
            "path": PODS,
            "raw_path": PODS.encode(),
            "query_string": query.encode(),
            "headers": [*self._headers, (b"content-type", b"application/json")],
        }
        sent = False

        async def receive() -> dict[str, Any]:
            nonlocal sent
            if sent:
                await asyncio.Event().wait()
            sent = True
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message: dict[str, Any]) -> None:
            take(message)

        await self._server(scope, receive, send)

    async def watch(self, since: int, lines: list[bytes]) -> None:
        """Collect the lines of a watch for ever."""
        rest = b""

        def take(message: dict[str, Any]) -> None:
            nonlocal rest
            *whole, rest = (rest + message.get("body", b"")).split(b"\n")
            lines.extend(whole)

        await self.ask("GET", f"watch=true&resourceVersion={since}", b"", take)

    async def write(self, names: list[str]) -> None:
        """Create pods one after the other."""
        for name in names:
            container = {"name": "c", "image": "i"}
            spec = {"containers": [container], "schedulerName": "nobody"}
            codes: list[int] = []
            await self.ask(
                "POST",
                "",
                json.dumps({"metadata": {"name": name}, "spec": spec}).encode(),
                lambda message, codes=codes: codes.append(message.get("status", 0)),
            )
            assert codes[0] == 201


async def test_each_watcher_sees_every_change_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten watchers see 2,000 pods of eight writers, each once and in the order of their versions, and an
    object is encoded once for all of them.
    """
    encoded: list[int] = []
    encode = watching.object_bytes

    def count(resource: str, record: Any) -> bytes:
        encoded.append(record.resource_version)
        return encode(resource, record)

    monkeypatch.setattr(watching, "object_bytes", count)
    engine, tokens = Engine(None, 1), Tokens.draw()
    client = Client(ApiServer(engine, tokens), tokens.of_all()["admin"])
    seen: list[list[bytes]] = [[] for _ in range(WATCHERS)]
    since = engine.store.resource_version
    watches = [asyncio.ensure_future(client.watch(since, lines)) for lines in seen]
    await asyncio.sleep(0.01)
    parts = [[f"p-{writer}-{number}" for number in range(EACH)] for writer in range(WRITERS)]
    await asyncio.gather(*(client.write(names) for names in parts))
    async with asyncio.timeout(HANGS_SECONDS):
        while any(len(lines) < WRITERS * EACH for lines in seen):
            await asyncio.sleep(0.01)
    for each in watches:
        each.cancel()
    events = [json.loads(line) for line in seen[0]]
    versions = [int(event["object"]["metadata"]["resourceVersion"]) for event in events]
    names = {event["object"]["metadata"]["name"] for event in events}
    assert {event["type"] for event in events} == {"ADDED"}
    assert versions == sorted(set(versions))
    assert len(events) == len(names) == WRITERS * EACH
    assert all(lines == seen[0] for lines in seen)
    assert len(encoded) == len(set(encoded)) == WRITERS * EACH
