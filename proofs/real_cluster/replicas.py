"""Replicas of the executor as processes of their own, over a nats-server with an account for each identity."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bus.clock import SystemClock
from bus.events import event_of
from bus.follow import Publisher
from bus.login import Logins, new_logins
from bus.nats_adapter import NatsBus
from bus.nats_conf import accounts_conf
from bus.nats_server import NatsServer
from bus.streams import StreamDeclaration
from proofs.real_cluster.ground import RealCluster, Token
from proofs.real_cluster.session import INTERVAL_SECONDS, ORIGIN, decision_of
from schemas import subjects
from schemas.actions import Action
from schemas.envelope import Event, NewEvent
from schemas.observation import Observation
from schemas.outcome import OutcomeExecution
from services.collector import service as collector
from services.collector.settings import CollectorSettings
from services.executor.lease import NAME, lease_path, read_record
from services.executor.settings import ExecutorSettings
from services.identities import IDENTITIES
from services.official_client import OfficialClientTransport

LOOK_SECONDS = 0.05
"""Between two looks at the log: a process is killed right after what it is waited for."""


@dataclass
class ReplicatedExecutor:
    """The log, the collector, and executors that are started and killed."""

    cluster: RealCluster
    settings: ExecutorSettings
    url: str
    stream: str
    logins: Logins
    config: Path
    """Kubeconfig of the executor's account."""
    reader: NatsBus
    referee: Publisher
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def start(self) -> subprocess.Popen[bytes]:
        """Start one more executor."""
        kept = {key: value for key, value in os.environ.items() if not key.startswith("FORESAIL_")}
        environment = {
            **kept,
            "FORESAIL_SETTINGS": json.dumps(self.settings.model_dump(mode="json")),
            "FORESAIL_CLUSTER": ORIGIN.cluster,
            "FORESAIL_INCARNATION": ORIGIN.incarnation,
            "FORESAIL_STREAM": self.stream,
            "FORESAIL_NATS_URL": self.url,
            "FORESAIL_KUBECONFIG": str(self.config),
            "FORESAIL_STACK_ID": "replicated",
            **self.logins["executor"].environment(),
        }
        log = self.config.with_name(f"executor-{len(self.processes)}.log")
        with log.open("wb") as output:
            process = subprocess.Popen(
                [sys.executable, "-m", "services.executor"],
                env=environment,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        self.processes.append(process)
        return process

    def leader(self) -> subprocess.Popen[bytes] | None:
        """Return the process that holds the Lease, if one of ours that lives does."""
        found = self.cluster.api.find(lease_path("kube-system", NAME))
        holder = read_record(found).holder if found else ""
        words = holder.split("-")
        for process in self.processes:
            if process.poll() is None and len(words) > 1 and words[-2] == str(process.pid):
                return process
        return None

    def somebody_waits(self) -> bool:
        """Say whether the newest process has seen that another one leads, or leads itself."""
        last = self.config.with_name(f"executor-{len(self.processes) - 1}.log")
        said = last.read_text(encoding="utf-8")
        return "another replica leads" in said or '"leads"' in said

    async def decide(self, action: Action) -> int:
        """Publish a decision on the newest observation; return its cycle."""
        before = await self.newest(Observation)

        async def later() -> Event[Any] | None:
            seen = await self.newest(Observation)
            return seen if seen and before and seen.data.cycle > before.data.cycle else None

        seen: Event[Any] = await self.wait("an observation", later)
        data = decision_of(seen, (action,), 0.9)
        new = NewEvent(data, data.cycle, data.cluster_time_seconds, (seen.id,))
        await self.referee.publish([new])
        return data.cycle

    async def newest(self, kind: type[Any]) -> Event[Any] | None:
        """Return the newest event of a kind."""
        stored = await self.reader.last(subjects.build(ORIGIN.cluster, kind.PATTERN))
        return None if stored is None else event_of(stored)

    async def executions(self, cycle: int) -> list[OutcomeExecution]:
        """Return what the log says of one cycle's execution, oldest first."""
        pattern = subjects.build(ORIGIN.cluster, OutcomeExecution.PATTERN)
        found = [event_of(one).data async for one in self.reader.history([pattern])]
        return [one for one in found if isinstance(one, OutcomeExecution) and one.cycle == cycle]

    async def wait(self, what: str, so: Callable[[], Any], seconds: float = 120.0) -> Any:
        """Wait until something is so, and return it; `so` may be a coroutine function.

        Raises:
            AssertionError: it did not come in time.
        """
        loop = asyncio.get_running_loop()
        end = loop.time() + seconds
        while True:
            found = so()
            if asyncio.iscoroutine(found):
                found = await found
            if found:
                return found
            assert loop.time() < end, f"{what}: not within {seconds:g} s"
            await asyncio.sleep(LOOK_SECONDS)


@asynccontextmanager
async def replicas(
    cluster: RealCluster, settings: ExecutorSettings
) -> AsyncIterator[ReplicatedExecutor]:
    """Run a log and a collector; executors are the caller's to start, and are ended with the block."""
    folder = cluster.plane.folder / "replicas"
    folder.mkdir()
    declaration = StreamDeclaration.of(ORIGIN.cluster, ORIGIN.incarnation)
    logins = new_logins(IDENTITIES)
    accounts = accounts_conf(ORIGIN.cluster, declaration.name, logins)
    async with AsyncExitStack() as stack:
        server = NatsServer(folder / "nats", sync_interval="always", accounts=accounts)
        url = await server.start()
        stack.push_async_callback(server.stop)
        await NatsBus.declare(url, declaration, login=logins["bootstrap"])

        async def connect(name: str) -> NatsBus:
            bus = await NatsBus.connect(
                url, cluster=ORIGIN.cluster, stream=declaration.name, login=logins[name]
            )
            stack.push_async_callback(bus.close)
            return bus

        own = Token(cluster.api, "foresail-collector", folder / "collector.token")
        transport = OfficialClientTransport(cluster.account("collector", own))
        run = collector.run(
            CollectorSettings(interval_seconds=INTERVAL_SECONDS),
            await connect("collector"),
            SystemClock(),
            ORIGIN,
            transport,
        )
        task = asyncio.create_task(run)
        stack.callback(task.cancel)
        token = Token(cluster.api, "foresail-executor", folder / "executor.token")
        config = cluster.account("executor", token)
        referee = Publisher(await connect("referee"), ORIGIN, "referee")
        reader = await connect("reader")
        running = ReplicatedExecutor(
            cluster, settings, url, declaration.name, logins, config, reader, referee
        )
        await running.wait("an observation", lambda: running.newest(Observation), 180)
        try:
            yield running
        finally:
            for process in running.processes:
                process.terminate()
            for process in running.processes:
                with suppress(subprocess.TimeoutExpired):
                    await asyncio.to_thread(process.wait, 20)
                process.kill()
