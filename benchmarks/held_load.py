"""Events a second that all layers hold, and what happens above that.

Every layer lives as its own process on a real nats-server with the 1 s sync: a collector's full
output (snapshot, observation, reaction) of a small cluster is pushed, inference, agents, referee,
executor (shadow, against a live twin), scoreboard and dashboard follow. A token bucket limits the
pushed cycles; at most `--window` of them are undecided, which is the back-pressure of a source that
waits for its decisions. The second part pushes without that wait, as fast as the log acknowledges.

Counted is what the log holds: events a second, one decision per observation, and how many of them
are `superseded`. Memory: the mean resident memory of the last quarter over that of the second.

    python -m benchmarks.held_load [--seconds 30] [--overload-seconds 5]
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import nats
import psutil
from nats.aio.msg import Msg

from benchmarks.layers import DECIDING, Layers, running
from benchmarks.machine import parser, progress, report
from benchmarks.scene import CLUSTER, INCARNATION, INTERVAL_SECONDS, SceneCollector, scenes
from bus.clock import SystemClock
from bus.nats_adapter import NatsBus
from schemas import subjects
from schemas.identity import Origin
from services.collector.settings import CollectorSettings
from services.collector.snapshot import Snapshot
from services.official_client import OfficialClientTransport

TARGET_EVENTS = 2_000.0
TARGET_GROWTH = 1.05
SETTLE_SECONDS = 60.0
"""How long the layers may take to decide what was pushed above their rate."""
ALL = {
    **DECIDING,
    "executor": ("services.executor",),
    "scoreboard": ("services.scoreboard",),
    "dashboard": ("services.dashboard",),
}


@dataclass
class Push:
    """What one phase did."""

    cycles: int = 0
    events: int = 0
    seconds: float = 0.0
    cpu_seconds: dict[str, float] = field(default_factory=dict)
    rss_bytes: dict[str, list[int]] = field(default_factory=dict)


class LoopCollector(SceneCollector):
    """The collector, looking at the same few scenes again and again, later each time."""

    loop: list[Snapshot]

    async def _read_cluster(self) -> Snapshot | None:
        scene = self.loop[self.cycle % len(self.loop)]
        now = self.loop[0].cluster_time_seconds + self.cycle * INTERVAL_SECONDS
        return replace(scene, cluster_time_seconds=now)


async def main() -> int:
    """Measure, print, and return 0."""
    flags = parser(__doc__)
    flags.add_argument(
        "--seconds",
        type=float,
        default=30.0,
        metavar="S",
        help="length of the held part in seconds",
    )
    flags.add_argument(
        "--overload-seconds",
        type=float,
        default=5.0,
        metavar="S",
        help="length of the overload in seconds",
    )
    flags.add_argument("--nodes", type=int, default=5, metavar="N", help="nodes of the cluster")
    flags.add_argument("--rate", type=float, default=1_000.0, help="most cycles pushed a second")
    flags.add_argument("--window", type=int, default=4, help="most undecided cycles")
    options = flags.parse_args()
    async with twin(options.nodes, options.seed) as kubeconfigs:
        reader, writer = kubeconfigs
        transport = OfficialClientTransport(Path(reader), None, timeout_seconds=10)
        loop = await scenes(transport, options.seed)
        await transport.close()
        rows = await measure(options, loop, writer)
    report(f"held load, {options.nodes} nodes, sync 1s, all layers as processes", options, rows)
    return 0


async def measure(
    options: argparse.Namespace, loop: list[Snapshot], kubeconfig: str
) -> list[dict[str, object]]:
    """Hold, overload, and judge both by the log."""
    environment = {"FORESAIL_KUBECONFIG": kubeconfig}
    settings = {"dashboard": {"port": 0}}
    with progress(quiet=options.json) as shown:
        async with running(ALL, settings=settings, environment=environment) as layers:
            collector = await _collector(layers, loop)
            task = shown.add_task("hold", total=options.seconds)
            tick = partial(shown.update, task)
            result = await push(
                layers, collector, options.seconds, options.rate, options.window, tick
            )
            first = await count_decisions(layers, 1, collector.cycle)
            begin = collector.cycle + 1
            task = shown.add_task("overload", total=options.overload_seconds)
            tick = partial(shown.update, task)
            over = await push(layers, collector, options.overload_seconds, 0.0, 0, tick)
            second = await count_decisions(layers, begin, collector.cycle)
    return [
        _row(f"held, at most {options.window} undecided", result, first),
        _row("above: as fast as acknowledged", over, second),
        *_processes(result),
    ]


def _row(phase: str, done: Push, verdict: Counter[str]) -> dict[str, object]:
    rate = done.events / done.seconds
    lost = done.cycles - verdict["decided"]
    return {
        "what": phase,
        "cycles/s": round(done.cycles / done.seconds, 1),
        "events/s": round(rate),
        "of 2,000": round(rate / TARGET_EVENTS, 2),
        "superseded": round(verdict["superseded"] / max(1, done.cycles), 3),
        "undecided": lost,
        "doubled": verdict["doubled"],
        "cores": round(sum(done.cpu_seconds.values()) / done.seconds, 2),
        "CPU ms/cycle": round(sum(done.cpu_seconds.values()) * 1e3 / done.cycles, 2),
        "RSS MB": round(sum(_quarter(samples, 3) for samples in done.rss_bytes.values()) / 1e6),
        "RSS growth": round(max(_growth(samples) for samples in done.rss_bytes.values()), 3),
    }


def _processes(done: Push) -> list[dict[str, object]]:
    return [
        {
            "what": f"  {name}",
            "cycles/s": "",
            "events/s": "",
            "of 2,000": "",
            "superseded": "",
            "undecided": "",
            "doubled": "",
            "cores": round(cpu / done.seconds, 2),
            "CPU ms/cycle": round(cpu * 1e3 / done.cycles, 2),
            "RSS MB": round(_quarter(done.rss_bytes[name], 3) / 1e6),
            "RSS growth": round(_growth(done.rss_bytes[name]), 3),
        }
        for name, cpu in done.cpu_seconds.items()
    ]


def _quarter(samples: list[int], number: int) -> float:
    size = max(1, len(samples) // 4)
    return statistics.fmean(samples[number * size : (number + 1) * size] or samples[-1:])


def _growth(samples: list[int]) -> float:
    return _quarter(samples, 3) / _quarter(samples, 1)


async def push(
    layers: Layers,
    collector: LoopCollector,
    seconds: float,
    rate: float,
    window: int,
    tick: Callable[..., None],
) -> Push:
    """Push cycles for some seconds; rate and window 0 mean no limit."""
    done, decided = Push(), asyncio.Event()
    processes = {name: psutil.Process(pid) for name, pid in layers.pids.items()}
    processes["source"] = psutil.Process()
    before = {name: _cpu(process) for name, process in processes.items()}
    first_seq, first_cycle = (await layers.bus.info()).last_seq, collector.cycle
    newest = first_cycle

    async def note(message: Msg) -> None:
        nonlocal newest
        newest = max(newest, int((message.headers or {})["ce-correlationid"].rsplit("/", 1)[-1]))
        decided.set()

    client = await nats.connect(layers.url)
    await client.subscribe(subjects.live(subjects.build(CLUSTER, ("decision",))), cb=note)
    sampling = asyncio.create_task(_sample(processes, done, tick))
    began = time.monotonic()
    while (passed := time.monotonic() - began) < seconds:
        if window and collector.cycle - newest >= window:
            decided.clear()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(decided.wait(), 1.0)
        elif rate and collector.cycle - first_cycle >= rate * passed:
            await asyncio.sleep(1 / rate)
        else:
            await collector.collect_once()
    done.cycles = collector.cycle - first_cycle
    end = seconds + SETTLE_SECONDS
    while newest < collector.cycle and time.monotonic() - began < end:  # noqa: ASYNC110 - polls a count
        await asyncio.sleep(0.05)
    done.seconds = time.monotonic() - began
    done.events = (await layers.bus.info()).last_seq - first_seq
    sampling.cancel()
    await asyncio.gather(sampling, return_exceptions=True)
    done.cpu_seconds = {name: _cpu(process) - before[name] for name, process in processes.items()}
    await client.close()
    return done


def _cpu(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


async def _sample(
    processes: dict[str, psutil.Process], done: Push, tick: Callable[..., None]
) -> None:
    while True:
        for name, process in processes.items():
            done.rss_bytes.setdefault(name, []).append(process.memory_info().rss)
        tick(advance=1.0)
        await asyncio.sleep(1.0)


async def count_decisions(layers: Layers, first_cycle: int, last_cycle: int) -> Counter[str]:
    """Count the log's decisions of some cycles: decided, superseded, doubled."""
    decisions: Counter[int] = Counter()
    verdict: Counter[str] = Counter()
    pattern = subjects.build(CLUSTER, ("decision",))
    async with aclosing(layers.bus.history([pattern])) as messages:
        async for message in messages:
            cycle = int(message.headers["ce-correlationid"].rsplit("/", 1)[-1])
            if first_cycle <= cycle <= last_cycle:
                decisions[cycle] += 1
                verdict["superseded"] += b'"closed_by":"superseded"' in message.data
    verdict["decided"] = len(decisions)
    verdict["doubled"] = sum(count > 1 for count in decisions.values())
    return verdict


