"""What a cycle costs over nodes, and a restart over the length of the log; drawn to docs/*.svg.

Nodes: median milliseconds from a stored observation to its decision, all deciding layers as real
processes, 1 s sync. Log length: milliseconds until inference is caught up with a log of so many
cycles of 100 nodes on a real nats-server, from its newest checkpoint and from the first event.

    python -m benchmarks.cost_curves [--draw]
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.curve import chart
from benchmarks.decision_latency import OBSERVATION, latencies
from benchmarks.layers import REPOSITORY, as_new_messages
from benchmarks.machine import parser, percentile, progress, report
from benchmarks.scene import CLUSTER, INCARNATION, messages_of
from bus.clock import SystemClock
from bus.follow import Follower, Publisher
from bus.nats_adapter import NatsBus
from bus.nats_server import NatsServer
from bus.port import Message
from bus.streams import StreamDeclaration
from schemas.identity import Origin
from services.inference.service import InferenceHandler, build
from services.inference.settings import InferenceSettings
from services.inference.state import InferenceState

LOG_NODES = 100
LIVE_SECONDS = 120.0
NO_VERSION = -1
"""A state version that no checkpoint has, so that all of them are ignored."""


def main() -> int:
    """Measure, print, draw when told to, and return 0."""
    flags = parser(__doc__)
    flags.add_argument(
        "--nodes",
        type=int,
        nargs="+",
        default=[100, 300, 1_000, 3_000, 5_000],
        metavar="N",
        help="nodes of the cluster, one point each",
    )
    flags.add_argument("--cycles", type=int, default=40, help="cycles at each size")
    flags.add_argument(
        "--lengths",
        type=int,
        nargs="+",
        default=[40, 200, 1_000],
        metavar="N",
        help="lengths of the log in cycles, one point each",
    )
    flags.add_argument("--draw", action="store_true", help="write docs/cost-*.svg")
    options = flags.parse_args()
    over_nodes = nodes_curve(options)
    over_length = asyncio.run(
        length_curve(options, _observations(LOG_NODES, max(options.lengths), 1))
    )
    rows = [{"over": "nodes", "at": nodes, "ms": ms} for nodes, ms in over_nodes]
    rows += [
        {"over": f"cycles in the log, {name}", "at": at, "ms": ms}
        for name, points in over_length.items()
        for at, ms in points
    ]
    report("cost curves", options, rows)
    if options.draw:
        docs = REPOSITORY / "docs"
        text = chart("From observation to decision", "nodes", "ms (p50)", {"1 s sync": over_nodes})
        (docs / "cost-over-nodes.svg").write_text(text, encoding="utf-8")
        text = chart("Restart of inference, 100 nodes", "cycles in the log", "ms", over_length)
        (docs / "cost-over-log-length.svg").write_text(text, encoding="utf-8")
    return 0


def _observations(nodes: int, cycles: int, seed: int) -> list[Message]:
    return as_new_messages(
        [message for message in messages_of(nodes, cycles, seed) if message.subject == OBSERVATION]
    )


def nodes_curve(options: argparse.Namespace) -> list[tuple[float, float]]:
    """Return (nodes, median milliseconds to a decision)."""
    points = []
    with progress(quiet=options.json) as shown:
        task = shown.add_task("sizes", total=len(options.nodes))
        for nodes in options.nodes:
            observations = _observations(nodes, options.cycles, options.seed)
            took = asyncio.run(latencies(observations, "1s", lambda: None))
            points.append((float(nodes), round(percentile(took, 0.5), 1)))
            shown.advance(task)
    return points


async def length_curve(
    options: argparse.Namespace, observations: Sequence[Message]
) -> dict[str, list[tuple[float, float]]]:
    """Return (cycles in the log, milliseconds to catch up) from a checkpoint and from the start."""
    curves: dict[str, list[tuple[float, float]]] = {"from the checkpoint": [], "from the start": []}
    with tempfile.TemporaryDirectory() as folder:
        server = NatsServer(Path(folder))
        url = await server.start()
        declaration = StreamDeclaration.of(CLUSTER, INCARNATION)
        await NatsBus.declare(url, declaration)
        bus = await NatsBus.connect(url, cluster=CLUSTER, stream=declaration.name)
        written = 0
        try:
            for length in sorted(options.lengths):
                handler = build(InferenceSettings(), Origin(CLUSTER, INCARNATION))
                await _write(bus, handler, observations[written:length])
                written = length
                for name, version in (
                    ("from the checkpoint", handler.state_version),
                    ("from the start", NO_VERSION),
                ):
                    handler.state_version = version
                    took = await _live(bus, handler)
                    curves[name].append((float(length), round(took * 1e3, 1)))
        finally:
            await bus.close()
            await server.stop()
    return curves


async def _write(bus: NatsBus, handler: InferenceHandler, observations: Sequence[Message]) -> None:
    """Publish observations, each followed by what inference says about it."""
    follower = _follower(bus, handler)
    task = asyncio.create_task(follower.run())
    for message in observations:
        await bus.publish([message])
        cycle = int(message.headers["ce-correlationid"].rsplit("/", 1)[-1])
        while not _is_answered(follower.state, cycle):
            await asyncio.sleep(0.001)
            if task.done():
                task.result()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


def _is_answered(state: InferenceState, cycle: int) -> bool:
    """Say whether both predictions of a cycle are in the log."""
    is_applied = state.view is not None and state.view.cycle == cycle
    return is_applied and not state.risk_open and not state.demand_open


async def _live(bus: NatsBus, handler: InferenceHandler) -> float:
    """Return seconds until a new follower of the log is live."""
    live = asyncio.Event()
    follower = _follower(bus, handler, live)
    began = time.perf_counter()
    task = asyncio.create_task(follower.run())
    await asyncio.wait_for(live.wait(), LIVE_SECONDS)
    took = time.perf_counter() - began
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    return took


def _follower(
    bus: NatsBus, handler: InferenceHandler, live: asyncio.Event | None = None
) -> Follower[InferenceState]:
    def note(state: str, seq: int) -> None:
        del seq
        if live is not None and state == "live":
            live.set()

    publisher = Publisher(bus, Origin(CLUSTER, INCARNATION), handler.name)
    return Follower(handler, bus, SystemClock(), publisher, on_progress=note)


if __name__ == "__main__":
    sys.exit(main())
