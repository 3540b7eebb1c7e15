"""Many simulated clusters in one JetStream: what each costs the log server, and what its services cost.

One nats-server, with accounts, logins and a stream for each cluster as `foresail up` makes them for several, holds
them all (sync_interval always). Each cluster has its own simulated world and the same services as a stack, each with
a connection and a login of its own, over TCP. Only how they are packed differs: `--hosts` processes run the services
of all clusters as coroutines, since a process for each service of 100 clusters takes more memory than small machines
have. What a set of processes takes is measured by `python -m benchmarks.cluster_processes`.

Counted over `--seconds` once every cluster has decided twice: messages and bytes of all streams, CPU and memory of
nats-server and of the hosts, decisions that are missing, and the longest pause between two decisions of one cluster.

    python -m benchmarks.many_clusters [--clusters 100] [--nodes 10] [--interval 30] [--seconds 300]
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import logging
import os
import statistics
import sys
import tempfile
import time
from contextlib import AsyncExitStack, aclosing, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import psutil
import structlog

from benchmarks.machine import parser, progress, report
from bus.clock import SystemClock
from bus.errors import BusUnavailable
from bus.login import Login, Logins, new_logins, read_logins, store_logins
from bus.nats_adapter import NatsBus
from bus.nats_conf import accounts_of_several
from bus.nats_server import RECOVERY_SECONDS, NatsServer
from bus.streams import StreamDeclaration
from foresail.dependent_settings import fill_dependent
from foresail.settings import StackSettings, resolve
from foresail.stack.in_process import service, service_names
from schemas import subjects
from schemas.identity import Origin
from services.cluster import TwinTransport
from services.identities import IDENTITIES
from twin.config import TwinConfig
from twin.engine import Engine
from twin.inprocess import InProcessTwin
from twin.workloads import open_workload

INCARNATION = "i1"
WARM_CYCLES = 2
START_SECONDS = 1_800.0
POLL_SECONDS = 3.0
READERS_AT_ONCE = 4
TRIES = 30
HOST = "--host"
"""What a host process is started with."""


@dataclass(frozen=True)
class Part:
    """What one host process runs."""

    url: str
    folder: str
    """Holds a folder of logins for each cluster."""
    clusters: tuple[str, ...]
    nodes: int
    interval_seconds: float
    speed: float
    workload: str
    seed: int


async def main() -> int:
    """Measure, print, and return 0."""
    flags = parser(__doc__)
    flags.add_argument("--clusters", type=int, default=100, metavar="N", help="simulated clusters")
    flags.add_argument("--nodes", type=int, default=10, metavar="N", help="nodes of each")
    flags.add_argument("--interval", type=float, default=30.0, help="wall seconds a cycle")
    flags.add_argument("--seconds", type=float, default=300.0, help="what is counted, wall seconds")
    flags.add_argument("--speed", type=float, default=10.0, help="cluster seconds a wall second")
    flags.add_argument("--workload", default="openb", help="what each cluster runs")
    flags.add_argument("--hosts", type=int, default=2, metavar="N", help="processes of services")
    options = flags.parse_args()
    rows = await measure(options)
    title = (
        f"{options.clusters} clusters of {options.nodes} nodes ({options.workload}) in one JetStream, a cycle each "
        f"{options.interval:g} s, over {options.seconds:g} s"
    )
    report(title, options, rows)
    return 0


def declaration_of(cluster: str) -> StreamDeclaration:
    """Return the log of one cluster."""
    return StreamDeclaration.of(cluster, INCARNATION)


async def measure(options: argparse.Namespace) -> list[dict[str, object]]:
    """Start everything, count, stop everything; return a row for each figure."""
    names = [f"c{number:03}" for number in range(options.clusters)]
    async with AsyncExitStack() as cleanup:
        folder = Path(cleanup.enter_context(tempfile.TemporaryDirectory(prefix="foresail-")))
        logins: dict[str, Logins] = {name: new_logins(IDENTITIES, scope=name) for name in names}
        for name in names:
            (folder / name).mkdir()
            store_logins(logins[name], folder / name)
        accounts = accounts_of_several(
            (name, declaration_of(name).name, logins[name]) for name in names
        )
        server = NatsServer(
            folder / "nats", sync_interval="always", max_file_store="1TB", accounts=accounts
        )
        url = await server.start(RECOVERY_SECONDS)
        cleanup.push_async_callback(server.stop)
        began = time.perf_counter()
        for name in names:
            await NatsBus.declare(url, declaration_of(name), login=logins[name]["bootstrap"])
        declared = time.perf_counter() - began
        nats_process = psutil.Process(server.pid)
        empty = nats_process.memory_info().rss
        hosts = await _start_hosts(options, url, folder, names, cleanup)
        with progress(quiet=options.json) as shown:
            task = shown.add_task("starting", total=None)
            await _wait_warm(url, logins, names, hosts)
            shown.update(task, description="counting", total=options.seconds)
            before = await _look(url, logins, nats_process, hosts)
            until = time.monotonic() + options.seconds
            while (left := until - time.monotonic()) > 0:
                await asyncio.sleep(min(left, POLL_SECONDS))
                shown.update(task, completed=options.seconds - max(left, 0.0))
            after = await _look(url, logins, nats_process, hosts)
        gaps = await _gaps(url, logins, before.at_ns, after.at_ns)
        return _rows(options, before, after, gaps, empty, declared, len(accounts.encode()))


async def _start_hosts(
    options: argparse.Namespace,
    url: str,
    folder: Path,
    names: list[str],
    cleanup: AsyncExitStack,
) -> list[psutil.Process]:
    hosts = []
    for number in range(options.hosts):
        own = tuple(names[number :: options.hosts])
        part = Part(
            url, str(folder), own, options.nodes, options.interval, options.speed, options.workload, options.seed
        )  # fmt: skip
        words = (sys.executable, "-m", "benchmarks.many_clusters", HOST, json.dumps(asdict(part)))
        process = await asyncio.create_subprocess_exec(*words)
        cleanup.push_async_callback(process.wait)
        cleanup.callback(process.terminate)
        hosts.append(psutil.Process(process.pid))
    return hosts


@dataclass(frozen=True)
class Look:
    """Everything at one moment."""

    at_ns: int
    seconds: float
    messages: dict[str, int]
    bytes: dict[str, int]
    decisions: dict[str, int]
    nats_cpu: float
    nats_rss: int
    nats_connections: int
    hosts_cpu: float
    hosts_rss: int


async def _look(
    url: str, logins: dict[str, Logins], server: psutil.Process, hosts: list[psutil.Process]
) -> Look:
    numbers = await _each(url, logins, _numbers)
    times = [one.cpu_times() for one in (server, *hosts)]
    cpu = [each.user + each.system for each in times]
    return Look(
        at_ns=time.time_ns(),
        seconds=time.monotonic(),
        messages={name: one[0] for name, one in numbers.items()},
        bytes={name: one[1] for name, one in numbers.items()},
        decisions={name: one[2] for name, one in numbers.items()},
        nats_cpu=cpu[0],
        nats_rss=server.memory_info().rss,
        nats_connections=len(
            [one for one in server.net_connections() if one.status == "ESTABLISHED"]
        ),
        hosts_cpu=sum(cpu[1:]),
        hosts_rss=sum(one.memory_info().rss for one in hosts),
    )


async def _each(url: str, logins: dict[str, Logins], ask: Any) -> dict[str, Any]:
    """Return what `ask` makes of each cluster's log."""
    places, answers = asyncio.Semaphore(READERS_AT_ONCE), {}

    async def one(name: str) -> None:
        async with places:
            bus = await _connected(url, name, logins[name]["reader"])
            try:
                answers[name] = await ask(bus, name)
            finally:
                await bus.close()

    await asyncio.gather(*(one(name) for name in logins))
    return answers


