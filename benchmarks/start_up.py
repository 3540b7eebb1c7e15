"""How long `foresail up` takes to its first decision, and what each process spends importing.

The stack starts as a user starts it, in a new folder each time. Import time is that of a fresh
interpreter that imports the process' module and nothing else, beside one that imports nothing.

    python -m benchmarks.start_up [--rounds 3]
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
from contextlib import aclosing
from pathlib import Path

from benchmarks.layers import REPOSITORY
from benchmarks.machine import parser, progress, report
from bus.logins import read_logins
from bus.nats_adapter import NatsBus
from schemas import subjects

READY_SECONDS = 120.0
POLL_SECONDS = 0.02
MODULES = {
    "(an empty interpreter)": "sys",
    "foresail up": "foresail.up",
    "twin": "twin.__main__",
    "collector": "services.collector.__main__",
    "inference": "services.inference.__main__",
    "agents": "services.agents.__main__",
    "referee": "services.referee.__main__",
    "executor": "services.executor.__main__",
    "scoreboard": "services.scoreboard.__main__",
    "exerciser": "services.exerciser.__main__",
    "dashboard": "foresail.page",
}


def main() -> int:
    """Measure, print, and return 0."""
    flags = parser(__doc__)
    flags.add_argument(
        "--rounds", type=int, default=3, metavar="N", help="starts that are measured"
    )
    flags.add_argument(
        "--nodes", type=int, default=100, metavar="N", help="nodes of the simulated cluster"
    )
    options = flags.parse_args()
    with progress(quiet=options.json) as shown:
        task = shown.add_task("starts", total=options.rounds * (1 + len(MODULES)))
        starts, imports = [], {name: [] for name in MODULES}  # type: ignore[var-annotated]
        for _ in range(options.rounds):
            starts.append(asyncio.run(first_decision(options.nodes, options.seed)))
            shown.advance(task)
            for name, module in MODULES.items():
                imports[name].append(import_seconds(module))
                shown.advance(task)
    rows = [_row(f"foresail up, {options.nodes} nodes: first decision", starts)]
    rows += [_row(f"import {name}", seconds) for name, seconds in imports.items()]
    report("start-up, seconds", options, rows)
    return 0


def _row(what: str, seconds: list[float]) -> dict[str, object]:
    return {
        "what": what,
        "median s": round(statistics.median(seconds), 2),
        "best s": round(min(seconds), 2),
        "worst s": round(max(seconds), 2),
    }


def import_seconds(module: str) -> float:
    """Return wall seconds of an interpreter that imports one module and ends."""
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", f"import {module}"], check=True, cwd=REPOSITORY)
    return time.perf_counter() - began


async def first_decision(nodes: int, seed: int) -> float:
    """Return wall seconds from starting `foresail up` to its first stored decision."""
    with tempfile.TemporaryDirectory() as folder:
        words = ["up", "--nodes", str(nodes), "--seed", str(seed), "--dashboard-port", "0"]
        began, wall_ns = time.monotonic(), time.time_ns()
        stack = subprocess.Popen(  # noqa: ASYNC220 - nothing else runs in this loop yet
            [sys.executable, "-m", "foresail", *words, "--state", f"{folder}/state"],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
            stdout=subprocess.DEVNULL,
        )
        try:
            decided_ns = await asyncio.wait_for(
                _wait_for_decision(Path(folder), began), READY_SECONDS
            )
        finally:
            stack.send_signal(signal.SIGINT)
            await asyncio.to_thread(stack.wait, 60)
        return (decided_ns - wall_ns) / 1e9


async def _wait_for_decision(folder: Path, began: float) -> int:
    """Wait for the first decision; return when the log stored it, nanoseconds since the epoch."""
    path = folder / "state" / "stack.json"
    while not path.exists() and time.monotonic() - began < READY_SECONDS:  # noqa: ASYNC110 - a file
        await asyncio.sleep(POLL_SECONDS)
    file = json.loads(path.read_bytes())
    logins = read_logins(folder / "state" / "incarnations" / file["incarnation"])
    bus = await NatsBus.connect(
        file["nats_url"], cluster=file["cluster"], stream=file["stream"], login=logins["reader"]
    )
    try:
        async with aclosing(bus.read([subjects.build(file["cluster"], ("decision",))])) as messages:
            async for message in messages:
                return message.time_ns
    finally:
        await bus.close()
    raise AssertionError("the feed never ends")


if __name__ == "__main__":
    sys.exit(main())
