"""One world of the embedded cluster, many events, one hash: across processes, slicing and CPythons.

Each row is a process of its own that plays the same drawn workload on 20 nodes whose machines fail
now and then. CPU seconds are of that process; the hashes must be one. With `--folder` each run stops
after `--cpu-seconds` and the same command continues it, until all are through.

    python -m benchmarks.twin_engine_hash [--events 10000000] [--folder F --cpu-seconds 300]
"""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path

from benchmarks.machine import parser, progress, report
from proofs.determinism.environments import ENVIRONMENTS
from proofs.determinism.interpreters import (
    CURRENT,
    ROOT,
    MissingInterpreter,
    other_interpreter,
    running_interpreter,
)

EVENTS = 10_000_000


def main() -> int:
    """Compare; return 1 when two hashes differ, 3 when a run has to be continued."""
    flags = parser(__doc__)
    flags.add_argument("--events", type=int, default=EVENTS)
    flags.add_argument("--folder", type=Path, help="where runs stop and continue")
    flags.add_argument("--cpu-seconds", type=float, default=math.inf, help="of a run, each time")
    options = flags.parse_args()
    newest = other_interpreter("3.13") if CURRENT != "3.13" else running_interpreter()
    runs = [(running_interpreter(), 0, False), (running_interpreter(), 1, True), (newest, 2, False)]
    rows = []
    with progress(quiet=options.json) as shown:
        task = shown.add_task("runs", total=len(runs))
        for python, number, sliced in runs:
            environment = ENVIRONMENTS[number]
            row = {"Python": str(python), "environment": environment.name, "sliced": str(sliced)}
            if not isinstance(python, MissingInterpreter):
                words = [str(options.events), str(options.seed), str(int(sliced))]
                if options.folder is not None:
                    words += ["--folder", str((options.folder / str(number)).resolve())]
                    words += ["--cpu-seconds", str(options.cpu_seconds)]
                ran = subprocess.run(
                    [str(python.path), "-m", "benchmarks.twin_engine_world", *words],
                    cwd=ROOT,
                    env={"PATH": "/usr/bin:/bin", **environment.variables},
                    capture_output=True,
                    text=True,
                    check=True,
                )
                digest, seconds, events = ran.stdout.split()
                row |= {"hash": digest[:16], "events": events, "CPU s": seconds}
                rows.append(row)
            shown.advance(task)
    report(f"{options.events:,} events, one hash", options, rows)
    hashes = {row["hash"] for row in rows}
    return 3 if "-" in hashes else int(len(hashes) != 1)


if __name__ == "__main__":
    sys.exit(main())