async def _connected(url: str, cluster: str, login: Login) -> NatsBus:
    """Connect to one cluster's log; on a busy machine a login may come later than the server waits for it."""
    for _ in range(TRIES):
        with suppress(BusUnavailable):
            return await NatsBus.connect(
                url, cluster=cluster, stream=declaration_of(cluster).name, login=login
            )
        await asyncio.sleep(POLL_SECONDS)
    raise RuntimeError(f"no connection to the log of {cluster}")


async def _numbers(bus: NatsBus, name: str) -> tuple[int, int, int]:
    info = await bus.info()
    return info.messages, info.bytes, len(await _decided_at(bus, name))


async def _decided_at(bus: NatsBus, name: str) -> list[int]:
    pattern = subjects.build(name, ("decision",))
    async with aclosing(bus.history([pattern])) as messages:
        return [message.time_ns async for message in messages]


async def _gaps(url: str, logins: dict[str, Logins], begin_ns: int, end_ns: int) -> list[float]:
    """Return all pauses between two decisions of one cluster in seconds."""
    found = await _each(url, logins, _decided_at)
    return [
        (later - earlier) / 1e9
        for times in found.values()
        for earlier, later in itertools.pairwise(times)
        if begin_ns <= later <= end_ns
    ]


async def _wait_warm(
    url: str, logins: dict[str, Logins], names: list[str], hosts: list[psutil.Process]
) -> None:
    """Wait until every cluster has decided twice.

    Raises:
        RuntimeError: a host ended, or it took too long.
    """
    deadline, cold = time.monotonic() + START_SECONDS, list(names)
    while time.monotonic() < deadline:
        if any(one.status() == psutil.STATUS_ZOMBIE for one in hosts):
            raise RuntimeError("a host ended; see its last line above")
        found = await _each(url, {name: logins[name] for name in cold}, _numbers)
        cold = [name for name in cold if found[name][2] < WARM_CYCLES]
        if not cold:
            return
        await asyncio.sleep(POLL_SECONDS)
    raise RuntimeError(f"not every cluster decided twice within {START_SECONDS:g} s")


