"""How many failures repeat others, of a built dataset: `python -m lab.forecast.repetition FOLDER ...`.

A model of repetition knows nothing of first failures, so this bounds what it can foresee, on a trace or in recordings
(`foresail forecast dataset --trace recording --features hazard --anchor hazard`).
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from features.history import Kind
from lab.forecast.dataset import open_dataset
from lab.forecast.risk.source import DatasetSource


@dataclass(frozen=True, slots=True)
class Repetition:
    """Of all failures of attempts."""

    failures: int
    jobs: int
    """That failed."""
    of_failed_jobs: int
    """Failures of a job that had failed before."""
    of_failed_tasks: int
    """Failures of a task that had failed before."""

    def line(self, name: str) -> str:
        """Return it as a row of a table."""
        shares = (
            f"{count / self.failures:.1%}" if self.failures else "-"
            for count in (self.of_failed_jobs, self.of_failed_tasks)
        )
        return f"| {name} | {self.failures:,} | {self.jobs:,} | {' | '.join(shares)} |"


def repetition_of(events: pl.LazyFrame) -> Repetition:
    """Count the failures of task events (`kind`, `job`, `task`)."""
    failed = events.filter(pl.col("kind") == int(Kind.FAIL)).select("job", "task").collect()
    jobs, tasks = failed["job"].n_unique(), failed.unique().height
    return Repetition(len(failed), jobs, len(failed) - jobs, len(failed) - tasks)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a row for each dataset; exit code 2 without one."""
    names = sys.argv[1:] if arguments is None else list(arguments)
    if not names:
        sys.stderr.write("FOLDER: name the folder of at least one built dataset\n")
        return 2
    print(
        "| dataset | failures | failing jobs | of a job that had failed | of a task that had failed |"
    )
    print("|---|---|---|---|---|")
    for name in names:
        source = DatasetSource(open_dataset(Path(name)))
        print(repetition_of(source.events()).line(Path(name).name))
    return 0


if __name__ == "__main__":
    sys.exit(main())
