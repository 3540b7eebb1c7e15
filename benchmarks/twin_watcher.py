"""A client that lists and then watches, as informers do, and keeps what it was told.

It decodes only what identifies an object; the rest stays bytes until somebody compares.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import msgspec

from benchmarks.wire import Door

RELIST_SECONDS = 0.2


class _Metadata(msgspec.Struct, frozen=True):
    uid: str = ""
    version: str = msgspec.field(name="resourceVersion", default="")


class _Head(msgspec.Struct):
    metadata: _Metadata = _Metadata()
    code: int = 0


class _List(msgspec.Struct):
    metadata: _Metadata
    items: list[msgspec.Raw]


class _Event(msgspec.Struct):
    type: str
    object: msgspec.Raw


class Watcher:
    """What one watching client holds of one kind."""

    def __init__(self, door: Door, path: str) -> None:
        """Watch the collection at `path`."""
        self._door = door
        self._path = path
        self._held: dict[str, bytes] = {}
        self.lists = 0
        """How often it had to list; 1 when no watch was ever too old."""
        self.events = 0

    async def run(self) -> None:
        """List, then watch, for ever; lists again when the past is gone."""
        while True:
            try:
                version = await self._list()
                while version:
                    version = await self._watch(version)
            except (OSError, asyncio.IncompleteReadError, ValueError):
                pass  # the server is away for a moment
            await asyncio.sleep(RELIST_SECONDS)

    def holds(self) -> dict[str, Any]:
        """Return the objects by uid, without kind and apiVersion."""
        return {uid: bare(raw) for uid, raw in self._held.items()}

    async def _list(self) -> str:
        listed = msgspec.json.decode(await self._door.fetch(self._path), type=_List)
        self._held = {_uid(item): bytes(item) for item in listed.items}
        self.lists += 1
        return listed.metadata.version

    async def _watch(self, version: str) -> str:
        """Follow one watch to its end; return where the next begins, empty for with a list."""
        path = f"{self._path}?watch=true&allowWatchBookmarks=true&resourceVersion={version}"
        async for line in self._door.lines(path):
            event = msgspec.json.decode(line, type=_Event)
            head = msgspec.json.decode(event.object, type=_Head)
            if event.type == "ERROR":
                return ""
            version = head.metadata.version
            self._apply(event, head.metadata.uid)
        return version

    def _apply(self, event: _Event, uid: str) -> None:
        if event.type == "DELETED":
            del self._held[uid]
        elif event.type in {"ADDED", "MODIFIED"}:
            assert (event.type == "ADDED") is (uid not in self._held), "an event out of order"
            self._held[uid] = bytes(event.object)
        self.events += event.type != "BOOKMARK"


async def list_objects(door: Door, path: str) -> tuple[str, dict[str, Any]]:
    """Return the version of a list, and its objects by uid as `Watcher.holds` has them."""
    answer = msgspec.json.decode(await door.fetch(path), type=_List)
    return answer.metadata.version, {_uid(item): bare(item) for item in answer.items}


def bare(raw: bytes | msgspec.Raw) -> Mapping[str, Any]:
    """Return an object as an item of a list has it."""
    obj: dict[str, Any] = msgspec.json.decode(raw)
    return {name: value for name, value in obj.items() if name not in {"kind", "apiVersion"}}


def _uid(item: msgspec.Raw) -> str:
    return msgspec.json.decode(item, type=_Head).metadata.uid
