"""Follows the Jobs or pods of a session: a list, then a watch from there on, again and again."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import Any

from services.byte_stream import StreamOpened
from services.cluster import ClusterRefused, ClusterUnavailable
from services.kube_follow import WatchTransport

WATCH_SECONDS = 300
SILENT_SECONDS = 330.0
FIRST_WAIT_SECONDS = 0.2
LONGEST_WAIT_SECONDS = 10.0
GONE = "DELETED"

Change = tuple[str, dict[str, Any]]
"""(ADDED, MODIFIED or DELETED; the object)"""


async def object_changes(
    transport: WatchTransport, path: str, selector: str
) -> AsyncIterator[Change]:
    """Yield every object there is, then every change, without end.

    What was deleted while no watch was open is yielded as deleted after the next list.
    """
    known: dict[str, dict[str, Any]] = {}
    wait = FIRST_WAIT_SECONDS
    while True:
        try:
            async with aclosing(_list_and_watch(transport, path, selector, known)) as changes:
                async for kind, item in changes:
                    name = item["metadata"]["name"]
                    if kind == GONE:
                        known.pop(name, None)
                    else:
                        known[name] = item
                    wait = FIRST_WAIT_SECONDS
                    yield kind, item
        except ClusterUnavailable:
            await asyncio.sleep(wait)
            wait = min(2 * wait, LONGEST_WAIT_SECONDS)
        except ClusterRefused as error:
            if error.status != 410:
                raise


async def _list_and_watch(
    transport: WatchTransport, path: str, selector: str, known: dict[str, dict[str, Any]]
) -> AsyncGenerator[Change]:
    listed = json.loads((await transport.request("GET", path, {"labelSelector": selector})).body)
    there = {item["metadata"]["name"] for item in listed["items"]}
    for name in [name for name in known if name not in there]:
        yield GONE, known[name]
    for item in listed["items"]:
        yield "ADDED", item
    query = {
        "labelSelector": selector,
        "watch": "true",
        "resourceVersion": listed["metadata"]["resourceVersion"],
        "timeoutSeconds": str(WATCH_SECONDS),
    }
    rest = b""
    pieces = transport.watch(path, query, silent_seconds=SILENT_SECONDS)
    async with aclosing(pieces):
        async for piece in pieces:
            if isinstance(piece, StreamOpened):
                continue
            *lines, rest = (rest + piece).split(b"\n")
            for line in filter(None, lines):
                change = json.loads(line)
                if change["type"] == "ERROR":
                    return  # its version is too old: list again
                if change["type"] != "BOOKMARK":
                    yield change["type"], change["object"]
