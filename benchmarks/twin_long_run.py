"""A simulated day at speed 100 with the whole pipeline attached: does anything grow or get lost?

    python -m benchmarks.twin_long_run [--hours 24] [--speed 100] [--cycle 30] [--nodes 100]

Starts `foresail up` with a cycle every 30 s of cluster time, watches pods, nodes, Deployments,
ReplicaSets and Jobs from the first to the last moment as an informer does, and samples the memory of
every process. At the end the clock is stopped and what the watching client holds is compared with
what the twin lists, object by object. Targets: memory of the last quarter under 1.05 of the second;
no difference. A day takes about 15 minutes. Exit code 1 when a target is missed.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.idle_weight import descendants, read
from benchmarks.layers import REPOSITORY
from benchmarks.machine import parser, report
from benchmarks.twin_api import door_of
from benchmarks.twin_watcher import Watcher, list_objects
from benchmarks.wire import Door

START_SECONDS = 90.0
SAMPLE_SECONDS = 2.0
SETTLE_SECONDS = 0.5
TRIES = 60
LARGEST_GROWTH = 1.05
KINDS = {
    "pods": "/api/v1/pods",
    "nodes": "/api/v1/nodes",
    "deployments": "/apis/apps/v1/deployments",
    "replicasets": "/apis/apps/v1/replicasets",
    "jobs": "/apis/batch/v1/jobs",
}


@dataclass
class Measurements:
    """What was seen of one run."""

    hours: float = 0.0
    memory: dict[str, list[int]] = field(default_factory=dict)
    """Resident bytes by process, one number a sample."""
    watched: dict[str, tuple[int, int, int, int]] = field(default_factory=dict)
    """By kind: objects at the end, events, lists, objects that differ."""

    def growth(self, name: str) -> float:
        """Return the mean of the last quarter over that of the second."""
        numbers = self.memory[name]
        quarter = len(numbers) // 4
        if quarter == 0:
            return 1.0
        second = statistics.fmean(numbers[quarter : 2 * quarter])
        return statistics.fmean(numbers[-quarter:]) / second


def main() -> int:
    """Run, print, and return 1 when a target is missed."""
    flags = parser(__doc__)
    flags.add_argument("--hours", type=float, default=24.0, help="cluster hours")
    flags.add_argument("--speed", type=float, default=100.0, help="cluster seconds a wall second")
    flags.add_argument("--cycle", type=float, default=30.0, help="cluster seconds a cycle")
    flags.add_argument("--nodes", type=int, default=100)
    options = flags.parse_args()
    with tempfile.TemporaryDirectory(prefix="foresail-long-") as folder:
        result = asyncio.run(run(Path(folder), options))
    rows = [
        {
            "what": f"memory of {name}",
            "second quarter MB": round(_quarter(numbers, 1) / 1e6),
            "last quarter MB": round(_quarter(numbers, 3) / 1e6),
            "ratio": round(result.growth(name), 3),
        }
        for name, numbers in sorted(result.memory.items())
    ]
    watcher_texts = "; ".join(
        f"{kind}: {count} objects, {events} events, {lists} lists, {wrong} differ"
        for kind, (count, events, lists, wrong) in result.watched.items()
    )
    report(
        "a long run",
        options,
        rows,
        f"{result.hours:.2f} cluster hours, {options.speed:g}x, a cycle every {options.cycle:g} s; "
        f"target ratio under {LARGEST_GROWTH}. Watching client at the end: {watcher_texts}",
    )
    wrong = sum(row[3] for row in result.watched.values())
    return 1 if wrong or result.growth("twin") >= LARGEST_GROWTH else 0


async def run(folder: Path, options: Any) -> Measurements:
    """Run the stack for so many cluster hours; return what was seen."""
    words = f"up --workload openb --nodes {options.nodes} --seed {options.seed} --dashboard-port 0"
    pace = ["--speed", f"{options.speed:g}", "--interval", f"{options.cycle / options.speed:g}"]
    with (folder / "said").open("wb") as output:
        stack = subprocess.Popen(  # noqa: ASYNC220 - nothing else runs in this loop yet
            [sys.executable, "-m", "foresail", *words.split(), *pace, "--state", f"{folder}/state"],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
            stdout=output,
            stderr=output,
        )
    try:
        return await _follow(stack, folder, options)
    except BaseException:
        sys.stderr.write((folder / "said").read_text(errors="replace")[-2_000:])
        raise
    finally:
        stack.send_signal(signal.SIGINT)
        await asyncio.to_thread(stack.wait, 60)


async def _follow(stack: subprocess.Popen[bytes], folder: Path, options: Any) -> Measurements:
    result, door = Measurements(), await _door(folder)
    watchers = {kind: Watcher(door, path) for kind, path in KINDS.items()}
    tasks = [asyncio.create_task(watcher.run()) for watcher in watchers.values()]
    first = await _cluster_seconds(door)
    try:
        while result.hours < options.hours:
            await asyncio.sleep(min(SAMPLE_SECONDS, options.hours * 3_600 / options.speed / 16))
            if stack.poll() is not None:
                raise RuntimeError("the stack ended by itself")
            _sample(stack.pid, result)
            result.hours = (await _cluster_seconds(door) - first) / 3_600
        await _set_clock(door, {"paused": True})
        for kind, watcher in watchers.items():
            result.watched[kind] = await _compare(door, KINDS[kind], watcher)
    finally:
        for task in tasks:
            task.cancel()
        ends = await asyncio.gather(*tasks, return_exceptions=True)
    for end in ends:
        if isinstance(end, Exception):
            raise end
    return result


async def _compare(door: Door, path: str, watcher: Watcher) -> tuple[int, int, int, int]:
    """Compare a moment in which nothing is written: two lists of one version around it."""
    for _ in range(TRIES):
        version, _objects = await list_objects(door, path)
        await asyncio.sleep(SETTLE_SECONDS)
        again, objects = await list_objects(door, path)
        if version == again:
            watched = watcher.holds()
            wrong = sum(watched.get(uid) != objects.get(uid) for uid in {*watched, *objects})
            return len(objects), watcher.events, watcher.lists, wrong
    raise RuntimeError(f"{path} did not come to rest")


def _sample(root: int, result: Measurements) -> None:
    total = 0
    for pid in descendants(root):
        memory = read(pid)
        if memory is not None:
            result.memory.setdefault(memory.name, []).append(memory.rss_bytes)
            total += memory.pss_bytes
    result.memory.setdefault("(all, shared pages once)", []).append(total)


def _quarter(numbers: list[int], number: int) -> float:
    quarter = max(1, len(numbers) // 4)
    return statistics.fmean(numbers[number * quarter : (number + 1) * quarter] or numbers[-1:])


async def _door(folder: Path) -> Door:
    """Return the way into the twin once it serves."""
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        for file in _kubeconfigs(folder):
            try:
                door = door_of(file)
                await door.fetch(KINDS["nodes"])
            except (OSError, ValueError, TypeError, asyncio.IncompleteReadError):
                continue
            return door
        await asyncio.sleep(0.1)
    raise RuntimeError("the twin did not come up")


def _kubeconfigs(folder: Path) -> list[Path]:
    try:
        return list(folder.glob("state/**/admin.kubeconfig"))
    except FileNotFoundError:  # nats-server removes folders while we look; the caller looks again
        return []


async def _cluster_seconds(door: Door) -> float:
    clock: dict[str, Any] = json.loads(await door.fetch("/foresail/v1/clock"))
    return float(clock["now"])


async def _set_clock(door: Door, clock: dict[str, Any]) -> None:
    request = urllib.request.Request(
        f"https://{door.host}:{door.port}/foresail/v1/clock",
        data=json.dumps(clock).encode(),
        headers={"Authorization": f"Bearer {door.token}", "Content-Type": "application/json"},
    )
    await asyncio.to_thread(urllib.request.urlopen, request, context=door.trust, timeout=10)


if __name__ == "__main__":
    sys.exit(main())