def _rows(
    options: argparse.Namespace,
    before: Look,
    after: Look,
    gaps: list[float],
    empty: int,
    declared: float,
    conf_bytes: int,
) -> list[dict[str, object]]:
    seconds, count = after.seconds - before.seconds, options.clusters
    messages = sum(after.messages.values()) - sum(before.messages.values())
    stored = sum(after.bytes.values()) - sum(before.bytes.values())
    decisions = sum(after.decisions.values()) - sum(before.decisions.values())
    nats, hosts = after.nats_cpu - before.nats_cpu, after.hosts_cpu - before.hosts_cpu
    hours = seconds / 3600

    def row(what: str, whole: float, unit: str, each: float, each_unit: str) -> dict[str, object]:
        return {"what": what, "all": whole, "unit": unit, "a cluster": each, "its unit": each_unit}

    return [
        row("streams, declared", count, "", declared / count * 1e3, "ms"),
        row("connections", after.nats_connections, "", after.nats_connections / count, ""),
        row("accounts.conf", conf_bytes / 1e6, "MB", conf_bytes / count / 1e3, "kB"),
        row("messages", messages / seconds, "/s", messages / seconds / count, "/s"),
        row("stored", stored / seconds / 1e3, "kB/s", stored / count / hours / 1e6, "MB/h"),
        row("decisions", decisions, "", decisions / count, ""),
        row("decisions expected", seconds / options.interval * count, "", seconds / options.interval, ""),
        row("pause between decisions, median", statistics.median(gaps), "s", options.interval, "s wanted"),
        row("pause between decisions, longest", max(gaps), "s", options.interval, "s wanted"),
        row("nats-server, streams empty", empty / 1e6, "MB", empty / count / 1e6, "MB"),
        row("nats-server, at the end", after.nats_rss / 1e6, "MB", after.nats_rss / count / 1e6, "MB"),
        row("nats-server, CPU", nats / seconds, "cores", nats / count / hours, "CPU s/h"),
        row("services, memory", after.hosts_rss / 1e6, "MB", after.hosts_rss / count / 1e6, "MB"),
        row("services, CPU", hosts / seconds, "cores", hosts / count / hours, "CPU s/h"),
    ]  # fmt: skip


async def host(part: Part) -> None:
    """Run the services of some clusters until this process is told to stop."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    async with AsyncExitStack() as cleanup, asyncio.TaskGroup() as running:
        for number, name in enumerate(part.clusters):
            for task in await _services(part, name, part.seed + number, cleanup):
                running.create_task(task)


async def _services(part: Part, name: str, seed: int, cleanup: AsyncExitStack) -> list[Any]:
    """Return the services of one cluster, each with a login and a connection of its own."""
    settings = _settings(part, name, seed)
    workload = open_workload(part.workload, nodes=part.nodes, seed=seed)
    engine = Engine(TwinConfig(), seed)
    engine.add_nodes(workload.nodes)
    engine.load(workload.arrivals)
    clock = SystemClock()
    transport = TwinTransport(InProcessTwin(engine, clock=clock, speed=part.speed))
    logins = read_logins(Path(part.folder) / name)
    services = []
    for process in service_names(settings):
        bus = await _connected(part.url, name, logins[process])
        cleanup.push_async_callback(bus.close)
        origin = Origin(name, INCARNATION)
        services.append(service(process, settings, bus, clock, origin, transport))
    return services


def _settings(part: Part, name: str, seed: int) -> StackSettings:
    flags = {
        "run.cluster": name,
        "run.nodes": part.nodes,
        "run.seed": seed,
        "run.speed": part.speed,
        "run.workload": part.workload,
        "run.interval_seconds": part.interval_seconds,
        "run.mode": "active",
    }
    return fill_dependent(resolve(None, {}, flags))


if __name__ == "__main__":
    if sys.argv[1:2] == [HOST]:
        content = json.loads(sys.argv[2])
        asyncio.run(host(Part(**{**content, "clusters": tuple(content["clusters"])})))
        sys.exit(os.EX_OK)
    sys.exit(asyncio.run(main()))
