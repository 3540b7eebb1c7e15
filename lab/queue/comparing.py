"""Arms beside each other over several seeds: means with intervals, and paired differences to one of them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from lab.queue.accounts import ACCOUNTS, METRICS, ArmResult
from projections.figures import number
from projections.quantiles import student_quantile

CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class MeanInterval:
    """A mean over seeds with its Student-t interval; NaN limits for a single seed."""

    mean: float
    low: float
    high: float

    @property
    def text(self) -> str:
        """Mean, and half the width of the interval."""
        half = (self.high - self.low) / 2
        return number(self.mean) if math.isnan(half) else f"{number(self.mean)} ± {number(half)}"


@dataclass(frozen=True, slots=True)
class QueueComparison:
    """The results of a benchmark."""

    name: str
    """Of the workload."""
    reference: str
    """Arm that the others are compared with."""
    results: Sequence[ArmResult]

    @property
    def arms(self) -> Sequence[str]:
        """Arms in the order in which they first come."""
        return tuple(dict.fromkeys(one.arm for one in self.results))

    @property
    def seeds(self) -> Sequence[int]:
        """Seeds that every arm has played."""
        return tuple(dict.fromkeys(one.seed for one in self.results))

    def of(self, arm: str) -> Sequence[ArmResult]:
        """Return the results of an arm, in the order of seeds."""
        return [one for one in self.results if one.arm == arm]

    def metric(self, arm: str, name: str) -> MeanInterval:
        """Return a metric of an arm over its seeds."""
        return interval([one.metrics[name] for one in self.of(arm)])

    def difference(self, arm: str, name: str) -> MeanInterval:
        """Return how much more of a metric an arm has than the reference on the same streams."""
        pairs = zip(self.of(arm), self.of(self.reference), strict=True)
        return interval([one.metrics[name] - other.metrics[name] for one, other in pairs])

    def accounts(self, arm: str) -> Mapping[str, int]:
        """Return how many jobs of all seeds are in each state."""
        return {name: sum(one.accounts[name] for one in self.of(arm)) for name in ACCOUNTS}

    def as_json(self) -> dict[str, Any]:
        """Return everything as JSON values, NaN as null."""
        rows = [
            {
                "arm": one.arm,
                "seed": one.seed,
                "accounts": dict(one.accounts),
                "metrics": {name: _known(value) for name, value in one.metrics.items()},
                "jobs": dict(one.finishes),
            }
            for one in self.results
        ]
        return {"workload": self.name, "reference": self.reference, "results": rows}


def interval(values: Sequence[float]) -> MeanInterval:
    """Return the mean of values with its Student-t interval."""
    mean = fmean(values)
    if len(values) < 2:
        return MeanInterval(mean, math.nan, math.nan)
    squares = math.fsum((value - mean) ** 2 for value in values)
    error = math.sqrt(squares / (len(values) - 1) / len(values))
    half = error * student_quantile((1 + CONFIDENCE) / 2, len(values) - 1)
    return MeanInterval(mean, mean - half, mean + half)


def comparison_markdown(comparison: QueueComparison, command: str) -> str:
    """Return the report: figures of each arm, differences to the reference, and what became of every job."""
    seeds, arms = comparison.seeds, comparison.arms
    lines = [
        f"Workload `{comparison.name}`, {len(seeds)} seeds ({', '.join(map(str, seeds))}), made by",
        "",
        f"    {command}",
        "",
        "Mean over seeds, ± half the width of the 95 % Student-t interval.",
        "",
        *_table(
            ("arm", *(f"{name} ({unit})" if unit else name for name, unit in METRICS.items())),
            [(arm, *(comparison.metric(arm, name).text for name in METRICS)) for arm in arms],
        ),
        "",
        f"Paired differences to `{comparison.reference}` on the same streams:",
        "",
        *_table(
            ("arm", *COMPARED),
            [
                (arm, *(comparison.difference(arm, name).text for name in COMPARED))
                for arm in arms
                if arm != comparison.reference
            ],
        ),
        "",
        "Every job of all seeds, in exactly one state:",
        "",
        *_table(
            ("arm", *ACCOUNTS, "all"),
            [
                (arm, *(str(count) for count in counts.values()), str(sum(counts.values())))
                for arm in arms
                for counts in (comparison.accounts(arm),)
            ],
        ),
    ]
    return "\n".join(lines) + "\n"


COMPARED = (
    "throughput",
    "success_rate",
    "failure_rate",
    "mean_wait_minutes",
    "mean_bounded_slowdown",
)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    cells = [head, ["---"] * len(head), *rows]
    return [f"| {' | '.join(row)} |" for row in cells]


def _known(value: float) -> float | None:
    return None if math.isnan(value) else round(value, 6)
