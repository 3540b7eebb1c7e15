"""From a stored observation to its stored decision, by the stream's own time stamps.

Inference, three agents and the referee run as separate processes on a real nats-server; no twin, no
cluster. The recorded observations of a cluster with 30 pods a node are published back to back: the
next one as soon as the decision is stored. Both sync settings. Targets for the p99: 50 ms at 100
nodes, 250 ms at 1,000, 1 s at 5,000.

    python -m benchmarks.decision_latency [--nodes 100 1000 5000] [--cycles 300] [--profile foresail]

The recorded scene shows no executed actions, so a profile decides as it does for a cluster that never answers it.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import aclosing
from functools import partial
from typing import Any

from benchmarks.layers import DECIDING, Layers, as_new_messages, running
from benchmarks.machine import parser, percentile, progress, report
from benchmarks.scene import CLUSTER, messages_of
from bus.port import Message
from foresail.dependent_settings import fill_dependent
from foresail.settings import resolve
from schemas import subjects
from services.agents.profiles import BASELINE_RULES, PROFILES

TARGETS_MS = {100: 50.0, 1_000: 250.0, 5_000: 1_000.0}
SYNC = ("1s", "always")
DECISION = subjects.build(CLUSTER, ("decision",))
OBSERVATION = subjects.build(CLUSTER, ("observation",))
DECISION_SECONDS = 30.0


def main() -> int:
    """Measure, print, and return 0."""
    flags = parser(__doc__)
    flags.add_argument(
        "--nodes",
        type=int,
        nargs="+",
        default=list(TARGETS_MS),
        metavar="N",
        help="nodes of the cluster, one row each",
    )
    flags.add_argument("--cycles", type=int, default=300, metavar="N", help="cycles at each size")
    flags.add_argument(
        "--sync",
        nargs="+",
        choices=SYNC,
        default=list(SYNC),
        help="how often the log is synced to disk, one row each",
    )
    flags.add_argument(
        "--profile", choices=PROFILES, default=BASELINE_RULES.name, help="what the agents judge by"
    )
    options = flags.parse_args()
    report(
        f"stored observation to stored decision, profile {options.profile}, {options.cycles} cycles back to back, ms",
        options,
        measure(options),
    )
    return 0


def measure(options: argparse.Namespace) -> list[dict[str, object]]:
    """Return one row per size and sync setting."""
    rows = []
    settings = settings_of(options.profile)
    with progress(quiet=options.json) as shown:
        for nodes in options.nodes:
            making = shown.add_task(f"recording {nodes} nodes", total=options.cycles)
            tick = partial(shown.advance, making)
            recorded = messages_of(nodes, options.cycles, options.seed, tick)
            shown.remove_task(making)
            observations = [message for message in recorded if message.subject == OBSERVATION]
            for sync in options.sync:
                task = shown.add_task(f"{nodes} nodes, sync {sync}", total=options.cycles)
                tick = partial(shown.advance, task)
                milliseconds = asyncio.run(
                    latencies(as_new_messages(observations), sync, tick, settings)
                )
                shown.remove_task(task)
                rows.append(_row(nodes, sync, milliseconds))
    return rows


def _row(nodes: int, sync: str, milliseconds: Sequence[float]) -> dict[str, object]:
    target, p99 = TARGETS_MS.get(nodes), percentile(milliseconds, 0.99)
    return {
        "nodes": nodes,
        "sync": sync,
        "p50": round(percentile(milliseconds, 0.5), 1),
        "p90": round(percentile(milliseconds, 0.9), 1),
        "p99": round(p99, 1),
        "max": round(max(milliseconds), 1),
        "target p99": target or "-",
        "met": "-" if target is None else "yes" if p99 <= target else "no",
    }


def settings_of(profile: str) -> dict[str, Mapping[str, Any]]:
    """Return what each process is given by `foresail up --profile` of this name."""
    filled = fill_dependent(resolve(None, {}, {"agents.profile": profile}))
    return {
        name: filled.groups["agents" if name.startswith("agent-") else name].model_dump(mode="json")
        for name in DECIDING
    }


async def latencies(
    observations: Sequence[Message],
    sync: str,
    tick: Callable[[], None],
    settings: Mapping[str, Mapping[str, Any]] | None = None,
) -> list[float]:
    """Return milliseconds from each observation to its decision, both as stored."""
    async with running(DECIDING, sync_interval=sync, settings=settings) as layers:
        return await cycles_of(layers, [[message] for message in observations], tick)


async def cycles_of(
    layers: Layers, turns: Iterable[Sequence[Message]], tick: Callable[[], None]
) -> list[float]:
    """Publish what belongs to a cycle once the one before is decided; return milliseconds as `latencies` does."""
    stored: dict[int, int] = {}
    milliseconds: list[float] = []
    patterns = [OBSERVATION, DECISION]
    async with aclosing(layers.bus.read(patterns)) as messages:
        waiting = iter(turns)
        await layers.bus.publish(next(waiting))
        async for message in messages:
            cycle = int(message.headers["ce-correlationid"].rsplit("/", 1)[-1])
            if message.subject == OBSERVATION:
                stored[cycle] = message.time_ns
                continue
            milliseconds.append((message.time_ns - stored.pop(cycle)) / 1e6)
            tick()
            following = next(waiting, None)
            if following is None:
                return milliseconds
            await layers.bus.publish(following)
    raise AssertionError("the feed never ends")


if __name__ == "__main__":
    sys.exit(main())
