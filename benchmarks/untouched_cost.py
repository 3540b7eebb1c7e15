"""What the world without us costs: the same run with it and without it, in turn.

`python -m benchmarks.untouched_cost [--pairs 3] [--minutes 3] [--nodes 100] [--workload google2011]` runs
`foresail up` in a process of its own, all layers and the NATS server below it, and prints the CPU time of each
run, start included, how much more the runs with the second world take, and in how many of its cycles both
worlds were seen. `--virtual-time` takes the run in one process instead, without a server, in which the two
worlds are most of the work. Exit code 1 when a run fails.
"""

from __future__ import annotations

import json
import resource
import statistics
import subprocess
import sys
import tempfile
from argparse import Namespace
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.machine import parser, progress, report

TARGET_PERCENT = 30.0
EVENTS_A_CYCLE = 4
"""What the untouched world publishes in one cycle."""


@dataclass(frozen=True, slots=True)
class Run:
    """What a run took, and what came of it."""

    cpu_seconds: float
    cycles: int
    cycles_seen_twice: int


def main() -> int:
    """Run the pairs and print the figures."""
    made = parser(__doc__)
    made.add_argument("--pairs", type=int, default=3, help="runs with it and without it, in turn")
    made.add_argument("--minutes", type=float, default=3.0, help="simulated minutes of a run")
    made.add_argument("--nodes", type=int, default=100, help="simulated nodes")
    made.add_argument("--workload", default="google2011", help="what the clusters run")
    made.add_argument(
        "--virtual-time",
        action="store_true",
        help="in one process, as fast as it can, without a server",
    )
    made.set_defaults(seed=7)
    options = made.parse_args()
    rows = []
    with progress(quiet=options.json) as shown:
        task = shown.add_task("untouched worlds", total=options.pairs)
        for pair in range(options.pairs):
            order = ("on", "off") if pair % 2 else ("off", "on")
            runs = {untouched: run_once(options, untouched) for untouched in order}
            on, off = runs["on"], runs["off"]
            if on is None or off is None:
                return 1
            seen = f"{on.cycles_seen_twice} of {on.cycles}"
            rows.append(_row(str(pair + 1), on.cpu_seconds, off.cpu_seconds) | {"seen twice": seen})
            shown.advance(task)
    middle = [
        statistics.median(float(row[name]) for row in rows) for name in ("on, CPU s", "off, CPU s")
    ]
    more = statistics.median(float(row["more %"]) for row in rows)
    rows.append({**_row("median", *middle), "more %": more})
    notes = f"target: less than {TARGET_PERCENT:g} % more; each row's percentage is of its own pair"
    report("The world without us", options, rows, notes)
    return 0


def run_once(options: Namespace, untouched: str) -> Run | None:
    """Run the stack once and return what it took; None when it failed, with its error on stderr."""
    with tempfile.TemporaryDirectory() as folder:
        form = "--virtual-time" if options.virtual_time else f"--dashboard-port 0 --state {folder}"
        flags = (
            f"{form} --json --workload {options.workload} --nodes {options.nodes} --seed {options.seed}"
            f" --for {options.minutes:g}m --interval 5 --speed 1 --untouched {untouched}"
        )
        before = _children_seconds()
        ran = subprocess.run(
            [sys.executable, "-m", "foresail", "up", *flags.split()],
            cwd=Path(__file__).parents[1],
            capture_output=True,
            check=False,
        )
        spent = _children_seconds() - before
    if ran.returncode != 0:
        sys.stderr.write(ran.stderr.decode(errors="replace")[-2_000:])
        return None
    summary: dict[str, Any] = json.loads(ran.stdout)
    twice = summary["events"].get("untouched", 0) // EVENTS_A_CYCLE
    return Run(spent, summary["cycles"], twice)


def _children_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _row(pair: str, on: float, off: float) -> dict[str, float | str]:
    return {
        "pair": pair,
        "on, CPU s": round(on, 2),
        "off, CPU s": round(off, 2),
        "more %": round(100.0 * (on / off - 1.0), 1),
    }


if __name__ == "__main__":
    sys.exit(main())
