"""Network namespaces of this machine's own making: one for each server, one for the client, one that
holds the bridge between them. Nothing outside of them is touched.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

NET = "10.77.7"
BRIDGE = "hub"
CLIENT = "client"


def may_network() -> bool:
    """Say whether this process may make network namespaces."""
    ip = shutil.which("ip")
    if ip is None or os.geteuid() != 0:
        return False
    name = f"foresail-probe-{os.getpid()}"
    made = _ip("netns", "add", name, check=False).returncode == 0
    if made:
        works = (
            _ip("-n", name, "link", "add", "name", "b0", "type", "bridge", check=False).returncode
            == 0
        )
        _ip("netns", "delete", name, check=False)
        return works
    return False


@dataclass(frozen=True, slots=True)
class Network:
    """Namespaces `<name>-<member>`; every member has an address on one bridge."""

    name: str
    members: tuple[str, ...]

    @classmethod
    @contextmanager
    def made(cls, servers: int) -> Iterator[Network]:
        """Make the namespaces of `servers` servers and a client; remove them however the block ends."""
        network = cls.of(f"foresail-{os.getpid()}", servers)
        try:
            network._make()
            yield network
        finally:
            for member in (*network.members, BRIDGE):
                _ip("netns", "delete", network.space(member), check=False)

    @classmethod
    def of(cls, name: str, servers: int) -> Network:
        """Name namespaces that are there already."""
        return cls(name, (*(f"n{number}" for number in range(1, servers + 1)), CLIENT))

    @property
    def client(self) -> str:
        """The member whose processes use the log."""
        return CLIENT

    def space(self, member: str) -> str:
        """Return the namespace of a member."""
        return f"{self.name}-{member}"

    def address(self, member: str) -> str:
        """Return the address of a member on the bridge."""
        return f"{NET}.{self.members.index(member) + 1}"

    def enter(self, member: str) -> tuple[str, ...]:
        """Return the words before a command that runs in a member's namespace."""
        return ("ip", "netns", "exec", self.space(member))

    def unplug(self, member: str) -> None:
        """Cut a member off from everybody: its packets go nowhere, nothing is refused."""
        _ip("-n", self.space(BRIDGE), "link", "set", f"to-{member}", "down")

    def plug(self, member: str) -> None:
        """Undo `unplug`."""
        _ip("-n", self.space(BRIDGE), "link", "set", f"to-{member}", "up")

    def part(self, member: str, others: Sequence[str]) -> None:
        """Cut a member off from some others only; the rest still reaches it."""
        for other in others:
            _ip("-n", self.space(member), "route", "add", "blackhole", f"{self.address(other)}/32")

    def join(self, member: str, others: Sequence[str]) -> None:
        """Undo `part`."""
        for other in others:
            target = f"{self.address(other)}/32"
            _ip("-n", self.space(member), "route", "delete", "blackhole", target)

    def _make(self) -> None:
        hub = self.space(BRIDGE)
        _ip("netns", "add", hub)
        _ip("-n", hub, "link", "add", "name", "b0", "type", "bridge")
        _ip("-n", hub, "link", "set", "b0", "up")
        for member in self.members:
            space, plug = self.space(member), f"to-{member}"
            _ip("netns", "add", space)
            ends = ("eth0", "netns", space, "type", "veth", "peer", "name", plug, "netns", hub)
            _ip("link", "add", "name", *ends)
            _ip("-n", hub, "link", "set", plug, "master", "b0", "up")
            _ip("-n", space, "address", "add", f"{self.address(member)}/24", "dev", "eth0")
            for device in ("lo", "eth0"):
                _ip("-n", space, "link", "set", device, "up")


def _ip(*words: str, check: bool = True) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(["ip", *words], check=check, capture_output=True)
