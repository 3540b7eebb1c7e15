"""Re-runs beside the floor: parse + SHA-256 of the same lines; and reading the log through NATS.

`python -m benchmarks.rerun_speed [--minutes 30] [--nodes 100] [--recording FILE]` makes a recording on
virtual time (3 s cycles), then, on one core, takes processor seconds of:

- the floor: each line through `json.loads` of the standard library and through orjson, and through
  SHA-256;
- `verify` of every layer but the predictions, and of all layers with the model the recording names;
- all of the recording's messages through NATS: by NatsBus, and by bare nats-py with the same
  batched direct gets.

The least of several rounds counts, sides in turn. Bars: without prediction at most 8 times the floor
and at least 1,000 times real time; with prediction at least 300 times; NatsBus at half of bare or more.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import aclosing
from pathlib import Path
from typing import Any

import nats
import orjson

from benchmarks.machine import parser, progress, report
from bus.nats_adapter import FETCH_BYTES, FETCH_MESSAGES, NatsBus
from bus.nats_server import NatsServer
from bus.port import Message
from bus.recording import open_recording
from bus.streams import StreamDeclaration
from lab.rerun.engine import LAYERS
from lab.rerun.verify import Report, verify

MOST_TIMES_FLOOR = 8.0
LEAST_SPEED = 1_000.0
LEAST_SPEED_WITH_MODEL = 300.0
LEAST_OF_BARE = 0.5
LOG_BYTES = 4 * 1024**3
WITHOUT_PREDICTION = frozenset(LAYERS) - {"prediction"}


def main() -> int:
    """Measure and print; exit code 1 when a re-run found a difference."""
    made = parser(__doc__)
    made.add_argument("--minutes", type=float, default=30.0, help="recorded minutes")
    made.add_argument("--nodes", type=int, default=100, metavar="N", help="nodes of the cluster")
    made.add_argument("--interval", type=float, default=3.0, help="seconds between two cycles")
    made.add_argument("--rounds", type=int, default=3, metavar="N", help="runs; the fastest counts")
    made.add_argument("--recording", metavar="FILE", help="measure this one instead")
    made.add_argument("--no-nats", action="store_true", help="leave out reading through NATS")
    options = made.parse_args()
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    with tempfile.TemporaryDirectory(prefix="foresail-rerun-") as folder:
        path = Path(options.recording or _record_run(Path(folder), options))
        rows, reports = _rerun_rows(path, options)
        if not options.no_nats:
            rows.append(asyncio.run(_nats_row(path, options.rounds)))
    seconds = reports[0].recorded_seconds
    notes = f"{reports[0].messages} messages over {seconds:g} s of recorded time; processor seconds"
    report(f"re-run of {options.nodes} nodes beside the floor", options, rows, notes)
    return 0 if all(report.holds for report in reports) else 1


def _record_run(folder: Path, options: argparse.Namespace) -> Path:
    flags = (
        f"--virtual-time --json --record run.fslog --seed {options.seed} --for {options.minutes:g}m"
        f" --nodes {options.nodes} --interval {options.interval:g} --speed 1"
    )
    subprocess.run(
        [sys.executable, "-m", "foresail", "up", *flags.split()],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=True,
    )
    return folder / "run.fslog"


def _rerun_rows(
    path: Path, options: argparse.Namespace
) -> tuple[list[dict[str, object]], tuple[Report, Report]]:
    lines = [line for frame in open_recording(path).whole_frames() for line in frame.lines]
    reports: dict[str, Report] = {}

    def run(name: str, layers: frozenset[str]) -> None:
        reports[name] = verify(path, layers)

    work: dict[str, Callable[[], None]] = {
        "floor: json.loads + SHA-256": lambda: _floor(lines, json.loads),
        "floor: orjson + SHA-256": lambda: _floor(lines, orjson.loads),
        "re-run without prediction": lambda: run("without", WITHOUT_PREDICTION),
        "re-run with prediction": lambda: run("with", frozenset(LAYERS)),
    }
    least = dict.fromkeys(work, float("inf"))
    with progress(quiet=options.json) as shown:
        task = shown.add_task("rounds", total=options.rounds * len(work))
        for _ in range(options.rounds):
            for name, do in work.items():
                began = time.process_time()
                do()
                least[name] = min(least[name], time.process_time() - began)
                shown.advance(task)
    floor, recorded = least["floor: json.loads + SHA-256"], reports["with"].recorded_seconds
    fast = least["floor: orjson + SHA-256"]
    rows: list[dict[str, object]] = []
    for name, took in least.items():
        rows.append(
            {
                "work": name,
                "CPU s": round(took, 3),
                "times the floor": round(took / floor, 2),
                "times orjson's": round(took / fast, 2),
                "times real time": round(recorded / took),
                "met": _meets_target(name, took / floor, recorded / took),
            }
        )
    return rows, (reports["without"], reports["with"])


def _meets_target(name: str, times_floor: float, times_real: float) -> str:
    if name == "re-run without prediction":
        return _word(times_floor <= MOST_TIMES_FLOOR and times_real >= LEAST_SPEED)
    if name == "re-run with prediction":
        return _word(times_real >= LEAST_SPEED_WITH_MODEL)
    return ""


def _word(met: bool) -> str:
    return "yes" if met else "no"


def _floor(lines: list[bytes], parse: Callable[[bytes], Any]) -> None:
    digest = hashlib.sha256()
    for line in lines:
        digest.update(line)
        parse(line)


async def _nats_row(path: Path, rounds: int) -> dict[str, object]:
    messages = list(open_recording(path))
    cluster = messages[0].subject.split(".")[1]
    declaration = StreamDeclaration.of(cluster, "1", max_bytes=LOG_BYTES)
    with tempfile.TemporaryDirectory(prefix="foresail-rerun-") as folder:
        server = NatsServer(Path(folder))
        url = await server.start()
        try:
            await NatsBus.declare(url, declaration)
            bus = await NatsBus.connect(url, cluster=cluster, stream=declaration.name)
            for message in messages:
                await bus.publish([Message(message.subject, message.headers, message.data)])
            await bus.close()
            ours = bare = float("inf")
            for _ in range(rounds):
                ours = min(ours, await _by_bus(url, cluster, declaration.name, len(messages)))
                bare = min(bare, await _by_hand(url, cluster, declaration.name, len(messages)))
        finally:
            await server.stop()
    return {
        "work": f"through NATS: {len(messages) / ours:,.0f}/s, bare {len(messages) / bare:,.0f}/s",
        "CPU s": round(ours, 3),
        "times the floor": round(bare / ours, 2),
        "times orjson's": "",
        "times real time": "",
        "met": _word(bare / ours >= LEAST_OF_BARE),
    }


async def _by_bus(url: str, cluster: str, stream: str, expected: int) -> float:
    bus = await NatsBus.connect(url, cluster=cluster, stream=stream)
    began, count = time.perf_counter(), 0
    async with aclosing(bus.history([f"foresail.{cluster}.>"])) as messages:
        async for _ in messages:
            count += 1
    took = time.perf_counter() - began
    await bus.close()
    assert count == expected, count
    return took


async def _by_hand(url: str, cluster: str, stream: str, expected: int) -> float:
    client = await nats.connect(url)
    began, count, seq, more = time.perf_counter(), 0, 1, True
    while more:
        inbox = client.new_inbox()
        subscription = await client.subscribe(inbox)
        wish = {
            "seq": seq,
            "batch": FETCH_MESSAGES,
            "max_bytes": FETCH_BYTES,
            "next_by_subj": f"foresail.{cluster}.>",
        }
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
    assert count == expected, count
    return took


if __name__ == "__main__":
    sys.exit(main())
