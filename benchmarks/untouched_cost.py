"""What the world without us costs: the same virtual run with it and without it, in turn.

`python -m benchmarks.untouched_cost [--pairs 3] [--minutes 3] [--nodes 100] [--workload google2011]` runs
`foresail up --virtual-time` in processes of their own and prints the CPU time of each, start included, and
how much more the runs with the second world take. Exit code 1 when a run fails.
"""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys
from argparse import Namespace
from pathlib import Path

from benchmarks.machine import parser, progress, report

TARGET_PERCENT = 30.0


def main() -> int:
    """Run the pairs and print the figures."""
    made = parser(__doc__)
    made.add_argument("--pairs", type=int, default=3, help="runs with it and without it, in turn")
    made.add_argument("--minutes", type=float, default=3.0, help="simulated minutes of a run")
    made.add_argument("--nodes", type=int, default=100, help="simulated nodes")
    made.add_argument("--workload", default="google2011", help="what the clusters run")
    made.set_defaults(seed=7)
    options = made.parse_args()
    rows = []
    with progress(quiet=options.json) as shown:
        task = shown.add_task("untouched worlds", total=options.pairs)
        for pair in range(options.pairs):
            order = ("on", "off") if pair % 2 else ("off", "on")
            spent = {untouched: cpu_seconds(options, untouched) for untouched in order}
            if None in spent.values():
                return 1
            rows.append(_row(str(pair + 1), spent["on"] or 0.0, spent["off"] or 0.0))
            shown.advance(task)
    middle = [
        statistics.median(float(row[name]) for row in rows) for name in ("on, CPU s", "off, CPU s")
    ]
    more = statistics.median(float(row["more %"]) for row in rows)
    rows.append({**_row("median", *middle), "more %": more})
    notes = f"target: less than {TARGET_PERCENT:g} % more; each row's percentage is of its own pair"
    report("The world without us", options, rows, notes)
    return 0


def cpu_seconds(options: Namespace, untouched: str) -> float | None:
    """Return the CPU seconds of one run; None when it failed, with its error on stderr."""
    flags = (
        f"--virtual-time --json --workload {options.workload} --nodes {options.nodes} --seed {options.seed}"
        f" --for {options.minutes:g}m --interval 5 --speed 1 --untouched {untouched}"
    )
    before = _children_seconds()
    ran = subprocess.run(
        [sys.executable, "-m", "foresail", "up", *flags.split()],
        cwd=Path(__file__).parents[1],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        check=False,
    )
    if ran.returncode != 0:
        sys.stderr.write(ran.stderr.decode(errors="replace")[-2_000:])
        return None
    return _children_seconds() - before


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
