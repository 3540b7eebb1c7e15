"""What PPO with the mask and DQN cost over the small case's optimum: `python -m benchmarks.learning_reference`."""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from lab.learning.comparison.reference import (
    STREAMS,
    TOLERANCES,
    cost_over_optimum,
    small_case_plan,
)
from lab.learning.training.tasks import SeedTask, run_seed


def main() -> int:
    """Train both, print a line for each, and return 1 where one is too far away."""
    missed = False
    for algorithm, most in TOLERANCES.items():
        with TemporaryDirectory() as folder:
            plan = small_case_plan(algorithm, seed=0)
            outcome = run_seed(SeedTask(plan, str(Path(folder) / "seed-0"))).outcome
            ratio = cost_over_optimum(Path(folder))
        print(
            f"{algorithm}: {ratio:.4f} times the optimum's cost on {STREAMS} test streams "
            f"(at most {most}), {outcome.steps} steps, {outcome.cpu_seconds:.0f} s of processor time",
            flush=True,
        )
        missed = missed or ratio > most
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
