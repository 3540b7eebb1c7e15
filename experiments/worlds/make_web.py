"""Writes `web.csv`: a shop of forty Services and its nightly reports on a hundred machines.

    python -m experiments.worlds.make_web > experiments/worlds/web.csv
    python -m experiments.worlds.make_web 1015 > experiments/worlds/market.csv
    python -m experiments.worlds.make_web 14 24 > experiments/worlds/web-day.csv

The second is another draw of the same kind, for the test split: no policy was tuned on it. The third is the first
with reports over 24 instead of 6 hours.

Shapes and shares are invented, so that nothing here is fitted to what any arm does well: every Service is
deployed with the replicas that its own peak needs at 70 % of their request, which is what HPA aims at, too.
"""

from __future__ import annotations

import math
import random
import sys

SEED = 14
NODES = 100
CORES = 8
SERVICES = 40
HOURS = 6
REPORTS = 160
"""In so many hours."""
PEAK_CORES = 450.0
"""CPU that all peaks together need; a little more than half of the machines."""
UTILISATION = 0.7
GIB = 2**30
COLUMNS = (
    "record,name,cpu_millicores,memory_bytes,time_seconds,kind,cpu_request_millicores,memory_request_bytes,"
    "replicas,duration_seconds,traffic,request_cpu_seconds,request_cv"
)


def main() -> None:
    """Write the rows."""
    rng = random.Random(int(sys.argv[1]) if len(sys.argv) > 1 else SEED)
    hours = int(sys.argv[2]) if len(sys.argv) > 2 else HOURS
    lines = [
        "# Forty Services and reports on a hundred machines of 8 cores, invented; made by make_web.py.",
        COLUMNS,
    ]
    lines += [f"node,n{i:03},{CORES * 1_000},{32 * GIB},,,,,,,,," for i in range(NODES)]
    shares = [rng.lognormvariate(0.0, 0.8) for _ in range(SERVICES)]
    for number, share in enumerate(shares):
        cores = PEAK_CORES * share / math.fsum(shares)
        work = round(rng.uniform(0.01, 0.06), 3)
        rate = cores / work
        replicas = max(2, math.ceil(cores / UTILISATION))
        if number % 4 == 3:
            traffic = (
                f"bursts base={0.4 * rate:.0f} burst={rate:.0f} every_seconds=3600 last_seconds=600"
            )
        else:
            traffic = f"daily low={0.3 * rate:.0f} high={rate:.0f} peak_hour={rng.randint(2, 6)}"
        cv = rng.choice((0.5, 1.0, 2.0))
        lines.append(
            f"arrival,web-{number:02},,,0,service,1000,{GIB},{replicas},,{traffic},{work},{cv:g}"
        )
    for number in range(REPORTS * hours // HOURS):
        at, length = 60 * rng.randint(20, 60 * hours), rng.choice((300, 600, 1_200, 2_400))
        lines.append(
            f"arrival,report-{number:03},,,{at},task,{rng.choice((1_000, 2_000, 4_000))},{2 * GIB},,{length},,,"
        )
    arrivals = sorted(lines[2 + NODES :], key=lambda line: float(line.split(",")[4]))
    sys.stdout.write("\n".join([*lines[: 2 + NODES], *arrivals]) + "\n")


if __name__ == "__main__":
    main()
