"""Three real nats-servers as one JetStream cluster, each in a namespace of its own or all on loopback."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from bus.nats_server import server_binary
from bus.ports import free_port
from inputs.parent_process import die_with_parent
from proofs.cluster.network import Network

NAMES = ("n1", "n2", "n3")
CLIENT_PORT, ROUTE_PORT = 4222, 6222
LOOPBACK = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class ServerLocation:
    """Where one server runs."""

    host: str
    client_port: int
    route_port: int
    enter: tuple[str, ...]
    """Words before its command line."""

    @property
    def url(self) -> str:
        """Where clients connect."""
        return f"nats://{self.host}:{self.client_port}"


def server_locations(network: Network | None) -> dict[str, ServerLocation]:
    """Return a place for each server: in its namespace, or on loopback."""
    if network is None:
        return {name: ServerLocation(LOOPBACK, free_port(), free_port(), ()) for name in NAMES}
    return {
        name: ServerLocation(
            network.address(name), CLIENT_PORT, ROUTE_PORT, network.command_prefix(name)
        )
        for name in NAMES
    }


class Servers:
    """The processes; `start` all, `kill` and `start` again single ones, `stop` at the end."""

    def __init__(self, folder: Path, where: Mapping[str, ServerLocation]) -> None:
        """Keep each server's store and log in `folder`/<name>."""
        self._folder = folder
        self._where = where
        self._running: dict[str, asyncio.subprocess.Process] = {}

    @property
    def urls(self) -> str:
        """Every server's URL, as the product takes them."""
        return ",".join(place.url for place in self._where.values())

    def pid(self, name: str) -> int:
        """Return the process id of one server."""
        return self._running[name].pid

    async def start(self, name: str) -> None:
        """Start one server; it finds the others by itself."""
        folder = self._folder / name
        folder.mkdir(parents=True, exist_ok=True)
        conf = folder / "nats.conf"
        conf.write_text(self._conf(name, folder), encoding="utf-8")
        self._running[name] = await asyncio.create_subprocess_exec(
            *(*self._where[name].enter, server_binary(), "-c", str(conf)),
            *("-l", str(folder / "nats.log")),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
            preexec_fn=partial(die_with_parent, os.getpid()),
        )

    async def kill(self, name: str) -> None:
        """Kill -9 one server."""
        self._running[name].kill()
        await self._running[name].wait()

    async def stop(self) -> None:
        """Kill what runs."""
        for name, process in self._running.items():
            if process.returncode is None:
                await self.kill(name)

    def _conf(self, name: str, folder: Path) -> str:
        own = self._where[name]
        routes = [
            f'"nats-route://{place.host}:{place.route_port}"'
            for other, place in self._where.items()
            if other != name
        ]
        return (
            f'server_name: {name}\nhost: "{own.host}"\nport: {own.client_port}\n'
            f'jetstream {{ store_dir: "{folder}", max_file_store: 1GB }}\n'
            f'cluster {{ name: proof, host: "{own.host}", port: {own.route_port}, '
            f"routes: [{', '.join(routes)}] }}\n"
        )
