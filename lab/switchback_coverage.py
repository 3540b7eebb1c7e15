"""How often a switchback's interval contains the truth: `python -m lab.switchback_coverage FILE [DIR]`.

FILE is an experiment with three arms on the same seeds: one that never acts (the hypothesis' `against`), one that
always acts (its `arm`), and that one with a switchback. Always acting minus never acting, on the same seed, is the
true effect; the switchback sees neither world. `foresail experiment run FILE --time-limit 10m` plays the trials, and
the same command resumes; this reads what they left in DIR.
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from lab.experiments.code_version import code_version
from lab.experiments.results import ResultFolder, TrialResult
from lab.experiments.run import Plan
from lab.experiments.spec import Experiment, read_experiment
from projections.quantiles import binomial_limits

LEAST, MOST = 0.92, 0.98
METRIC = "score_dollars_per_hour"


@dataclass(frozen=True, slots=True)
class Repetition:
    """One seed's truth and what the switchback made of it, money per hour."""

    true: float
    estimate: float
    low: float
    high: float

    @property
    def contained(self) -> bool:
        """Whether the interval contains the truth."""
        return self.low <= self.true <= self.high


def main(flags: Sequence[str]) -> int:
    """Return 1 when the share is outside of 92 to 98 %, 2 when trials are missing."""
    parser = argparse.ArgumentParser(prog="python -m lab.switchback_coverage", description=__doc__)
    parser.add_argument("file", type=Path, metavar="FILE", help="an experiment file")
    parser.add_argument("folder", type=Path, nargs="?", metavar="DIR", help="its results")
    options = parser.parse_args(flags)
    experiment = read_experiment(options.file)
    folder = options.folder or options.file.with_suffix(".results")
    plan = Plan(experiment, "development", folder, code_version())
    kept = ResultFolder(folder)
    results = kept.read(task.fingerprint for task in plan.tasks)
    missing = len(plan.tasks) - len(results)
    if missing:
        print(f"{missing} of {len(plan.tasks)} trials of this code are missing in {folder}")
    code = 0
    for workload in experiment.workloads:
        of_workload = [result for result in results if result.workload == workload.name]
        code = max(code, _report(workload.name, list(_repetitions(experiment, of_workload))))
    costs = kept.read_costs(results).values()
    hours = math.fsum(cost.cpu_seconds for cost in costs) / 3_600.0
    print(f"processor time of all trials: {hours:.2f} h")
    return 2 if missing else code


def _repetitions(experiment: Experiment, results: Sequence[TrialResult]) -> Iterator[Repetition]:
    """Yield every seed of which all three trials are there and the interval is known."""
    (switched,) = (arm.name for arm in experiment.arms if "switchback.unit" in arm.settings)
    by_trial = {(result.seed, result.arm): result for result in results}
    for seed in sorted({result.seed for result in results}):
        found = [
            by_trial.get((seed, arm))
            for arm in (experiment.hypothesis.against, experiment.hypothesis.arm, switched)
        ]
        never, always, some = found
        if never is None or always is None or some is None or some.switchback is None:
            continue
        made = some.switchback
        if made.effect_money_per_hour is None or made.low_money_per_hour is None:
            continue
        assert made.high_money_per_hour is not None
        yield Repetition(
            always.metrics[METRIC] - never.metrics[METRIC],
            made.effect_money_per_hour,
            made.low_money_per_hour,
            made.high_money_per_hour,
        )


def _report(name: str, found: Sequence[Repetition]) -> int:
    if len(found) < 2:
        print(f"{name}: no repetitions with an interval")
        return 1
    count, hits = len(found), sum(repetition.contained for repetition in found)
    below = sum(repetition.high < repetition.true for repetition in found)
    low, high = binomial_limits(hits, count)
    errors = [repetition.estimate - repetition.true for repetition in found]
    true = [repetition.true for repetition in found]
    widths = [repetition.high - repetition.low for repetition in found]
    apart = sum(repetition.low > 0 or repetition.high < 0 for repetition in found)
    print(
        f"{name}: {hits} of {count} intervals contain the true effect: {hits / count:.1%} "
        f"(95% limits {low:.1%} to {high:.1%}); {below} lie below it, {count - hits - below} above"
    )
    print(
        f"  true effect: mean {statistics.fmean(true):+.4f} $/h, standard deviation {statistics.stdev(true):.4f}; "
        f"{sum(value != 0 for value in true)} of {count} are not 0"
    )
    print(
        f"  error of the estimate: mean {statistics.fmean(errors):+.4f} $/h, "
        f"standard error {statistics.stdev(errors) / math.sqrt(count):.4f}, "
        f"standard deviation {statistics.stdev(errors):.4f}"
    )
    print(
        f"  intervals: median width {statistics.median(widths):.4f} $/h; {apart} of {count} do not contain 0"
    )
    return 0 if LEAST <= hits / count <= MOST else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
