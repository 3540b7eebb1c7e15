"""What the embedded cluster's engine costs: over a simulated day, and over sizes.

Day: CPU seconds for simulated hours of the whole engine (Jobs, scheduler, kubelets, usage,
KubeEvents), tasks at 80 % of the CPU; `--hours 24 --nodes 1000` plays 100,000 tasks.
Sizes: CPU microseconds an event at 100 to 10,000 nodes.

    python -m benchmarks.twin_engine [--hours 24] [--nodes 1000] [--sizes 100 1000 10000]
"""

from __future__ import annotations

import argparse
import gc
import sys
import time
from collections.abc import Iterator
from random import Random
from typing import Any

from benchmarks.machine import parser, progress, report
from twin.__main__ import RARE_COLLECTIONS
from twin.port.engine import Engine
from twin.port.settings import TwinConfig
from twin.port.workloads import WorkloadArrival, plain_nodes

NODE_CORES = 16
BYTES_A_CORE = 3 * 1024**3
LOAD_RATIO = 0.8
TASKS_PER_NODE_AND_DAY = 100
DAY_SECONDS = 86_400.0
MEAN_CORES = 3.75
WARM_HOURS = 1.0


def main() -> int:
    """Measure, print, and return 0."""
    flags = parser(__doc__)
    flags.add_argument("--hours", type=float, default=24.0, help="simulated hours of the day row")
    flags.add_argument("--nodes", type=int, default=1_000)
    flags.add_argument("--sizes", type=int, nargs="*", default=[100, 300, 1_000, 3_000, 10_000])
    options = flags.parse_args()
    with progress(quiet=options.json) as shown:
        task = shown.add_task("rows", total=1 + len(options.sizes))
        rows = list(days(options))
        shown.advance(task)
        for size in options.sizes:
            cost = microseconds_an_event(size, options.seed)
            rows.append(row(f"{size} nodes", "CPU us an event", cost))
            shown.advance(task)
    report("engine of the twin", options, rows)
    return 0


def row(what: str, unit: str, value: float) -> dict[str, Any]:
    """Return one line of the report."""
    return {"what": what, "unit": unit, "value": round(value, 2)}


def mean_seconds() -> float:
    """Return the mean work of a task that makes up the load ratio."""
    return LOAD_RATIO * NODE_CORES * DAY_SECONDS / (MEAN_CORES * TASKS_PER_NODE_AND_DAY)


def arrivals(count: int, span_seconds: float, seed: int) -> Iterator[WorkloadArrival]:
    """Yield tasks as the engine takes them, at the load ratio."""
    random, at = Random(seed), 0.0
    for index in range(count):
        at += random.expovariate(count / span_seconds)
        cores = random.choice((1, 2, 4, 8))
        yield WorkloadArrival(
            time_seconds=round(at, 6),
            name=f"t-{index}",
            kind="task",
            cpu_request_millicores=cores * 1_000,
            memory_request_bytes=cores * BYTES_A_CORE,
            gpus=0,
            cpu_usage_ratio=round(random.uniform(0.3, 0.9), 4),
            memory_usage_ratio=round(random.uniform(0.3, 0.8), 4),
            duration_seconds=round(random.expovariate(1.0 / mean_seconds()), 3),
            outcome="succeed",
        )


def load_cluster(count: int, seed: int, *, lean: bool = False) -> Engine:
    """Return a cluster of so many nodes with a day of tasks ahead."""
    config = TwinConfig(change_log_size=1_000, bare_tasks=lean, kube_events=not lean)
    engine = Engine(config, seed=seed)
    engine.add_nodes(plain_nodes(count))
    engine.load(arrivals(count * TASKS_PER_NODE_AND_DAY, DAY_SECONDS, seed))
    return engine


def play_hours(engine: Engine, hours: float) -> tuple[float, int]:
    """Let hours pass; return CPU seconds and events."""
    gc.freeze()
    gc.set_threshold(*RARE_COLLECTIONS)
    began, before = time.process_time(), engine.clock.handled
    engine.advance(engine.now + hours * 3_600.0)
    return time.process_time() - began, engine.clock.handled - before


def days(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Play the hours and say what they took: tasks as Jobs, told by KubeEvents, and as bare Pods."""
    for lean in (True, False):
        seconds, events = play_hours(
            load_cluster(options.nodes, options.seed, lean=lean), options.hours
        )
        tasks = round(options.nodes * TASKS_PER_NODE_AND_DAY * options.hours / 24.0)
        how = "bare pods, no KubeEvents" if lean else "Jobs and KubeEvents"
        what = f"{options.hours:g} h, {options.nodes} nodes, {tasks:,} tasks as {how}, {events:,} events"
        yield row(what, "CPU s", seconds)


def microseconds_an_event(count: int, seed: int) -> float:
    """Return the cost of an event once the cluster is full, over some 20,000 events."""
    engine = load_cluster(count, seed)
    play_hours(engine, WARM_HOURS)
    seconds, events = play_hours(engine, max(0.05, 500.0 / count))
    return seconds * 1e6 / events


if __name__ == "__main__":
    sys.exit(main())
