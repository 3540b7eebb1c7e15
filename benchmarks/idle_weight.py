"""What the idle stack weighs: CPU and memory of all processes at 100 nodes and speed 1, as the kernel counts them.

`python benchmarks/idle_weight.py [--seconds 60]` starts `foresail up --workload idle --nodes 100 --speed 1` in a
temporary folder, lets it settle, measures, stops it, and prints one row per process and the sum.
"""

from __future__ import annotations

import argparse
import os
import platform
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks.machine import quiet

SETTLE_SECONDS = 20.0
TARGET_CORES = 1.0
TARGET_GIGABYTES = 1.2
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Reading:
    """One process at one moment."""

    name: str
    cpu_seconds: float
    rss_bytes: int
    pss_bytes: int


def read(pid: int) -> Reading | None:
    """Read a process' CPU and memory; None when it is gone."""
    base = Path(f"/proc/{pid}")
    try:
        fields = (base / "stat").read_text().rsplit(")", 1)[1].split()
        command = (base / "cmdline").read_bytes().replace(b"\0", b" ").decode().strip()
        rollup = dict(
            line.split(":", 1)
            for line in (base / "smaps_rollup").read_text().splitlines()[1:]
            if ":" in line
        )
    except OSError:
        return None
    cpu = (int(fields[11]) + int(fields[12])) / TICKS
    return Reading(_name(command), cpu, _kilobytes(rollup["Rss"]), _kilobytes(rollup["Pss"]))


def descendants(root: int) -> list[int]:
    """Return a process and everything below it."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
            except OSError:
                continue
            parents.setdefault(parent, []).append(int(entry.name))
    pids, waiting = [], [root]
    while waiting:
        pid = waiting.pop()
        pids.append(pid)
        waiting.extend(parents.get(pid, []))
    return pids


def measure(root: int, seconds: float) -> list[tuple[Reading, float]]:
    """Return each process' reading at the end with the cores it used in between."""
    before = {pid: read(pid) for pid in descendants(root)}
    time.sleep(seconds)
    rows = []
    for pid, first in before.items():
        last = read(pid)
        if first is not None and last is not None:
            rows.append((last, (last.cpu_seconds - first.cpu_seconds) / seconds))
    return sorted(rows, key=lambda row: -row[1])


def main() -> int:
    """Start, measure, stop, print."""
    quiet()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--seconds",
        type=float,
        default=60.0,
        metavar="S",
        help="how long to measure, in seconds (default: 60)",
    )
    parser.add_argument(
        "--nodes",
        type=int,
        default=100,
        metavar="N",
        help="nodes of the simulated cluster (default: 100)",
    )
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "foresail", "up", "--workload", "idle", "--speed", "1"]
        command += [
            "--nodes",
            str(arguments.nodes),
            "--state",
            f"{folder}/state",
            "--dashboard-port",
            "0",
        ]
        stack = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        try:
            time.sleep(SETTLE_SECONDS)
            rows = measure(stack.pid, arguments.seconds)
        finally:
            stack.send_signal(signal.SIGINT)
            stack.wait(60)
    print_rows(rows, arguments.nodes, arguments.seconds)
    return 0


def print_rows(rows: list[tuple[Reading, float]], nodes: int, seconds: float) -> None:
    """Print the table and the sums next to their targets."""
    print(f"idle stack, {nodes} nodes, speed 1, interval 5 s, over {seconds:g} s; {_machine()}")
    print(f"{'process':<20}{'cores':>8}{'RSS MB':>9}{'PSS MB':>9}")
    for reading, cores in rows:
        print(
            f"{reading.name:<20}{cores:>8.3f}{reading.rss_bytes / 1e6:>9.0f}{reading.pss_bytes / 1e6:>9.0f}"
        )
    cores = sum(row[1] for row in rows)
    rss = sum(row[0].rss_bytes for row in rows) / 1e9
    pss = sum(row[0].pss_bytes for row in rows) / 1e9
    print(f"{'sum':<20}{cores:>8.3f}{rss * 1000:>9.0f}{pss * 1000:>9.0f}")
    print(f"CPU / target    {cores / TARGET_CORES:.2f}  (target under {TARGET_CORES:g} core)")
    print(
        f"memory / target {pss / TARGET_GIGABYTES:.2f} by PSS, {rss / TARGET_GIGABYTES:.2f} by RSS "
        f"(target under {TARGET_GIGABYTES:g} GB; PSS counts shared pages once)"
    )


def _name(command: str) -> str:
    words = command.split()
    if "nats-server" in command:
        return "nats-server"
    if "-m" in words:
        module = words[words.index("-m") + 1]
        rest = words[words.index("-m") + 2 :]
        if module == "foresail.twin_server":
            return "twin"
        return (
            f"agent {rest[0]}" if module == "services.agents" else module.removeprefix("services.")
        )
    return words[0].rsplit("/", 1)[-1] if words else "?"


def _kilobytes(text: str) -> int:
    return int(text.split(maxsplit=1)[0]) * 1024


def _machine() -> str:
    return f"{os.cpu_count()} cores, Python {platform.python_version()}, {platform.system()}"


if __name__ == "__main__":
    sys.exit(main())
