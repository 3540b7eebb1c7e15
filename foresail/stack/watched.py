"""What the stack asks for signs of life: its services, and the servers it runs itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bus.failure_detector import LivenessReport
from bus.nats_server import NatsServer
from foresail.stack.frozen import Watched, ask_health
from foresail.stack.supervisor import Supervisor
from foresail.stack.twin_process import TwinProcess


@dataclass(frozen=True)
class WatchedService:
    """A service, asked on its health port."""

    name: str
    port: int
    supervisor: Supervisor

    @property
    def pid(self) -> int:
        """Its process id; 0 between two starts."""
        return self.supervisor.pids[self.name]

    async def sign(self) -> LivenessReport | None:
        """Ask it; see `frozen.Watched`."""
        return await ask_health(self.port, self.pid)

    def kill(self, why: str) -> bool:
        """Kill it; see `frozen.Watched`."""
        return self.supervisor.kill(self.name, why)


@dataclass(frozen=True)
class WatchedTwin:
    """The simulated cluster, asked on its health port; silent while it re-runs its world."""

    twin: TwinProcess
    name: str = "twin"

    @property
    def pid(self) -> int:
        """Its process id."""
        return self.twin.pid

    async def sign(self) -> LivenessReport | None:
        """Ask it; see `frozen.Watched`."""
        return await ask_health(self.twin.health_port, self.pid)

    def kill(self, why: str) -> bool:
        """Kill it; see `frozen.Watched`."""
        del why
        return self.twin.kill()


@dataclass(frozen=True)
class WatchedLog:
    """nats-server, which greets every client at once, also while it is busy."""

    server: NatsServer
    name: str = "nats-server"

    @property
    def pid(self) -> int:
        """Its process id."""
        return self.server.pid

    async def sign(self) -> LivenessReport | None:
        """See whether it greets; see `frozen.Watched`."""
        return LivenessReport(0.0, ready=True) if await self.server.answers() else None

    def kill(self, why: str) -> bool:
        """Kill it; see `frozen.Watched`."""
        del why
        return self.server.kill()


def watched_processes(
    supervisor: Supervisor,
    ports: Mapping[str, int],
    server: NatsServer | None,
    twin: TwinProcess | None,
) -> Sequence[Watched]:
    """Return everything that a stack asks; `ports` are health ports by name."""
    found: list[Watched] = [
        WatchedService(name, ports[name], supervisor) for name in supervisor.names
    ]
    if server is not None:
        found.append(WatchedLog(server))
    if twin is not None:
        found.append(WatchedTwin(twin))
    return found
