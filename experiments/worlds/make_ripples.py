"""Writes `ripples.csv` and `ripples-others.csv`: a Service each whose requests rise and fall every twenty minutes.

    python -m experiments.worlds.make_ripples

So small that a trial takes a second, and never quiet: who scales too late, too little or too much pays at once. Shapes
are invented; the second is for test splits alone.
"""

from __future__ import annotations

import math
from pathlib import Path

from experiments.worlds.make_web import COLUMNS

NODES, CORES, GIB = 4, 8, 1024**3
PERIOD_SECONDS, STEP_SECONDS = 1_200, 30
SERVICES = {"ripples.csv": (60.0, 420.0, 0.04, 5), "ripples-others.csv": (90.0, 300.0, 0.05, 6)}
"""By file: fewest and most requests a second, CPU-seconds of one, replicas deployed."""


def main() -> None:
    """Write both files beside this one."""
    for name, (low, high, cpu_seconds, replicas) in SERVICES.items():
        rows = [
            "# A Service in quick waves on four machines, invented; made by make_ripples.py.",
            COLUMNS,
        ]
        rows += [f"node,n{number},{1000 * CORES},{32 * GIB},,,,,,,,," for number in range(NODES)]
        rates = ",".join(
            f"{at}:{low + (high - low) * (1 - math.cos(2 * math.pi * at / PERIOD_SECONDS)) / 2:.1f}"
            for at in range(0, PERIOD_SECONDS, STEP_SECONDS)
        )
        rows.append(
            f'arrival,shop,,,0,service,1000,{GIB},{replicas},,"recorded rates={rates} '
            f'repeat_seconds={PERIOD_SECONDS}",{cpu_seconds},0.5'
        )
        (Path(__file__).parent / name).write_text("\n".join(rows) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
