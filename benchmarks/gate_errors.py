"""How often the gate of experiments errs: `python -m benchmarks.gate_errors`, or with an experiment's results.

Two tables. The null test puts random signs on differences and asks the gate each time: the share of passes with the
upper limit of its exact interval (Clopper and Pearson) has to stay at or below 5 %. The second draws differences whose
true mean is known and counts how often an interval lies wholly above it (a gain that is none) and wholly below, for
the gate's interval beside the plain percentile, expanded percentile, BCa and bootstrap-t ones.

With FILE and DIR the null test is made on the stored differences of every arm on the hypothesis' metric.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from benchmarks.machine import quiet
from lab.experiments.null_test import measure_null_rate
from lab.experiments.resampling import (
    centre,
    expanded_percentiles,
    mean_intervals,
    outer_quantiles,
    resample_means,
    resampling,
    student_limits,
)
from lab.experiments.results import ResultFolder
from lab.experiments.spec import Inference, read_experiment
from lab.experiments.statistics import analyse

Floats = npt.NDArray[np.float64]
Draw = Callable[[np.random.Generator, tuple[int, int, int]], Floats]
WORKLOADS, BAR = 4, 0.05
CONFIDENCE, TAIL = 0.95, 0.025
COLUMNS = 250


def _rare(random: np.random.Generator, shape: tuple[int, int, int]) -> Floats:
    """Return differences of which four in five are 0, as of counts of rare losses."""
    return np.where(random.random(shape) < 0.2, random.lognormal(0.0, 1.0, shape), 0.0)


KINDS: Mapping[str, tuple[float, Draw]] = {
    "normal": (0.0, lambda random, shape: random.normal(size=shape)),
    "normal, spreads 0.1, 1, 5, 50": (0.0, lambda random, shape: (
        random.normal(size=shape) * np.array([0.1, 1.0, 5.0, 50.0])[:, None, None]
    )),
    "heavy tails (t, 3)": (0.0, lambda random, shape: random.standard_t(3, size=shape)),
    "skewed (exponential)": (1.0, lambda random, shape: random.exponential(size=shape)),
    "very skewed (lognormal)": (math.exp(0.5), lambda random, shape: random.lognormal(0.0, 1.0, shape)),
    "four in five are 0": (0.2 * math.exp(0.5), _rare),
}  # fmt: skip
"""True mean, and how differences are drawn: workloads x pairs x columns."""


def main(flags: Sequence[str]) -> int:
    """Return 1 when chance passes the gate too often."""
    quiet()
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gate_errors", description=__doc__)
    parser.add_argument("file", nargs="?", type=Path, metavar="FILE", help="an experiment file")
    parser.add_argument("folder", nargs="?", type=Path, metavar="DIR", help="its results")
    parser.add_argument("--flips", type=int, default=10_000, help="random signs, and draws (10000)")
    parser.add_argument(
        "--resamples", type=int, default=2_000, help="of made-up differences (2000)"
    )
    parser.add_argument(
        "--seeds",
        type=int,
        nargs="+",
        default=[5, 10, 20],
        metavar="N",
        help="pairs of each workload",
    )
    options = parser.parse_args(flags)
    if options.file is not None and options.folder is not None:
        return _null_table(_stored(options.file, options.folder), options.flips)
    code = _null_table(_made_up(options.seeds, options.resamples), options.flips)
    _interval_table(options.seeds, options.resamples, options.flips)
    return code


Case = tuple[str, Sequence[Floats], Inference]


def _stored(file: Path, folder: Path) -> Iterator[Case]:
    experiment = read_experiment(file)
    results = ResultFolder(folder)
    names = sorted(path.stem for path in results.path_of("any").parent.glob("*.json"))
    analysis = analyse(experiment, results.read(names))
    for arm, pairing in analysis.pairings.items():
        strata = pairing.paired(experiment.hypothesis.metric).strata
        yield arm, [stratum.difference for stratum in strata], experiment.inference


def _made_up(seeds: Sequence[int], resamples: int) -> Iterator[Case]:
    for name, (_, draw) in KINDS.items():
        for pairs in seeds:
            random = np.random.Generator(np.random.PCG64(pairs))
            gains = draw(random, (WORKLOADS, pairs, 1))[:, :, 0]
            yield f"{name} | {pairs}", list(gains), Inference(resamples=resamples)


def _null_table(cases: Iterator[Case], flips: int) -> int:
    print(
        f"| differences | seeds | passes of {flips} | rate | upper limit |\n|---|---:|---:|---:|---:|"
    )
    worst = 0.0
    for name, gains, inference in cases:
        rate = measure_null_rate(gains, inference, flips, seed=1)
        worst = max(worst, rate.high)
        label = name if "|" in name else f"{name} | {len(gains[0])}"
        print(f"| {label} | {rate.passes} | {rate.rate:.2%} | {rate.high:.2%} |", flush=True)
    print(f"\nworst upper limit {worst:.2%}, bar {BAR:.0%}\n")
    return 1 if worst > BAR else 0


def _interval_table(seeds: Sequence[int], resamples: int, draws: int) -> None:
    names = ("gate", "percentile", "expanded", "BCa", "bootstrap-t")
    print(f"| differences | seeds | {' | '.join(names)} |\n|---|---:|{'---:|' * len(names)}")
    for kind, (mean, draw) in KINDS.items():
        for pairs in seeds:
            random = np.random.Generator(np.random.PCG64(100 + pairs))
            errors = {name: np.zeros(2) for name in names}
            for first in range(0, draws, COLUMNS):
                shape = (WORKLOADS, pairs, min(COLUMNS, draws - first))
                found = _intervals(list(draw(random, shape)), resamples)
                for name, (low, high) in found.items():
                    errors[name] += [(low > mean).sum(), (high < mean).sum()]
            cells = [
                f"{above / draws:.1%} / {below / draws:.1%}" for above, below in errors.values()
            ]
            print(f"| {kind} | {pairs} | {' | '.join(cells)} |", flush=True)


def _intervals(strata: Sequence[Floats], resamples: int) -> dict[str, tuple[Floats, Floats]]:
    sizes = tuple(map(len, strata))
    found = mean_intervals(strata, CONFIDENCE, resamples, 1)
    centred = [centre(values) for values in strata]
    drawn, errors = resample_means(centred, resampling(sizes, resamples, 1))
    pairs = {
        "percentile": outer_quantiles(drawn, TAIL),
        "expanded": expanded_percentiles(drawn, sizes, CONFIDENCE),
        "BCa": _bca(drawn, centred),
        "bootstrap-t": student_limits(drawn, errors, found.error, CONFIDENCE),
    }
    shifted = {name: (found.mean + low, found.mean + high) for name, (low, high) in pairs.items()}
    return {"gate": (found.low, found.high), **shifted}


def _bca(drawn: Floats, centred: Sequence[Floats]) -> tuple[Floats, Floats]:
    """Return BCa limits (Efron, 1987, Better Bootstrap Confidence Intervals, JASA 82) of stratified means."""
    normal, count = NormalDist(), len(drawn)
    below = ((drawn < 0.0).mean(axis=0) + (drawn <= 0.0).mean(axis=0)) / 2.0
    parts = np.concatenate([values / len(values) for values in centred])
    squares = (parts**2).sum(axis=0)
    squares[squares == 0.0] = 1.0
    acceleration = (parts**3).sum(axis=0) / (6.0 * squares**1.5)
    ordered = np.sort(drawn, axis=0)
    limits = []
    for tail in (TAIL, 1.0 - TAIL):
        rows = []
        for share, bend in zip(below, acceleration, strict=True):
            bias = normal.inv_cdf(min(max(float(share), 0.5 / count), 1.0 - 0.5 / count))
            reach = bias + normal.inv_cdf(tail)
            level = normal.cdf(bias + reach / (1.0 - float(bend) * reach))
            rows.append(min(count - 1, max(0, round(level * (count - 1)))))
        limits.append(ordered[rows, np.arange(drawn.shape[1])])
    return limits[0], limits[1]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
