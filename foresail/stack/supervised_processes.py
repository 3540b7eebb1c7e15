"""Processes of a stack's supervisor: services, the simulated cluster and nats-server, all by one form."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from bus.child_process import ChildProcess
from bus.failure_detector import LivenessReport
from bus.nats_server import LOG_FILE, NatsServer
from foresail.stack.liveness import ask_health
from foresail.stack.processes import LAST_SERVICE, ProcessSpec
from foresail.stack.twin_process import TwinProcess, last_line

STOP_SECONDS = 20.0
"""How long a process may take to end, not counting what it waits for a processor."""
FIRST_SERVER_PAUSE_SECONDS = 0.2
"""Everybody needs the servers, so one that died is back at once."""
TWIN_STOP_ORDER = LAST_SERVICE + 1
LOG_STOP_ORDER = LAST_SERVICE + 2


class SupervisedProcess(Protocol):
    """One process that is kept running."""

    @property
    def name(self) -> str:
        """Its name in the stack."""
        ...

    @property
    def stop_order(self) -> int:
        """Processes with a smaller number are stopped first."""
        ...

    @property
    def first_pause_seconds(self) -> float:
        """How long the first start after its death waits."""
        ...

    @property
    def own_program(self) -> bool:
        """Whether its exit codes are those of `bus.exit_codes`."""
        ...

    @property
    def pid(self) -> int:
        """Its process id; 0 while it does not run."""
        ...

    async def start(self) -> None:
        """Start it, the first time or again where it was.

        Raises:
            ForesailError, OSError: that failed.
        """
        ...

    async def wait(self) -> int:
        """Wait until it ends; return its exit code, negative for a signal."""
        ...

    async def stop(self) -> None:
        """Stop it and wait; nothing when it does not run."""
        ...

    def kill(self) -> bool:
        """Kill it with SIGKILL; False when it does not run."""
        ...

    async def sign_of_life(self) -> LivenessReport | None:
        """Ask it how it is; None when what answers is somebody else or nonsense.

        Raises:
            OSError: nobody takes the question.
        """
        ...

    def last_words(self) -> str:
        """Return the last line that it wrote."""
        ...


class ServiceProcess:
    """A service: its output goes to `<name>.log`, and it is asked on its health port."""

    own_program = True

    def __init__(
        self, spec: ProcessSpec, logs: Path, *, first_pause_seconds: float, health_port: int = 0
    ) -> None:
        """Start nothing yet."""
        self.name = spec.name
        self.stop_order = spec.stop_order
        self.first_pause_seconds = first_pause_seconds
        self._spec = spec
        self._log = logs / f"{spec.name}.log"
        self._health_port = health_port
        self._child = ChildProcess()

    @property
    def pid(self) -> int:
        """Its process id; 0 between two starts."""
        return self._child.pid

    async def start(self) -> None:
        """Start it; see `SupervisedProcess`."""
        self._log.parent.mkdir(parents=True, exist_ok=True)
        with self._log.open("ab") as log:
            await self._child.start(
                self._spec.command, stdout=log, stderr=log, environment=self._spec.environment
            )

    async def wait(self) -> int:
        """Wait for its end; see `SupervisedProcess`."""
        return await self._child.wait()

    async def stop(self) -> None:
        """Stop it; see `SupervisedProcess`."""
        await self._child.stop(STOP_SECONDS)

    def renew(self, environment: Mapping[str, str]) -> bool:
        """Take other variables for the next start; return whether they differ from those it has."""
        own = self._spec.environment
        if all(own.get(name) == value for name, value in environment.items()):
            return False
        self._spec = replace(self._spec, environment={**own, **environment})
        return True

    def kill(self) -> bool:
        """Kill it; see `SupervisedProcess`."""
        return self._child.kill()

    async def sign_of_life(self) -> LivenessReport | None:
        """Ask it; see `SupervisedProcess`."""
        return await ask_health(self._health_port, self.pid)

    def last_words(self) -> str:
        """Return the last line of its log."""
        return last_line(self._log)


class Server(Protocol):
    """nats-server or the simulated cluster, as their own classes start and stop them."""

    @property
    def pid(self) -> int:
        """Its process id; 0 while it does not run."""
        ...

    async def restart(self) -> None:
        """Start it again on the same port and folder."""
        ...

    async def wait(self) -> int:
        """Wait until it ends."""
        ...

    async def stop(self) -> None:
        """Stop it and wait."""
        ...

    def kill(self) -> bool:
        """Kill it with SIGKILL."""
        ...


@dataclass(frozen=True)
class SupervisedServer:
    """A server that was started before the supervisor; see `supervised_log` and `supervised_twin`."""

    name: str
    server: Server
    stop_order: int
    own_program: bool
    log: Path
    ask: Callable[[], Awaitable[LivenessReport | None]]
    first_pause_seconds: float = FIRST_SERVER_PAUSE_SECONDS

    @property
    def pid(self) -> int:
        """Its process id; 0 between two starts."""
        return self.server.pid

    async def start(self) -> None:
        """Start it again where it was; see `SupervisedProcess`."""
        await self.server.restart()

    async def wait(self) -> int:
        """Wait for its end; see `SupervisedProcess`."""
        return await self.server.wait()

    async def stop(self) -> None:
        """Stop it; see `SupervisedProcess`."""
        await self.server.stop()

    def kill(self) -> bool:
        """Kill it; see `SupervisedProcess`."""
        return self.server.kill()

    async def sign_of_life(self) -> LivenessReport | None:
        """Ask it; see `SupervisedProcess`."""
        return await self.ask()

    def last_words(self) -> str:
        """Return the last line of its log."""
        return last_line(self.log)


def supervised_log(server: NatsServer) -> SupervisedServer:
    """Return nats-server, which greets every client at once, also while it is busy."""

    async def ask() -> LivenessReport | None:
        return LivenessReport(0.0, ready=True) if await server.answers() else None

    log = server.folder / LOG_FILE
    return SupervisedServer(
        "nats-server", server, LOG_STOP_ORDER, own_program=False, log=log, ask=ask
    )


def supervised_twin(twin: TwinProcess) -> SupervisedServer:
    """Return the simulated cluster, asked on its health port; silent while it re-runs its world."""

    async def ask() -> LivenessReport | None:
        return await ask_health(twin.health_port, twin.pid)

    return SupervisedServer("twin", twin, TWIN_STOP_ORDER, own_program=True, log=twin.log, ask=ask)
