"""What an account of its own costs a process: the same work with and without accounts.

Two servers run side by side, one with the generated accounts and one with a single account for
everybody; each round does the same work on both, in turns, and the figure is the median of the
rounds' ratios. Target: no measurable cost, which is a ratio of 0.95 or more.

    python -m benchmarks.identity_cost [--events 10000] [--rounds 7]
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass
from pathlib import Path

from benchmarks.adapter import HEADERS
from benchmarks.machine import parser, progress, report
from bus.login import ANONYMOUS, Login
from bus.logins import new_logins
from bus.nats_adapter import NatsBus
from bus.nats_conf import accounts_conf
from bus.nats_server import NatsServer
from bus.port import Message
from bus.streams import StreamDeclaration
from services.identities import BY_NAME, IDENTITIES

CLUSTER = "bench"
LOG = StreamDeclaration.of(CLUSTER, "1", max_bytes=512 * 1024**2)
WRITER = "collector"
SUBJECTS = BY_NAME[WRITER].subjects(CLUSTER)
TARGET = 0.95


@dataclass(frozen=True)
class Side:
    """One of the two servers."""

    url: str
    writer: Login
    reader: Login

    async def bus(self, login: Login) -> NatsBus:
        """Connect to its log."""
        return await NatsBus.connect(self.url, cluster=CLUSTER, stream=LOG.name, login=login)


Work = Callable[[Side, int, bytes], Awaitable[float]]


async def main() -> int:
    """Measure, print, and return 0."""
    flags = parser(__doc__)
    flags.add_argument("--events", type=int, default=5_000, help="events a round and side")
    flags.add_argument(
        "--rounds", type=int, default=9, metavar="N", help="rounds; each gives one ratio"
    )
    flags.add_argument("--bytes", type=int, default=2_000, help="data bytes of an event")
    options = flags.parse_args()
    rows = await measure(options)
    report(f"accounts beside none, {options.events} events of {options.bytes} B", options, rows)
    return 0


async def measure(options: argparse.Namespace) -> list[dict[str, object]]:
    """Return one row per kind of work."""
    works: dict[str, Work] = {
        "publish": publish,
        "publish in batches of 5": publish_batches,
        "newest of a subject": newest,
        "read history": history,
        "read live": live,
    }
    seconds: dict[str, list[tuple[float, float]]] = {name: [] for name in works}
    async with AsyncExitStack() as cleanup:
        folder = Path(cleanup.enter_context(tempfile.TemporaryDirectory()))
        ours = await _side(folder / "accounts", cleanup, accounts=True)
        plain = await _side(folder / "plain", cleanup, accounts=False)
        shown = cleanup.enter_context(progress(quiet=options.json))
        task = shown.add_task("rounds", total=options.rounds * len(works))
        for number in range(options.rounds):
            for name, work in works.items():
                pair = [ours, plain] if number % 2 else [plain, ours]
                took = {
                    side.url: await work(side, options.events, b"x" * options.bytes)
                    for side in pair
                }
                seconds[name].append((took[ours.url], took[plain.url]))
                shown.advance(task)
    return [_row(name, pairs, options.events) for name, pairs in seconds.items()]


async def _side(folder: Path, cleanup: AsyncExitStack, *, accounts: bool) -> Side:
    logins = new_logins(IDENTITIES) if accounts else {}
    server = NatsServer(
        folder, accounts=accounts_conf(CLUSTER, LOG.name, logins) if accounts else ""
    )
    url = await server.start()
    cleanup.push_async_callback(server.stop)
    await NatsBus.declare(url, LOG, login=logins.get("bootstrap", ANONYMOUS))
    return Side(url, logins.get(WRITER, ANONYMOUS), logins.get("reader", ANONYMOUS))


def _row(name: str, pairs: list[tuple[float, float]], events: int) -> dict[str, object]:
    ratios = sorted(plain / ours for ours, plain in pairs)
    middle = statistics.median(ratios)
    return {
        "work": name,
        "accounts/s": round(events / statistics.median(ours for ours, _ in pairs)),
        "none/s": round(events / statistics.median(plain for _, plain in pairs)),
        "ratio (median)": round(middle, 3),
        "lowest": round(ratios[0], 3),
        "highest": round(ratios[-1], 3),
        "target": TARGET,
        "met": "yes" if middle >= TARGET else "no",
    }


async def publish(side: Side, events: int, data: bytes) -> float:
    """Publish single events on all subjects at once; return seconds."""
    bus = await side.bus(side.writer)

    async def writer(subject: str) -> None:
        for number in range(events // len(SUBJECTS)):
            await bus.publish([Message(subject, _headers(subject, number), data)])

    began = time.perf_counter()
    await asyncio.gather(*(writer(subject) for subject in SUBJECTS))
    took = time.perf_counter() - began
    await bus.close()
    return took


async def publish_batches(side: Side, events: int, data: bytes) -> float:
    """Publish atomic batches, as the collector does each cycle; return seconds."""
    bus = await side.bus(side.writer)
    began = time.perf_counter()
    for number in range(events // 5):
        names = SUBJECTS[:5]
        await bus.publish([Message(name, _headers(name, number), data) for name in names])
    took = time.perf_counter() - began
    await bus.close()
    return took


async def newest(side: Side, events: int, data: bytes) -> float:
    """Ask for the newest event of a subject, one after the other; return seconds."""
    del data
    bus = await side.bus(side.reader)
    began = time.perf_counter()
    for _ in range(events):
        await bus.last(SUBJECTS[0])
    took = time.perf_counter() - began
    await bus.close()
    return took


async def history(side: Side, events: int, data: bytes) -> float:
    """Read as many stored events; return seconds."""
    del data
    bus = await side.bus(side.reader)
    last = await bus.last_seq()
    began, count = time.perf_counter(), 0
    async with aclosing(
        bus.history([f"foresail.{CLUSTER}.>"], start_seq=last - events)
    ) as messages:
        async for message in messages:
            count += len(message.data) > 0
    took = time.perf_counter() - began
    await bus.close()
    assert count >= events, count
    return took


async def live(side: Side, events: int, data: bytes) -> float:
    """Read events while they are published by another connection; return seconds until the last."""
    reader, start = await side.bus(side.reader), 0
    start = await reader.last_seq() + 1
    publishing = asyncio.create_task(publish(side, events, data))
    began, count = time.perf_counter(), 0
    expected = events // len(SUBJECTS) * len(SUBJECTS)
    async with aclosing(reader.read([f"foresail.{CLUSTER}.>"], start_seq=start)) as messages:
        async for _ in messages:
            count += 1
            if count == expected:
                break
    took = time.perf_counter() - began
    await publishing
    await reader.close()
    return took


def _headers(subject: str, number: int) -> dict[str, str]:
    return {"Nats-Msg-Id": f"{subject}-{time.monotonic_ns()}-{number}", **HEADERS}


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
