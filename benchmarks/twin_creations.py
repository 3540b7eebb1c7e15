"""What a pod's creation costs the embedded cluster's API while others watch.

    python -m benchmarks.twin_creations [--pods 2000] [--writers 8] [--watchers 10] [--nodes 100]

The twin runs as a process of its own, thirty running pods a node, and is asked over TLS. Each writer has one
connection with one request under way; watchers begin before the first pod. Pods of the first row name a
scheduler that is not there, so that what is measured is the API; those of the second are scheduled, started
and made ready by the simulation, and counted until all watchers have seen that. Counted is processor time of
the twin's process, user and system. A watcher that misses a pod, sees one added twice or sees versions out of
order ends it with exit code 1. Target: 1,000 pods a second of processor time in the first row.
"""

from __future__ import annotations

import asyncio
import json
import re
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import psutil
import uvicorn

from benchmarks.machine import parser, report
from benchmarks.twin_api import door_of, start_twin
from benchmarks.wire import READ_BYTES, Door

PODS = "/api/v1/namespaces/default/pods"
NOBODY = "nobody"
TARGET = 1_000
_LINE = re.compile(rb'\{"type":"(\w+)"')
_NAME = re.compile(rb'"name":"(made-[\w-]+)"')
_READY = re.compile(rb'"ready":true')
_VERSION = re.compile(rb'"resourceVersion":"(\d+)"')


class OutOfOrder(Exception):
    """A watcher saw something else than every change once and in order."""


def main() -> int:
    """Create pods for nobody, then pods that are scheduled; print one row each."""
    flags = parser(__doc__)
    flags.add_argument("--pods", type=int, default=2_000, help="pods of a row")
    flags.add_argument("--writers", type=int, default=8, help="connections that create")
    flags.add_argument("--watchers", type=int, default=10, help="connections that watch")
    flags.add_argument("--nodes", type=int, default=100, help="size of the twin")
    options = flags.parse_args()
    loop = uvicorn.Config("twin").get_loop_factory()
    rows = []
    with tempfile.TemporaryDirectory(prefix="foresail-creations-") as folder:
        process, _, ready = start_twin(options.nodes, options.seed, Path(folder))
        try:
            door = door_of(Path(ready["admin_kubeconfig"]))
            for scheduler in (NOBODY, "default-scheduler"):
                trial = Trial(door, scheduler, options.pods, process.pid)
                with asyncio.Runner(loop_factory=loop) as runner:
                    row = runner.run(trial.run(options.writers, options.watchers))
                rows.append({"scheduler": scheduler, **row})
        except OutOfOrder as error:
            print(error, file=sys.stderr)
            return 1
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(60)
    notes = (
        f"target: {TARGET} pods/CPU s without a scheduler. Each of {options.watchers} watchers saw every "
        "change once and in order"
    )
    report("pods created while others watch", options, rows, notes)
    return 0


class Sight:
    """What one watcher has seen."""

    def __init__(self, scheduler: str) -> None:
        """Wait for pods of this scheduler: to be there, or to be ready if there is such a scheduler."""
        self._last = 0
        self._added: set[bytes] = set()
        self._until_ready = scheduler != NOBODY
        self.lines = 0
        self.done: set[bytes] = set()

    def look(self, line: bytes) -> None:
        """Note one line; raises OutOfOrder."""
        kind, name, version = _LINE.search(line), _NAME.search(line), _VERSION.search(line)
        self.lines += 1
        assert kind is not None
        assert version is not None
        if int(version[1]) <= self._last:
            raise OutOfOrder(f"version {int(version[1])} came after {self._last}")
        self._last = int(version[1])
        if name is None:
            return
        if (kind[1] == b"ADDED") is (name[1] in self._added):
            raise OutOfOrder(f"{name[1].decode()}: {kind[1].decode()} came out of order")
        self._added.add(name[1])
        if not self._until_ready or _READY.search(line):
            self.done.add(name[1])


class Trial:
    """Some pods, created by some connections and seen by others."""

    def __init__(self, door: Door, scheduler: str, pods: int, pid: int) -> None:
        """Create `pods` for a scheduler in the twin that is process `pid`."""
        self._door = door
        self._scheduler = scheduler
        self._names = iter([f"made-{scheduler}-{number:05}" for number in range(pods)])
        self._pods = pods
        self._process = psutil.Process(pid)

    async def run(self, writers: int, watchers: int) -> dict[str, Any]:
        """Return the figures; raises OutOfOrder."""
        begun = [asyncio.Event() for _ in range(watchers)]
        watching = [asyncio.create_task(self._watch(each)) for each in begun]
        for event in begun:
            await event.wait()
        began, before = time.perf_counter(), self._cpu_seconds()
        await asyncio.gather(*(self._write() for _ in range(writers)))
        wrote = time.perf_counter() - began
        lines = await asyncio.gather(*watching)
        cpu = self._cpu_seconds() - before
        return {
            "pods": self._pods,
            "pods/CPU s": round(self._pods / cpu),
            "CPU us a pod": round(cpu / self._pods * 1e6),
            "pods/s": round(self._pods / wrote),
            "lines a watcher": max(lines),
        }

    def _cpu_seconds(self) -> float:
        times = self._process.cpu_times()
        return times.user + times.system

    async def _write(self) -> None:
        reader, writer = await self._connect()
        try:
            for name in self._names:
                writer.write(self._creation(name))
                head = await reader.readuntil(b"\r\n\r\n")
                if not head.startswith(b"HTTP/1.1 201"):
                    raise ValueError(head.decode(errors="replace"))
                length = head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0]
                await reader.readexactly(int(length))
        finally:
            writer.transport.abort()

    async def _watch(self, begun: asyncio.Event) -> int:
        """Return how many lines there were when all pods were as they should be; raises OutOfOrder."""
        reader, writer = await self._connect()
        sight, rest = Sight(self._scheduler), b""
        try:
            writer.write(
                self._door.request(f"{PODS}?watch=true&resourceVersion={await self._now()}")
            )
            await reader.readuntil(b"\r\n\r\n")
            begun.set()
            while len(sight.done) < self._pods:
                *whole, rest = (rest + await _chunk(reader)).split(b"\n")
                for line in whole:
                    sight.look(line)
        finally:
            writer.transport.abort()
        return sight.lines

    async def _now(self) -> str:
        answer = json.loads(await self._door.fetch(f"{PODS}?limit=1"))
        return str(answer["metadata"]["resourceVersion"])

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection(
            self._door.host, self._door.port, ssl=self._door.trust, limit=READ_BYTES
        )

    def _creation(self, name: str) -> bytes:
        amounts = {"cpu": "10m", "memory": "16Mi"}
        container = {"name": "main", "image": "app:1", "resources": {"requests": amounts}}
        pod = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "labels": {"app": "made"}},
            "spec": {"schedulerName": self._scheduler, "containers": [container]},
        }
        body = json.dumps(pod).encode()
        lines = (
            f"POST {PODS} HTTP/1.1",
            f"Host: {self._door.host}:{self._door.port}",
            f"Authorization: Bearer {self._door.token}",
            "Accept: application/json",
            "Content-Type: application/json",
            f"Content-Length: {len(body)}",
            "\r\n",
        )
        return "\r\n".join(lines).encode() + body


async def _chunk(reader: asyncio.StreamReader) -> bytes:
    size = int(await reader.readuntil(b"\r\n"), 16)
    if not size:
        raise OutOfOrder("a watch ended before all pods were seen")
    return (await reader.readexactly(size + 2))[:-2]


if __name__ == "__main__":
    sys.exit(main())
