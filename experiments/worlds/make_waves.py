"""Writes `waves.csv`: thirty Services whose requests rise and fall within forty minutes, on a hundred machines.

    python -m experiments.worlds.make_waves > experiments/worlds/waves.csv

Shapes and shares are invented. Every Service is deployed with the replicas that two thirds of its peak needs at 70 % of
their request, so the top of each wave is more than they bear, and every wave looks like the one before it.
"""

from __future__ import annotations

import math
import random
import sys

from experiments.worlds.make_web import COLUMNS, GIB

SEED = 23
NODES = 100
CORES = 8
SERVICES = 30
PEAK_CORES = 450.0
"""CPU that all peaks together need; a little more than half of the machines."""
PERIOD_SECONDS, STEP_SECONDS = 2_400, 60
LOW = 0.25
"""Share of the peak at the bottom of a wave."""
DEPLOYED = 2.0 / 3.0
UTILISATION = 0.7


def main() -> None:
    """Write the rows."""
    rng = random.Random(SEED)
    lines = [
        "# Thirty Services in waves on a hundred machines of 8 cores, invented; made by make_waves.py.",
        COLUMNS,
    ]
    lines += [f"node,n{i:03},{CORES * 1_000},{32 * GIB},,,,,,,,," for i in range(NODES)]
    shares = [rng.lognormvariate(0.0, 0.6) for _ in range(SERVICES)]
    for number, share in enumerate(shares):
        cores = PEAK_CORES * share / math.fsum(shares)
        work = round(rng.uniform(0.01, 0.06), 3)
        replicas = max(2, math.ceil(DEPLOYED * cores / UTILISATION))
        traffic = _waves(cores / work, rng.uniform(0.0, 600.0))
        cv = rng.choice((0.5, 1.0))
        lines.append(
            f'arrival,web-{number:02},,,0,service,1000,{GIB},{replicas},,"{traffic}",{work},{cv:g}'
        )
    sys.stdout.write("\n".join(lines) + "\n")


def _waves(peak: float, late_seconds: float) -> str:
    """Return the traffic of one Service: a cosine, lowest at `late_seconds`."""
    points = []
    for at in range(0, PERIOD_SECONDS, STEP_SECONDS):
        angle = 2.0 * math.pi * (at - late_seconds) / PERIOD_SECONDS
        share = LOW + (1.0 - LOW) * (1.0 - math.cos(angle)) / 2.0
        points.append(f"{at}:{peak * share:.1f}")
    return f"recorded rates={','.join(points)} repeat_seconds={PERIOD_SECONDS}"


if __name__ == "__main__":
    main()
