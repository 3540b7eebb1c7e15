"""How fast the embedded cluster's engine is: beside SimPy, over a simulated day, and over sizes.

Beside SimPy (`twin_engine_models`): events a second of CPU time of one model on the twin's clock and
as SimPy processes, without placement (one pool of cores) and with all nodes scored by every default
plugin; there SimPy gets the rules as plain numpy, and, in a row of its own, the twin's placement.
Day: CPU seconds for simulated hours of the whole engine (Jobs, scheduler, kubelets, usage,
KubeEvents), tasks at 80 % of the CPU; `--hours 24 --nodes 1000` plays 100,000 tasks.
Curve: CPU microseconds an event at 100 to 10,000 nodes, drawn to docs/cost-of-the-twin.svg.

    python -m benchmarks.twin_engine [--hours 24] [--nodes 1000] [--sizes 100 1000 10000] [--draw]
"""

from __future__ import annotations

import argparse
import gc
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Any

from benchmarks.layers import REPOSITORY
from benchmarks.machine import parser, progress, report
from benchmarks.twin_engine_models import InSimpy, OnTheClock, Outcome, Pool, Tasks, same
from benchmarks.twin_engine_places import (
    BYTES_A_CORE,
    NODE_CORES,
    PlainPlacement,
    TwinPlacement,
    nodes,
)
from foresail.plots import COLOURS, new_figure, page_style, svg_file, svg_of
from twin.__main__ import RARE_COLLECTIONS
from twin.port.engine import Engine
from twin.port.settings import TwinConfig
from twin.port.workloads import WorkloadArrival

LOAD_RATIO = 0.8
TASKS_PER_NODE_AND_DAY = 100
DAY_SECONDS = 86_400.0
MEAN_CORES = 3.75
ALL_NODES = 100
"""Percent of nodes to score."""
REPEATS = 5
WARM_HOURS = 1.0
Model = Callable[[], OnTheClock | InSimpy]


def main() -> int:
    """Measure, print, draw when told to, and return 0."""
    flags = parser(__doc__)
    flags.add_argument("--hours", type=float, default=24.0, help="simulated hours of the day row")
    flags.add_argument("--nodes", type=int, default=1_000)
    flags.add_argument("--tasks", type=int, default=30_000, help="tasks of the SimPy rows")
    flags.add_argument("--sizes", type=int, nargs="*", default=[100, 300, 1_000, 3_000, 10_000])
    flags.add_argument("--draw", action="store_true", help="write docs/cost-of-the-twin.svg")
    options = flags.parse_args()
    plugins = TwinPlacement(Tasks([], [], [], []), 1, ALL_NODES).plugins
    with progress(quiet=options.json) as shown:
        task = shown.add_task("rows", total=2 + 1 + len(options.sizes))
        rows = []
        for compare in (without_placement, with_placement):
            rows += compare(options)
            shown.advance(task)
        rows.extend(days(options))
        shown.advance(task)
        curve = []
        for size in options.sizes:
            curve.append((float(size), microseconds_an_event(size, options.seed)))
            rows.append(row(f"{size} nodes", "CPU us an event", curve[-1][1]))
            shown.advance(task)
    report("engine of the twin", options, rows, f"plugins on: {plugins}")
    if options.draw and curve:
        path = REPOSITORY / "docs" / "cost-of-the-twin.svg"
        path.write_text(svg_file(draw(curve)), encoding="utf-8")
    return 0


@page_style
def draw(curve: Sequence[tuple[float, float]]) -> Any:
    """Return CPU microseconds an event by nodes as an SVG element, both axes logarithmic."""
    figure, (axes,) = new_figure((640, 360), (60, 40, 36, 56))
    axes.loglog(*zip(*curve, strict=True), "o-", color=COLOURS["front"], lw=2)
    for size, cost in curve:
        place: Any = {"textcoords": "offset points", "ha": "center"}
        axes.annotate(f"{cost:,.3g}", (size, cost), (0, 10), **place)
    axes.set_ylim(1, 1_000)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.set_title("One event of the twin's engine at 80 % load, CPU us")
    axes.set_xlabel("nodes")
    return svg_of(figure, "CPU microseconds of an event by nodes")


def row(what: str, unit: str, value: float) -> dict[str, Any]:
    """Return one line of the report."""
    return {"what": what, "unit": unit, "value": round(value, 2)}


def without_placement(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Compare the event loops alone."""
    cores = options.nodes * NODE_CORES
    tasks = draw_tasks(options.tasks, options.nodes, options.seed)
    models: dict[str, Model] = {
        "clock": lambda: OnTheClock(tasks, Pool(tasks, cores)),
        "SimPy": lambda: InSimpy(tasks, cores),
    }
    yield from compare_models("without placement", models)


def with_placement(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Compare with every node scored by every plugin."""
    count, cores = options.nodes, options.nodes * NODE_CORES
    tasks = draw_tasks(options.tasks // 3, count, options.seed)
    models: dict[str, Model] = {
        "clock": lambda: OnTheClock(tasks, TwinPlacement(tasks, count, ALL_NODES)),
        "SimPy": lambda: InSimpy(tasks, cores, PlainPlacement(tasks, count, ALL_NODES)),
        "SimPy, twin's placement": lambda: InSimpy(
            tasks, cores, TwinPlacement(tasks, count, ALL_NODES)
        ),
    }
    yield from compare_models("full scoring", models)


def draw_tasks(count: int, node_count: int, seed: int) -> Tasks:
    """Draw tasks at the load ratio."""
    span = DAY_SECONDS * count / (TASKS_PER_NODE_AND_DAY * node_count)
    return Tasks.draw(count, span, mean_seconds(), seed)


def mean_seconds() -> float:
    """Return the mean work of a task that makes up the load ratio."""
    return LOAD_RATIO * NODE_CORES * DAY_SECONDS / (MEAN_CORES * TASKS_PER_NODE_AND_DAY)


def compare_models(what: str, models: dict[str, Model]) -> Iterator[dict[str, Any]]:
    """Yield events a second of each model, best of a few runs in turn, and the ratios."""
    best = dict.fromkeys(models, 0.0)
    outcomes: dict[str, Outcome] = {}
    for _ in range(REPEATS):
        for name, build in models.items():
            model = build()
            began = time.process_time()
            outcomes[name] = model.run()
            speed = outcomes[name].events / (time.process_time() - began)
            best[name] = max(best[name], speed)
    first, *others = models
    for name in others:
        if not same(outcomes[first], outcomes[name]):
            raise SystemExit(f"{what}: {first} and {name} do not agree")
    for name, speed in best.items():
        yield row(f"{what}: {name}", "events/s", speed)
    for name in others:
        yield row(f"{what}: {first} over {name}", "times", best[first] / best[name])


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
    engine.add_nodes(nodes(count))
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
