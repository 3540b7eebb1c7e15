"""NatsBus beside bare nats-py: what order, completeness and one writer per subject cost.

Both sides do the same JetStream work on the same server in interleaved rounds; the figure is the
median of the rounds' ratios. Bare means nats-py as one would write it by hand: publishes with the
same headers, one expectation each and the same window of open acks; history by the same batched
direct gets; the live feed by a plain subscription. Target: 70 % or more of bare.

    python -m benchmarks.adapter [--events 20000] [--rounds 7]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from pathlib import Path

import nats
from nats.aio.client import Client
from nats.aio.msg import Msg

from benchmarks.machine import parser, progress, report
from bus.nats_adapter import FETCH_BYTES, FETCH_MESSAGES, NatsBus
from bus.nats_publish import WINDOW
from bus.nats_server import NatsServer
from bus.port import Message
from bus.streams import StreamDeclaration

TARGET = 0.70
SUBJECTS = 256
"""Different subjects, so that a window of publishes is open at once although each subject has one
writer that waits for its acks."""
LOG_BYTES = 128 * 1024**2
HEADERS = {
    "content-type": "application/json",
    "ce-specversion": "1.0",
    "ce-type": "foresail.proposal.v1",
    "ce-source": "/foresail/bench/1/agent-safety",
    "ce-time": "2026-01-01T00:00:00.000000Z",
    "ce-dataschema": "urn:foresail:schema:foresail.proposal.v1",
    "ce-correlationid": "bench/1/1",
    "ce-causationid": "5b0f4b6e-4a5e-5f0c-9d8f-0a4d0f9b7c11",
    "ce-traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
    "ce-confighash": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
}
"""What every event carries; both sides send and read it."""

Side = Callable[[str, int, bytes], Awaitable[float]]


async def main() -> int:
    """Measure, print, and return 0."""
    flags = parser(__doc__)
    flags.add_argument(
        "--events", type=int, metavar="N", default=10_000, help="events a round and side"
    )
    flags.add_argument(
        "--rounds", type=int, default=5, metavar="N", help="rounds; each gives one ratio"
    )
    flags.add_argument("--bytes", type=int, default=512, help="data bytes of an event")
    options = flags.parse_args()
    rows = await measure(options)
    report(
        f"adapter beside bare nats-py, {options.events} events of {options.bytes} B", options, rows
    )
    return 0


async def measure(options: argparse.Namespace) -> list[dict[str, object]]:
    """Return one row per kind of work."""
    sides: dict[str, tuple[Side, Side]] = {
        "publish": (publish_bus, publish_bare),
        "read history": (history_bus, history_bare),
        "read live": (live_bus, live_bare),
    }
    seconds: dict[str, list[tuple[float, float]]] = {name: [] for name in sides}
    data = json.dumps({"filler": "x" * (options.bytes - 14)}).encode()
    with tempfile.TemporaryDirectory() as folder, progress(quiet=options.json) as shown:
        server = NatsServer(Path(folder))
        url = await server.start()
        task = shown.add_task("rounds", total=options.rounds * len(sides))
        try:
            for number in range(options.rounds):
                for name, (ours, bare) in sides.items():
                    pair = [ours, bare] if number % 2 else [bare, ours]
                    took = {side: await side(url, options.events, data) for side in pair}
                    seconds[name].append((took[ours], took[bare]))
                    shown.advance(task)
        finally:
            await server.stop()
    return [_row(name, pairs, options.events) for name, pairs in seconds.items()]


def _row(name: str, pairs: list[tuple[float, float]], events: int) -> dict[str, object]:
    ratios = sorted(bare / ours for ours, bare in pairs)
    return {
        "work": name,
        "NatsBus events/s": round(events / statistics.median(ours for ours, _ in pairs)),
        "bare events/s": round(events / statistics.median(bare for _, bare in pairs)),
        "ratio (median)": round(statistics.median(ratios), 3),
        "lowest": round(ratios[0], 3),
        "highest": round(ratios[-1], 3),
        "target": TARGET,
        "met": "yes" if statistics.median(ratios) >= TARGET else "no",
    }


async def new_log(url: str, cluster: str) -> NatsBus:
    """Declare a log of its own and connect to it."""
    declaration = StreamDeclaration.of(cluster, "1", max_bytes=LOG_BYTES)
    await NatsBus.declare(url, declaration)
    return await NatsBus.connect(url, cluster=cluster, stream=declaration.name)


def subject(cluster: str, number: int) -> str:
    """Return the subject of the event of that number."""
    return f"foresail.{cluster}.proposal.a{number % SUBJECTS}"


async def fill_log(url: str, cluster: str, events: int, data: bytes) -> str:
    """Declare a log that holds `events` events already, once; return its stream's name."""
    bus = await new_log(url, cluster)
    name = StreamDeclaration.of(cluster, "1").name
    if (await bus.info()).messages == 0:
        await _publish_bus(bus, cluster, events, data)
    await bus.close()
    return name


async def publish_bus(url: str, events: int, data: bytes) -> float:
    """Publish through NatsBus; return seconds."""
    cluster = f"p{time.monotonic_ns()}"
    bus = await new_log(url, cluster)
    await _publish_bus(bus, cluster, SUBJECTS, data)
    began = time.perf_counter()
    await _publish_bus(bus, cluster, events, data)
    took = time.perf_counter() - began
    await bus.close()
    return took


async def _publish_bus(bus: NatsBus, cluster: str, events: int, data: bytes) -> None:
    async def writer(first: int) -> None:
        for number in range(first, events, WINDOW):
            headers = {"Nats-Msg-Id": f"{cluster}-{time.monotonic_ns()}-{number}", **HEADERS}
            await bus.publish([Message(subject(cluster, number), headers, data)])

    await asyncio.gather(*(writer(first) for first in range(WINDOW)))


