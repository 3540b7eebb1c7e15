"""Recordings of two lengths: processor seconds and peak memory of every command that reads one.

`python -m benchmarks.recording_memory [--events 20000,80000] [--nodes 10] [--recordings FILE,FILE]` makes recordings on
virtual time (kept in `.cache/`), runs each command on both in a process of its own, and prints what
it took. Memory is bounded when the longer recording needs no more than the shorter one.
`--events 2000000 --make-only` makes the recording of two million events (about an hour of one core).
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.machine import parser, progress, report

CACHE = Path(__file__).parent / ".cache"
EVENTS_A_CYCLE = 14.8
"""On ten nodes without exerciser."""
INTERVAL_SECONDS = 5.0
MOST_GROWTH_RATIO = 1.3
MEBIBYTE = 1024**2
FORESAIL = (sys.executable, "-m", "foresail")


def main() -> int:
    """Print the figures; exit code 1 when memory grows with the recording or a command fails."""
    made = parser(__doc__)
    made.add_argument("--events", default="20000,80000", metavar="N,N", help="lengths in events")
    made.add_argument("--nodes", type=int, default=10, help="simulated nodes")
    made.add_argument("--recordings", metavar="FILE,FILE", help="measure these instead")
    made.add_argument("--make-only", action="store_true", help="make the recordings, then end")
    options = made.parse_args()
    with progress(quiet=options.json) as shown:
        task = shown.add_task("recordings and commands", total=None)
        files = _files(options)
        rows = [] if options.make_only else _measure(files, lambda: shown.advance(task))
    if options.make_only:
        for file in files:
            print(file)
        return 0
    report("reading recordings", options, rows, "peak memory is that of the command's process")
    return int(any(row["growth"] > MOST_GROWTH_RATIO for row in rows))


def _files(options: argparse.Namespace) -> list[Path]:
    if options.recordings:
        return [Path(word) for word in options.recordings.split(",")]
    CACHE.mkdir(exist_ok=True)
    return [
        _recording(int(word), options.nodes, options.seed) for word in options.events.split(",")
    ]


def _recording(events: int, nodes: int, seed: int) -> Path:
    """Return a recording of about so many events, from the cache if it is there."""
    path = CACHE / f"long-{nodes}-{events}-{seed}.fslog"
    if not path.exists():
        part = path.with_suffix(f".{time.monotonic_ns()}")
        seconds = events / EVENTS_A_CYCLE * INTERVAL_SECONDS
        flags = ["--virtual-time", "--for", f"{seconds:.0f}s", "--nodes", str(nodes)]
        flags += ["--interval", f"{INTERVAL_SECONDS:.0f}s", "--seed", str(seed), "--json"]
        command = [*FORESAIL, "up", *flags, "--record", str(part)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        part.rename(path)
    return path


def _measure(files: Sequence[Path], tick: Any) -> list[dict[str, Any]]:
    rows = []
    for name, command in _commands().items():
        row: dict[str, Any] = {"command": name}
        peaks = []
        for file in files:
            with tempfile.TemporaryDirectory() as folder:
                words = [word.format(file=file, out=Path(folder) / "out") for word in command]
                cpu_seconds, peak_bytes = _run([*FORESAIL, *words])
            tick()
            peaks.append(peak_bytes)
            size = f"{file.stat().st_size / 1e6:.0f} MB"
            row |= {f"cpu s ({size})": round(cpu_seconds, 2)}
            row |= {f"peak MiB ({size})": round(peak_bytes / MEBIBYTE, 1)}
        rows.append({**row, "growth": round(max(peaks) / min(peaks), 3)})
    return rows


def _commands() -> dict[str, tuple[str, ...]]:
    return {
        "check": ("recording", "check", "{file}"),
        "info": ("recording", "info", "{file}"),
        "cut": ("recording", "cut", "{file}", "{out}", "--cycle", "100..150"),
        "cut at the end": ("recording", "cut", "{file}", "{out}", "--decision", "last"),
        "verify": ("verify", "{file}"),
        "diff": ("diff", "{file}", "{file}"),
    }


def _run(command: Sequence[str]) -> tuple[float, int]:
    """Run a command; return its processor seconds and its peak memory in bytes."""
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        sys.exit(f"{' '.join(command)} ended with {child.returncode}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


if __name__ == "__main__":
    sys.exit(main())
