"""A simulated day as fast as it goes: 24 hours of 100 nodes at 15 s cycles, 5,760 of them.

`python -m benchmarks.virtual_day [--hours 24] [--nodes 100] [--interval 15] [--speed 1]` runs
`foresail up --virtual-time` in a process of its own, recording, and prints how long that took on the
clock and on the processor, per cycle, and how much memory it held at most.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.machine import parser, report

TARGET_SECONDS = 300.0


def main() -> int:
    """Run once and print the figures; exit code 1 when the run failed."""
    made = parser(__doc__)
    made.add_argument("--hours", type=float, default=24.0, help="simulated hours")
    made.add_argument("--nodes", type=int, default=100, help="simulated nodes")
    made.add_argument("--interval", type=float, default=15.0, help="seconds between two cycles")
    made.add_argument(
        "--speed", type=float, default=1.0, help="cluster seconds per simulated second"
    )
    options = made.parse_args()
    with tempfile.TemporaryDirectory(prefix="foresail-day-") as folder:
        row = run(Path(folder), options)
    if row is None:
        return 1
    notes = f"target: {TARGET_SECONDS:g} s for 24 h of 100 nodes at 15 s cycles; openb, recording"
    report("A simulated day", options, [row], notes)
    return 0


def run(folder: Path, options: Any) -> dict[str, Any] | None:
    """Run one day and return its figures; None when it failed, with its error on stderr."""
    flags = (
        f"--virtual-time --json --workload openb --record day.fslog --seed {options.seed}"
        f" --for {options.hours:g}h --nodes {options.nodes} --interval {options.interval:g} --speed {options.speed:g}"
    )
    command = [sys.executable, "-m", "foresail", "up", *flags.split()]
    root = str(Path(__file__).parents[1])
    began = time.monotonic()
    with (folder / "said").open("wb") as output:
        ran = subprocess.run(
            ["env", f"PYTHONPATH={root}", *command],
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=output,
            check=False,
        )
    wall = time.monotonic() - began
    if ran.returncode != 0:
        sys.stderr.write((folder / "said").read_text(errors="replace")[-2_000:])
        return None
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    summary = json.loads(ran.stdout.splitlines()[-1])
    processor = used.ru_utime + used.ru_stime
    return {
        "hours": options.hours,
        "nodes": options.nodes,
        "cycles": summary["cycles"],
        "events": summary["events_total"],
        "wall s": round(wall, 1),
        "CPU s": round(processor, 1),
        "CPU ms a cycle": round(1_000 * processor / max(1, summary["cycles"]), 1),
        "most memory MB": round(used.ru_maxrss / 1024),
        "recording MB": round((folder / "day.fslog").stat().st_size / 1e6, 1),
    }


if __name__ == "__main__":
    sys.exit(main())
