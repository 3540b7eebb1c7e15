"""Judge rules of sizes on jobs of a trace: how much of what they request idles, and how often a full machine lacks.

    python -m lab.forecast.sizes --data DIR [--days 1-5] [--pods 12]

Machines are drawn: so many jobs of the same day each, taken for pods, on a machine that is exactly as large as what
they request, which is the worst that packing can do. At each origin a rule sees the day so far, at most so much of it
as is named, and is judged by the hour that follows. Rows: resource, rule, for how long use was known; columns by
margin: slack, and the share of five-minute steps in which the machine's pods want more than it has.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import NamedTuple

import numpy as np
import polars as pl

from bus.errors import InputError
from features.live.size_rules import SIZE_RULES, Floats, Spread, cores_of, highest, past_use
from features.workload_history.grid import DAY_STEPS
from lab.traces.workload_trace import TraceFile, require

FILE = TraceFile("demand/google2011_job_day_usage_5min.parquet", "use of jobs by day, in steps")
KNOWN_STEPS = (1, 2, 6, 12, 24, 96)
MARGINS = (1.1, 1.15, 1.2, 1.3)
AHEAD, EVERY, MACHINES = 12, 24, 30
"""Steps judged after each origin, between two origins, and machines drawn at each."""


class Judged(NamedTuple):
    """One rule with one margin: sums over machines and steps."""

    used: float = 0.0
    requested: float = 0.0
    lacking: int = 0
    steps: int = 0

    def plus(self, wanted: Floats, requested: float) -> Judged:
        """Return the sums with a machine whose pods want (steps,) of what they request."""
        return Judged(
            self.used + float(wanted.sum()),
            self.requested + requested * len(wanted),
            self.lacking + int((wanted > requested).sum()),
            self.steps + len(wanted),
        )

    def text(self) -> str:
        """Return slack and how often a machine lacks."""
        return f"{100 * (1 - self.used / self.requested):.1f} %, {100 * self.lacking / self.steps:.2f} %"


def read_days(data: Path, days: Sequence[int]) -> Iterator[tuple[Floats, Floats]]:
    """Yield cores and memory of each day's jobs, (jobs, steps); raises InputError where the file is absent."""
    table = pl.read_parquet(require(data, FILE.path)).sort("day", "job_id", "step")
    for day in days:
        rows = table.filter(pl.col("day") == day)
        cores, memory = (
            rows[name].to_numpy().astype(np.float64).reshape(-1, DAY_STEPS)
            for name in ("cpu_pct", "mem_pct")
        )
        yield cores, memory


def requests_of(past: Floats, memory: Floats, pods: int) -> Mapping[tuple[str, str], Floats]:
    """Return by (resource, rule) what each job is counted with, without a margin."""
    known = past_use(past)
    spread = Spread(np.ones(len(past)), max(1, len(past) // pods))
    made = {("cores", str(rule)): cores_of(rule, known, spread) for rule in SIZE_RULES}
    return {**made, ("memory", "highest"): highest(memory)}


def judge(
    days: Sequence[tuple[Floats, Floats]], pods: int, seed: int = 7
) -> Mapping[tuple[str, str, int, float], Judged]:
    """Return by (resource, rule, steps known, margin) how it did."""
    found: dict[tuple[str, str, int, float], Judged] = {}
    rng = Random(seed)
    for cores, memory in days:
        for origin in range(max(KNOWN_STEPS), DAY_STEPS - AHEAD, EVERY):
            machines = [
                rng.sample(range(len(cores)), min(pods, len(cores))) for _ in range(MACHINES)
            ]
            ahead = slice(origin, origin + AHEAD)
            for known in KNOWN_STEPS:
                seen = slice(origin - known, origin)
                made = requests_of(cores[:, seen], memory[:, seen], pods)
                for (resource, rule), amounts in made.items():
                    use = (cores if resource == "cores" else memory)[:, ahead]
                    for machine in machines:
                        wanted, asked = use[machine].sum(axis=0), float(amounts[machine].sum())
                        for margin in MARGINS:
                            key = (resource, rule, known, margin)
                            found[key] = found.get(key, Judged()).plus(wanted, margin * asked)
    return found


def as_markdown(found: Mapping[tuple[str, str, int, float], Judged]) -> str:
    """Return the table."""
    heads = " | ".join(f"x {margin:g}" for margin in MARGINS)
    lines = [
        f"| resource | rule | known for | {heads} |",
        "|---|---|---:|" + "---:|" * len(MARGINS),
    ]
    for resource, rule, known in Counter(key[:3] for key in found):
        cells = " | ".join(found[resource, rule, known, margin].text() for margin in MARGINS)
        lines.append(f"| {resource} | {rule} | {5 * known} min | {cells} |")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder of the trace pack")
    parser.add_argument("--days", default="1-5", help="days of the file, first-last (train: 1-5)")
    parser.add_argument("--pods", type=int, default=12, help="pods on a machine")
    options = parser.parse_args(arguments)
    first, _, last = options.days.partition("-")
    try:
        days = list(read_days(options.data, range(int(first), int(last or first) + 1)))
    except (InputError, ValueError) as error:
        print(f"lab.forecast.sizes: {error}", file=sys.stderr)
        return 2
    print(as_markdown(judge(days, options.pods)))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
