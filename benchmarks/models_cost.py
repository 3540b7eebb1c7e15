"""What all models cost: observation to decision and CPU time of a cycle, beside the same without any model.

Inference, the agents and the referee run as processes on a real nats-server and read the recorded snapshots and
observations of a cluster with 30 pods a node and up to 200 Services, back to back, by profile `foresail`. With models
the history of each Service is filled in for a week first; every 60th cycle ends a step of five minutes, of which all
series are foretold. Cycles at the start, in which histories are walked through for the first time, are told apart.

    python -m benchmarks.models_cost [--nodes 100 1000 5000] [--cycles 440]
"""

from __future__ import annotations

import argparse
import asyncio
import math
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.decision_latency import OBSERVATION, TARGETS_MS, cycles_of, settings_of
from benchmarks.layers import DECIDING, running
from benchmarks.machine import parser, percentile, progress, report
from benchmarks.scene import CLUSTER, INCARNATION, START_SECONDS, messages_of
from bus.events import event_of
from bus.port import Message, StoredMessage
from schemas.envelope import NewEvent, stamp
from schemas.history import FilledSeries, HistoryFilled
from schemas.identity import Origin
from schemas.registry import encode
from services.agents.profiles import FORESAIL

WITHOUT: Mapping[str, Any] = {
    "shadow_models": [],
    "demand_bands": False,
    "workload_history": False,
    "replica_capacity": False,
}
DAYS = 7
STEP_SECONDS = 300
SERIES_A_PIECE = 25
START_CYCLES = 200
"""A quarter of an hour: a series is walked through once for each of its three steps."""
TICKS = os.sysconf("SC_CLK_TCK")
LAYERS = ("snapshot", "observation")


def main() -> int:
    """Measure, print, and return 0."""
    flags = parser(__doc__)
    flags.add_argument(
        "--nodes",
        type=int,
        nargs="+",
        default=list(TARGETS_MS),
        metavar="N",
        help="sizes, two rows each",
    )
    flags.add_argument("--cycles", type=int, default=440, metavar="N", help="cycles at each size")
    options = flags.parse_args()
    title = (
        f"all models beside none, profile {FORESAIL.name}, {options.cycles} cycles back to back, ms"
    )
    report(title, options, measure(options))
    return 0


def measure(options: argparse.Namespace) -> list[dict[str, object]]:
    """Return one row per size, without models and with all of them."""
    rows = []
    with progress(quiet=options.json) as shown:
        for nodes in options.nodes:
            making = shown.add_task(f"recording {nodes} nodes", total=options.cycles)
            tick = partial(shown.advance, making)
            recorded = messages_of(nodes, options.cycles, options.seed, tick)
            shown.remove_task(making)
            for models in ("none", "all"):
                task = shown.add_task(f"{nodes} nodes, models: {models}", total=options.cycles)
                tick = partial(shown.advance, task)
                rows.append(_row(nodes, models, *asyncio.run(_run(recorded, models, tick))))
                shown.remove_task(task)
    return rows


async def _run(
    recorded: Sequence[StoredMessage], models: str, tick: Callable[[], None]
) -> tuple[list[float], dict[str, float]]:
    """Return milliseconds of each cycle, and CPU milliseconds a cycle by process."""
    settings = settings_of(FORESAIL.name)
    if models == "none":
        settings = {**settings, "inference": {**settings["inference"], **WITHOUT}}
    turns = turns_of(recorded)
    filled = history_of(recorded) if models == "all" else []
    before: dict[str, float] = {}
    async with running(DECIDING, settings=settings) as layers:
        done = 0

        def count() -> None:
            nonlocal done
            done += 1
            tick()
            if done == START_CYCLES:
                before.update({name: cpu_ms(pid) for name, pid in layers.pids.items()})

        for piece in filled:
            await layers.bus.publish([piece])
        milliseconds = await cycles_of(layers, turns, count)
        later = len(milliseconds) - START_CYCLES
        spent = {
            name: (cpu_ms(pid) - before[name]) / later
            for name, pid in layers.pids.items()
            if name in DECIDING
        }
    return milliseconds, spent


def turns_of(recorded: Sequence[StoredMessage]) -> list[list[Message]]:
    """Return what the collector published, a list for each observation, which ends it."""
    turns: list[list[Message]] = [[]]
    for message in recorded:
        if message.subject.split(".")[2] in LAYERS:
            turns[-1].append(Message(message.subject, message.headers, message.data))
            if message.subject == OBSERVATION:
                turns.append([])
    return turns[:-1]


def history_of(recorded: Sequence[StoredMessage]) -> list[Message]:
    """Return a week of every Service that is observed: a wave of a day, its height by the Service's place."""
    first = next(message for message in recorded if message.subject == OBSERVATION)
    services = event_of(first).data.services
    names = () if services is None else services.ids
    steps = DAYS * 86_400 // STEP_SECONDS
    wave = [1.5 + math.sin(2.0 * math.pi * step * STEP_SECONDS / 86_400) for step in range(steps)]
    series = [
        FilledSeries(
            id=f"service/{name}",
            values=tuple(
                round((place + 1) * (height + 0.05 * (step * 7919 % 13)), 3)
                for step, height in enumerate(wave)
            ),
        )
        for place, name in enumerate(names)
    ]
    pieces = [
        HistoryFilled(
            cycle=0,
            cluster_time_seconds=START_SECONDS,
            source="table",
            part=part,
            start_time_seconds=START_SECONDS - steps * STEP_SECONDS,
            step_seconds=STEP_SECONDS,
            series=tuple(series[begin : begin + SERIES_A_PIECE]),
        )
        for part, begin in enumerate(range(0, len(series), SERIES_A_PIECE))
    ]
    return [_message(piece) for piece in pieces]


def _message(piece: HistoryFilled) -> Message:
    event = stamp(NewEvent(piece, 0, START_SECONDS), Origin(CLUSTER, INCARNATION), "collector", "")
    stored = encode(event)
    return Message(stored.subject, stored.headers, stored.data)


def cpu_ms(pid: int) -> float:
    """Return the CPU time that a process has used."""
    words = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / TICKS * 1e3


def _row(
    nodes: int, models: str, milliseconds: Sequence[float], spent: Mapping[str, float]
) -> dict[str, object]:
    later = milliseconds[START_CYCLES:]
    target, p99 = TARGETS_MS.get(nodes), percentile(later, 0.99)
    return {
        "nodes": nodes,
        "models": models,
        "p50": round(percentile(later, 0.5), 1),
        "p99": round(p99, 1),
        "most": round(max(later), 1),
        f"p99 of the first {START_CYCLES}": round(percentile(milliseconds[:START_CYCLES], 0.99), 1),
        "CPU a cycle": round(sum(spent.values()), 1),
        "of it inference": round(spent["inference"], 1),
        "target p99": target or "-",
        "met": "-" if target is None else "yes" if p99 <= target else "no",
    }


if __name__ == "__main__":
    sys.exit(main())
