"""Pairs results of two arms that saw the same world: the same workload with the same seed.

What cannot be paired is named. A trial that was not run, and a figure that only one of two trials has, would
otherwise leave a comparison quietly, and an arm that fails on the hardest worlds would look better for it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bus.errors import InputError
from lab.experiments.results import TrialResult
from lab.experiments.spec import Experiment, Split

Floats = npt.NDArray[np.float64]
Place = tuple[str, int, str]
"""Workload, seed, arm."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two trials in the same world."""

    workload: str
    seed: int
    arm: TrialResult
    reference: TrialResult


@dataclass(frozen=True, slots=True)
class MissingTrial:
    """A trial of the experiment without a result."""

    workload: str
    seed: int
    arm: str

    def __str__(self) -> str:
        return f"{self.arm} on {self.workload}, seed {self.seed}"


@dataclass(frozen=True, slots=True)
class MissingValue:
    """A pair of which not both have a figure."""

    workload: str
    seed: int
    arms: tuple[str, ...]
    """Those without it."""

    def __str__(self) -> str:
        return f"{' and '.join(self.arms)} on {self.workload}, seed {self.seed}"


@dataclass(frozen=True, slots=True)
class Stratum:
    """A metric's values on one workload, seed by seed in ascending order."""

    workload: str
    seeds: tuple[int, ...]
    arm: Floats
    reference: Floats

    @property
    def difference(self) -> Floats:
        """Arm minus reference, in the metric's unit."""
        return self.arm - self.reference


@dataclass(frozen=True, slots=True)
class PairedMetric:
    """A metric of two arms, by workload."""

    metric: str
    strata: tuple[Stratum, ...]
    """Workloads with at least one pair, by name."""
    missing: tuple[MissingValue, ...]
    """Pairs of workloads to which the metric applies where one or both have no value."""

    @property
    def one_sided(self) -> tuple[MissingValue, ...]:
        """Pairs in which exactly one of the two has a value."""
        return tuple(value for value in self.missing if len(value.arms) == 1)


@dataclass(frozen=True, slots=True)
class Pairing:
    """All worlds in which two arms were tried."""

    arm: str
    reference: str
    pairs: tuple[Pair, ...]
    """By workload, then seed."""
    missing: tuple[MissingTrial, ...]
    """Trials of either arm that the experiment asks for and that have no result."""

    def paired(self, metric: str) -> PairedMetric:
        """Return a metric's values; a workload where neither arm ever has one is left out."""
        strata: list[Stratum] = []
        missing: list[MissingValue] = []
        for workload, pairs in self._by_workload().items():
            values = [
                (pair, _value(pair.arm, metric), _value(pair.reference, metric)) for pair in pairs
            ]
            if all(math.isnan(arm) and math.isnan(reference) for _, arm, reference in values):
                continue
            whole = [row for row in values if not math.isnan(row[1] + row[2])]
            missing += [self._missing(*row) for row in values if math.isnan(row[1] + row[2])]
            if whole:
                seeds = tuple(pair.seed for pair, _, _ in whole)
                arm, reference = np.array([row[1:] for row in whole], dtype=np.float64).T
                strata.append(Stratum(workload, seeds, arm, reference))
        return PairedMetric(metric, tuple(strata), tuple(missing))

    def _missing(self, pair: Pair, arm: float, reference: float) -> MissingValue:
        sides = ((self.arm, arm), (self.reference, reference))
        without = tuple(name for name, value in sides if math.isnan(value))
        return MissingValue(pair.workload, pair.seed, without)

    def _by_workload(self) -> Mapping[str, list[Pair]]:
        grouped: dict[str, list[Pair]] = {}
        for pair in self.pairs:
            grouped.setdefault(pair.workload, []).append(pair)
        return grouped


class Trials:
    """The results of an experiment's split, each at its place."""

    def __init__(
        self, experiment: Experiment, results: Iterable[TrialResult], split: Split = "development"
    ) -> None:
        """Place results.

        Raises:
            InputError: two different results for the same arm, workload and seed.
        """
        self.expected: tuple[Place, ...] = tuple(
            (trial.workload.name, trial.seed, trial.arm.name) for trial in experiment.trials(split)
        )
        self._by_place: dict[Place, TrialResult] = {}
        for result in results:
            place = (result.workload, result.seed, result.arm)
            other = self._by_place.setdefault(place, result)
            if other.metrics != result.metrics:
                raise InputError(
                    "results",
                    f"{result.arm} on {result.workload}, seed {result.seed}",
                    "it stands there twice with different figures; keep the results of one commit",
                )
        wanted = set(self.expected)
        self.surplus: tuple[MissingTrial, ...] = tuple(
            MissingTrial(*place) for place in sorted(self._by_place) if place not in wanted
        )
        """Results of arms, workloads or seeds that the experiment does not name; nothing is computed from them."""

    @property
    def workloads(self) -> tuple[str, ...]:
        """Workloads of the split, in the experiment's order."""
        return tuple(dict.fromkeys(workload for workload, _, _ in self.expected))

    def results(self, arm: str) -> Sequence[TrialResult]:
        """Return an arm's results, by workload, then seed."""
        return [
            self._by_place[place]
            for place in sorted(self.expected)
            if place[2] == arm and place in self._by_place
        ]

    def pair(self, arm: str, reference: str) -> Pairing:
        """Return the worlds in which both arms were tried, and the trials that lack.

        Raises:
            InputError: the two met different demand in a world of the same workload and seed.
        """
        worlds = sorted({(workload, seed) for workload, seed, _ in self.expected})
        pairs: list[Pair] = []
        missing: list[MissingTrial] = []
        for workload, seed in worlds:
            sides = [self._by_place.get((workload, seed, name)) for name in (arm, reference)]
            if sides[0] is not None and sides[1] is not None:
                _check_same_world(sides[0], sides[1])
                pairs.append(Pair(workload, seed, sides[0], sides[1]))
            missing += [
                MissingTrial(workload, seed, name)
                for name, side in zip((arm, reference), sides, strict=True)
                if side is None
            ]
        return Pairing(arm, reference, tuple(pairs), tuple(missing))


def _check_same_world(arm: TrialResult, reference: TrialResult) -> None:
    if arm.stimulus and reference.stimulus and arm.stimulus != reference.stimulus:
        raise InputError(
            "results",
            f"{arm.arm} and {reference.arm} on {arm.workload}, seed {arm.seed}",
            "they did not meet the same demand at the same moments; play both again with one commit",
        )


def _value(result: TrialResult, metric: str) -> float:
    """Return a figure; NaN where there is none, or none that is a number."""
    value = result.metrics.get(metric, math.nan)
    return value if math.isfinite(value) else math.nan
