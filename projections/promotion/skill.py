"""Brier skill and lift with intervals, from sums by block of time and group of nodes.

Predictions of one block share outcomes, since their horizons overlap, and so do predictions of one node. So standard
errors are jackknifes that leave out whole clusters: once blocks of time (Kuensch, 1989, Annals of Statistics 17), once
groups of nodes (Kott, 2001, Journal of Official Statistics 17), and the larger one counts. Degrees of freedom are the
clusters in which something failed, less one: the others tell next to nothing of a rare event.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from projections.promotion.sums import GroupSums, ModelSums
from projections.quantiles import student_quantile


@dataclass(frozen=True, slots=True)
class Total:
    """Weighted sums over some predictions."""

    weight: float = 0.0
    failed: float = 0.0
    squares: float = 0.0
    alarmed: float = 0.0
    hit: float = 0.0

    def plus(self, one: GroupSums) -> Total:
        """Return the sums with one more group of a block."""
        return Total(
            self.weight + one.weight,
            self.failed + one.failed,
            self.squares + one.squares,
            self.alarmed + one.alarmed,
            self.hit + one.hit,
        )

    def without(self, other: Total) -> Total:
        """Return the sums without some of the predictions."""
        return Total(
            self.weight - other.weight,
            self.failed - other.failed,
            self.squares - other.squares,
            self.alarmed - other.alarmed,
            self.hit - other.hit,
        )

    @property
    def constant_brier(self) -> float | None:
        """Brier score of the rate that was seen; None without any predictions."""
        if self.weight <= 0.0:
            return None
        rate = self.failed / self.weight
        return rate * (1.0 - rate)


Figure = Callable[[Total], float | None]


@dataclass(frozen=True, slots=True)
class SkillInterval:
    """A figure with its limits; None where it cannot be told."""

    value: float | None = None
    low: float | None = None
    high: float | None = None


def skill_of(total: Total) -> float | None:
    """Return the Brier skill against the best constant in hindsight; None where all or nothing failed."""
    constant = total.constant_brier
    if constant is None or constant <= 1e-12:
        return None
    return 1.0 - total.squares / total.weight / constant


def lift_of(total: Total) -> float | None:
    """Return the rate of failures after alarms over the rate after all; None without alarms or failures."""
    if total.alarmed <= 0.0 or total.failed <= 0.0:
        return None
    return total.hit / total.alarmed / (total.failed / total.weight)


def total_of(sums: Iterable[GroupSums]) -> Total:
    """Return the sum of everything."""
    total = Total()
    for one in sums:
        total = total.plus(one)
    return total


def interval_of(sums: ModelSums, figure: Figure, confidence: float) -> SkillInterval:
    """Return a figure of a model with its interval by blocks or by groups of nodes, whichever is wider."""
    by_block = [total_of(block.groups) for block in sums.blocks]
    groups: dict[int, Total] = defaultdict(Total)
    for block in sums.blocks:
        for one in block.groups:
            groups[one.group] = groups[one.group].plus(one)
    every = total_of(sums.every)
    value = figure(every)
    if value is None:
        return SkillInterval()
    reaches = [
        _reach(every, clusters, figure, confidence)
        for clusters in (by_block, list(groups.values()))
    ]
    if None in reaches:
        return SkillInterval(value)
    reach = max(one for one in reaches if one is not None)
    return SkillInterval(value, value - reach, value + reach)


def _reach(
    every: Total, clusters: Sequence[Total], figure: Figure, confidence: float
) -> float | None:
    """Return half the width of an interval; None where a figure without one cluster cannot be told."""
    some = [one for one in clusters if one.weight > 0.0]
    failing = sum(one.failed > 0.0 for one in some)
    values = [figure(every.without(one)) for one in some]
    known = [value for value in values if value is not None]
    if failing < 2 or len(known) < len(values):
        return None
    mean = math.fsum(known) / len(known)
    squares = math.fsum((value - mean) ** 2 for value in known)
    error = math.sqrt((len(known) - 1) / len(known) * squares)
    return student_quantile((1.0 + confidence) / 2.0, failing - 1) * error


def failing_clusters(sums: ModelSums) -> tuple[int, int]:
    """Return the blocks, and the groups of nodes, in which something failed."""
    blocks = sum(any(one.positives for one in block.groups) for block in sums.blocks)
    groups = {one.group for one in sums.every if one.positives}
    return blocks, len(groups)