async def publish_bare(url: str, events: int, data: bytes) -> float:
    """Publish through nats-py's own JetStream context with expectations; return seconds."""
    cluster = f"p{time.monotonic_ns()}"
    await (await new_log(url, cluster)).close()
    client = await nats.connect(url)
    stream = client.jetstream(timeout=5)
    newest: dict[str, int] = {}

    async def writer(first: int, count: int) -> None:
        for number in range(first, count, WINDOW):
            name = subject(cluster, number)
            headers = {
                "Nats-Msg-Id": f"{cluster}-{time.monotonic_ns()}-{number}",
                **HEADERS,
                "Nats-Expected-Last-Subject-Sequence": str(newest.get(name, 0)),
            }
            newest[name] = (await stream.publish(name, data, headers=headers)).seq

    await asyncio.gather(*(writer(first, SUBJECTS) for first in range(WINDOW)))
    began = time.perf_counter()
    await asyncio.gather(*(writer(first, events) for first in range(WINDOW)))
    took = time.perf_counter() - began
    await client.close()
    return took


async def history_bus(url: str, events: int, data: bytes) -> float:
    """Read everything stored through NatsBus; return seconds."""
    stream = await fill_log(url, "history", events, data)
    bus = await NatsBus.connect(url, cluster="history", stream=stream)
    began, count = time.perf_counter(), 0
    async with aclosing(bus.history(["foresail.history.>"])) as messages:
        async for message in messages:
            count += len(message.headers) > 0
    took = time.perf_counter() - began
    await bus.close()
    assert count >= events, count
    return took


async def history_bare(url: str, events: int, data: bytes) -> float:
    """Read everything stored by batched direct gets, by hand; return seconds."""
    stream = await fill_log(url, "history", events, data)
    client = await nats.connect(url)
    began, count, seq, more = time.perf_counter(), 0, 1, True
    while more:
        inbox = client.new_inbox()
        subscription = await client.subscribe(inbox)
        wish = {"seq": seq, "batch": FETCH_MESSAGES, "max_bytes": FETCH_BYTES}
        wish["next_by_subj"] = "foresail.history.>"  # type: ignore[assignment]
        body = json.dumps(wish).encode()
        await client.publish(f"$JS.API.DIRECT.GET.{stream}", body, reply=inbox)
        while True:
            message = await subscription.next_msg(timeout=5)
            headers = message.headers or {}
            if "Status" in headers:
                more = int(headers.get("Nats-Num-Pending", "0")) > 0
                break
            count, seq = count + 1, int(headers["Nats-Sequence"]) + 1
        await subscription.unsubscribe()
    took = time.perf_counter() - began
    await client.close()
    assert count >= events, count
    return took


async def live_bus(url: str, events: int, data: bytes) -> float:
    """Read live events through NatsBus while a bare client publishes; return seconds."""
    cluster = f"l{time.monotonic_ns()}"
    bus = await new_log(url, cluster)
    ready, done = asyncio.Event(), asyncio.Event()

    async def read() -> None:
        count = 0
        async with aclosing(bus.read([f"foresail.{cluster}.>"])) as messages:
            async for message in messages:
                ready.set()
                count += len(message.headers) > 0
                if count == events + 1:
                    break
        done.set()

    reader = asyncio.create_task(read())
    took = await _publish_and_read(url, cluster, events, data, ready, done)
    await reader
    await bus.close()
    return took


async def live_bare(url: str, events: int, data: bytes) -> float:
    """Read the live feed by a plain subscription; return seconds."""
    cluster = f"l{time.monotonic_ns()}"
    await (await new_log(url, cluster)).close()
    client = await nats.connect(url)
    ready, done, count = asyncio.Event(), asyncio.Event(), 0

    async def take(message: Msg) -> None:
        nonlocal count
        count += len(message.headers or {}) > 0
        ready.set()
        if count == events + 1:
            done.set()

    await client.subscribe(
        f"live.foresail.{cluster}.>", cb=take, pending_msgs_limit=0, pending_bytes_limit=0
    )
    await client.flush()
    took = await _publish_and_read(url, cluster, events, data, ready, done)
    await client.close()
    return took


async def _publish_and_read(
    url: str, cluster: str, events: int, data: bytes, ready: asyncio.Event, done: asyncio.Event
) -> float:
    """Publish one event until it is seen, then the rest at once; return seconds until all are read.

    The publisher runs in a process of its own, so that the reader's cost is what is measured.
    """
    source = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "benchmarks.adapter", "--push", url, cluster, str(events)),
        stdin=asyncio.subprocess.PIPE,
    )
    assert source.stdin is not None
    source.stdin.write(data + b"\n")
    await asyncio.wait_for(ready.wait(), 30)
    began = time.perf_counter()
    source.stdin.write(b"go\n")
    await asyncio.wait_for(done.wait(), 120)
    took = time.perf_counter() - began
    source.stdin.close()
    await source.wait()
    return took


async def push(url: str, cluster: str, events: int) -> None:
    """Be the source of live events: one at once, the others when told to."""
    client: Client = await nats.connect(url)
    data = (await asyncio.to_thread(sys.stdin.readline)).strip().encode()
    await client.publish(subject(cluster, 0), data, headers=HEADERS)
    await client.flush()
    await asyncio.to_thread(sys.stdin.readline)
    for number in range(events):
        await client.publish(subject(cluster, number), data, headers=HEADERS)
        if number % 1_000 == 0:
            await client.flush()
    await client.flush()
    await client.close()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--push"]:
        asyncio.run(push(sys.argv[2], sys.argv[3], int(sys.argv[4])))
    else:
        sys.exit(asyncio.run(main()))
