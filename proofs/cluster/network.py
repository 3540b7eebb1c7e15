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
    made = _run_ip("netns", "add", name, check=False).returncode == 0
    if made:
        works = (
            _run_ip(
                "-n", name, "link", "add", "name", "b0", "type", "bridge", check=False
            ).returncode
            == 0
        )
        _run_ip("netns", "delete", name, check=False)
        return works
    return False


@dataclass(frozen=True, slots=True)
class Network:
    """Namespaces `<name>-<member>`; every member has an address on one bridge."""

    name: str
    members: tuple[str, ...]

    @classmethod
    @contextmanager
    def create(cls, servers: int) -> Iterator[Network]:
        """Make the namespaces of `servers` servers and a client; remove them however the block ends."""
        network = cls.from_names(f"foresail-{os.getpid()}", servers)
        try:
            network._create_all()
            yield network
        finally:
            for member in (*network.members, BRIDGE):
                _run_ip("netns", "delete", network.namespace_of(member), check=False)

    @classmethod
    def from_names(cls, name: str, servers: int) -> Network:
        """Name namespaces that are there already."""
        return cls(name, (*(f"n{number}" for number in range(1, servers + 1)), CLIENT))

    @property
    def client(self) -> str:
        """The member whose processes use the log."""
        return CLIENT

    def namespace_of(self, member: str) -> str:
        """Return the namespace of a member."""
        return f"{self.name}-{member}"

    def address(self, member: str) -> str:
        """Return the address of a member on the bridge."""
        return f"{NET}.{self.members.index(member) + 1}"

    def command_prefix(self, member: str) -> tuple[str, ...]:
        """Return the words before a command that runs in a member's namespace."""
        return ("ip", "netns", "exec", self.namespace_of(member))

    def unplug(self, member: str) -> None:
        """Isolate a member: its packets are dropped, none is rejected."""
        _run_ip("-n", self.namespace_of(BRIDGE), "link", "set", f"to-{member}", "down")

    def plug(self, member: str) -> None:
        """Undo `unplug`."""
        _run_ip("-n", self.namespace_of(BRIDGE), "link", "set", f"to-{member}", "up")

    def cut_between(self, member: str, others: Sequence[str]) -> None:
        """Cut a member off from some others only; the rest still reaches it."""
        for other in others:
            _run_ip(
                "-n",
                self.namespace_of(member),
                "route",
                "add",
                "blackhole",
                f"{self.address(other)}/32",
            )

    def reconnect(self, member: str, others: Sequence[str]) -> None:
        """Undo `cut_between`."""
        for other in others:
            target = f"{self.address(other)}/32"
            _run_ip("-n", self.namespace_of(member), "route", "delete", "blackhole", target)

    def _create_all(self) -> None:
        hub = self.namespace_of(BRIDGE)
        _run_ip("netns", "add", hub)
        _run_ip("-n", hub, "link", "add", "name", "b0", "type", "bridge")
        _run_ip("-n", hub, "link", "set", "b0", "up")
        for member in self.members:
            space, plug = self.namespace_of(member), f"to-{member}"
            _run_ip("netns", "add", space)
            ends = ("eth0", "netns", space, "type", "veth", "peer", "name", plug, "netns", hub)
            _run_ip("link", "add", "name", *ends)
            _run_ip("-n", hub, "link", "set", plug, "master", "b0", "up")
            _run_ip("-n", space, "address", "add", f"{self.address(member)}/24", "dev", "eth0")
            for device in ("lo", "eth0"):
                _run_ip("-n", space, "link", "set", device, "up")


def _run_ip(*words: str, check: bool = True) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(["ip", *words], check=check, capture_output=True)
