"""What PPO with the mask and DQN cost over the small case's optimum: `python -m benchmarks.learning_reference`."""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.machine import parser, report
from lab.learning.comparison.reference import (
    STREAMS,
    TOLERANCES,
    cost_over_optimum,
    small_case_plan,
)
from lab.learning.training.tasks import SeedTask, run_seed


def main() -> int:
    """Train both, print a row for each, and return 1 where one is too far away."""
    options = parser(__doc__).parse_args()
    rows = []
    for algorithm, most in TOLERANCES.items():
        with TemporaryDirectory() as folder:
            plan = small_case_plan(algorithm, seed=options.seed)
            outcome = run_seed(SeedTask(plan, str(Path(folder) / "seed-0"))).outcome
            ratio = cost_over_optimum(Path(folder))
        rows.append(
            {
                "algorithm": algorithm,
                "times the optimum's cost": round(ratio, 4),
                "at most": most,
                "steps": outcome.steps,
                "CPU, s": round(outcome.cpu_seconds),
            }
        )
    report(f"the small case's optimum, {STREAMS} test streams", options, rows)
    return int(any(row["times the optimum's cost"] > row["at most"] for row in rows))


if __name__ == "__main__":
    sys.exit(main())
