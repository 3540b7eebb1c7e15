"""Writes `night.csv`: forty machines on which little runs, each holding a pod or two.

    python -m experiments.worlds.make_night > experiments/worlds/night.csv

Invented: workers with one or two replicas that nobody asks anything, a few Services, and short tasks that come and go.
"""

from __future__ import annotations

import random
import sys

from experiments.worlds.make_web import COLUMNS, GIB

SEED = 15
NODES = 40
CORES = 8


def main() -> None:
    """Write the rows."""
    rng = random.Random(SEED)
    lines = [
        "# Forty machines on which little runs, invented; made by make_night.py.",
        COLUMNS,
    ]
    lines += [f"node,n{i:03},{CORES * 1_000},{32 * GIB},,,,,,,,," for i in range(NODES)]
    for number in range(24):
        request = rng.choice((500, 1_000, 2_000))
        replicas = rng.choice((1, 1, 2))
        lines.append(f"arrival,worker-{number:02},,,0,service,{request},{GIB},{replicas},,,,")
    for number in range(5):
        traffic = f"daily low=15 high={rng.randint(30, 50)} peak_hour=12"
        lines.append(f"arrival,web-{number},,,0,service,1000,{GIB},2,,{traffic},0.02,1")
    for number in range(20):
        at, length = 60 * rng.randint(5, 120), rng.choice((120, 300, 900))
        lines.append(f"arrival,task-{number:02},,,{at},task,1000,{GIB},,{length},,,")
    arrivals = sorted(lines[2 + NODES :], key=lambda line: float(line.split(",")[4]))
    sys.stdout.write("\n".join([*lines[: 2 + NODES], *arrivals]) + "\n")


if __name__ == "__main__":
    main()
