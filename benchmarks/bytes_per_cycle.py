"""Bytes that one cycle puts into the log, by layer, and per hour at the default interval of 5 s.

Counted are the data and headers of every stored event while the deciding layers, the scoreboard and
a recorded collector run as real processes. `largest` is the largest single message; a message ends
at 1 MiB. Target: 0.5 MB a cycle or less at 5,000 nodes.

    python -m benchmarks.bytes_per_cycle [--nodes 100 1000 5000] [--cycles 60]
"""

from __future__ import annotations

import asyncio
import sys
from collections import defaultdict
from collections.abc import Callable
from contextlib import aclosing
from functools import partial

from benchmarks.decision_latency import DECISION, OBSERVATION
from benchmarks.layers import DECIDING, Layers, as_new_messages, running
from benchmarks.machine import parser, progress, report
from benchmarks.scene import CLUSTER, INTERVAL_SECONDS, messages_of
from bus.port import StoredMessage
from schemas import subjects

TARGET_BYTES = 500_000
TARGET_NODES = 5_000
SETTLE_SECONDS = 20.0
POLL_SECONDS = 0.1
LAYERS = {**DECIDING, "scoreboard": ("services.scoreboard",)}


def main() -> int:
    """Measure, print, and return 0."""
    flags = parser(__doc__)
    flags.add_argument(
        "--nodes",
        type=int,
        nargs="+",
        default=[100, 1_000, 5_000],
        metavar="N",
        help="nodes of the cluster, one row each",
    )
    flags.add_argument("--cycles", type=int, default=60, metavar="N", help="cycles at each size")
    options = flags.parse_args()
    rows: list[dict[str, object]] = []
    with progress(quiet=options.json) as shown:
        for nodes in options.nodes:
            task = shown.add_task(f"{nodes} nodes", total=2 * options.cycles)
            tick = partial(shown.advance, task)
            recorded = messages_of(nodes, options.cycles, options.seed, tick)
            rows += rows_of(nodes, options.cycles, asyncio.run(run_layers(recorded, tick)))
            shown.remove_task(task)
    report(f"bytes a cycle, {options.cycles} cycles of {INTERVAL_SECONDS:g} s", options, rows)
    return 0


def rows_of(nodes: int, cycles: int, log: list[StoredMessage]) -> list[dict[str, object]]:
    """Return one row per layer and the sum."""
    data: dict[str, int] = defaultdict(int)
    headers: dict[str, int] = defaultdict(int)
    largest: dict[str, int] = defaultdict(int)
    for message in log:
        layer = message.subject.split(".")[2]
        data[layer] += len(message.data)
        headers[layer] += sum(len(name) + len(value) + 4 for name, value in message.headers.items())
        largest[layer] = max(largest[layer], len(message.data))
    total = sum(data.values()) + sum(headers.values())
    rows = [
        _row(nodes, layer, cycles, data[layer], headers[layer], largest[layer]) for layer in data
    ]
    rows.append(
        _row(
            nodes,
            "all",
            cycles,
            total - sum(headers.values()),
            sum(headers.values()),
            max(largest.values()),
        )
    )
    if nodes == TARGET_NODES:
        rows[-1]["target"] = f"{TARGET_BYTES / 1e6:g} MB"
        rows[-1]["met"] = "yes" if total / cycles <= TARGET_BYTES else "no"
    return rows


def _row(
    nodes: int, layer: str, cycles: int, data: int, headers: int, largest: int
) -> dict[str, object]:
    cycle = (data + headers) / cycles
    return {
        "nodes": nodes,
        "layer": layer,
        "bytes/cycle": round(cycle),
        "of it headers": round(headers / cycles),
        "MB/hour": round(cycle * 3_600 / INTERVAL_SECONDS / 1e6, 1),
        "largest": largest,
        "target": "",
        "met": "",
    }


async def run_layers(
    recorded: list[StoredMessage], tick: Callable[[], None]
) -> list[StoredMessage]:
    """Run the layers over recorded cycles, one decided cycle after the other; return the log."""
    async with running(LAYERS) as layers:
        async with aclosing(layers.bus.read([DECISION])) as decisions:
            for message in as_new_messages(recorded):
                if message.subject.endswith(".config.collector"):
                    continue
                await layers.bus.publish([message])
                if message.subject == OBSERVATION:
                    await anext(decisions)
                    tick()
        return await _wait_until_settled(layers)


async def _wait_until_settled(layers: Layers) -> list[StoredMessage]:
    """Wait until nothing is added any more; return everything in the log."""
    before = -1
    for _ in range(round(SETTLE_SECONDS / POLL_SECONDS)):
        now = (await layers.bus.info()).last_seq
        if now == before:
            break
        before = now
        await asyncio.sleep(10 * POLL_SECONDS)
    pattern = subjects.pattern(CLUSTER, (">",))
    async with aclosing(layers.bus.history([pattern])) as messages:
        return [message async for message in messages]


if __name__ == "__main__":
    sys.exit(main())