async def _collector(layers: Layers, loop: list[Snapshot]) -> LoopCollector:
    bus = await NatsBus.connect(layers.url, cluster=CLUSTER, stream=layers.stream)
    settings = CollectorSettings(interval_seconds=INTERVAL_SECONDS)
    origin = Origin(CLUSTER, INCARNATION)
    collector = LoopCollector(settings, bus, SystemClock(), origin, None)  # type: ignore[arg-type]
    collector.loop = loop
    await collector.resume()
    return collector


@contextlib.asynccontextmanager
async def twin(nodes: int, seed: int) -> AsyncIterator[tuple[str, str]]:
    """Run a twin of some nodes; yield the kubeconfigs of a reader and of a writer."""
    with tempfile.TemporaryDirectory() as folder:
        options = {
            "--nodes": nodes,
            "--seed": seed,
            "--workload": "idle",
            "--speed": 1,
            "--port": 0,
        }
        words = [str(word) for option in options.items() for word in option]
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "twin", "--kubeconfig-dir", folder, *words),
            stdout=asyncio.subprocess.PIPE,
            env={**os.environ, "FORESAIL_PARENT": str(os.getpid())},
        )
        try:
            assert process.stdout is not None
            ready = json.loads(await process.stdout.readline())
            yield ready["reader_kubeconfig"], ready["admin_kubeconfig"]
        finally:
            process.terminate()
            await process.wait()


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
