"""Aggregations: sum, avg, topk, quantile and the others, over groups of series."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from twin.promql.failures import Budget, QueryFailed
from twin.promql.numbers import number_text
from twin.promql.statistics import quantiles
from twin.promql.values import NAME, Floats, Key, Labels, Vector, key_of, only, without

MOST_ONE_BY_ONE = 64
"""Series of a group whose mean is moved by one after the other; more are added up first."""
Sums = Callable[["_Groups"], Floats]


class _Groups:
    """Rows of a vector, those of one group next to each other."""

    def __init__(self, vector: Vector, numbers: Sequence[int], count: int) -> None:
        order = np.argsort(numbers, kind="stable")
        self.numbers = np.asarray(numbers)[order]
        self.starts = np.searchsorted(self.numbers, np.arange(count))
        self.values = vector.values[order]
        self.present = vector.present[order]
        self.counts = self.summed(self.present.astype(np.float64))

    def summed(self, values: Floats) -> Floats:
        """Return the sums over each group."""
        return np.asarray(np.add.reduceat(values, self.starts, axis=0))

    def reduced(self, ufunc: np.ufunc) -> Floats:
        """Reduce what is present in each group; ufunc passes NaN over."""
        shown = np.where(self.present, self.values, np.nan)
        return np.asarray(ufunc.reduceat(shown, self.starts, axis=0))

    def total(self) -> Floats:
        """Return the sums of what is present."""
        return self.summed(np.where(self.present, self.values, 0.0))

    def mean(self) -> Floats:
        """Return the means, each sample moving the mean of those before it, which never overflows."""
        ends = np.append(self.starts[1:], len(self.numbers))
        largest = int((ends - self.starts).max())
        if largest > MOST_ONE_BY_ONE:
            simple = np.asarray(self.total() / self.counts)
            if np.isfinite(simple[self.counts > 0]).all():
                return simple
        made = np.zeros_like(self.counts)
        seen = np.zeros_like(self.counts)
        for place in range(largest):
            having = np.flatnonzero(self.starts + place < ends)
            rows = self.starts[having] + place
            values, there = self.values[rows], self.present[rows]
            seen[having] += there
            old = made[having]
            moved = old + (values / seen[having] - old / seen[having])
            opposed = np.isinf(values) & ((values > 0) != (old > 0))
            stays = np.isinf(old) & ~opposed & ~np.isnan(values)
            made[having] = np.where(there & ~stays, moved, old)
        return made

    def variance(self) -> Floats:
        """Return the population variances."""
        mean = self.total() / self.counts
        away = np.where(self.present, self.values - mean[self.numbers], 0.0)
        return np.asarray(self.summed(away * away) / self.counts)


REDUCTIONS: Mapping[str, Sums] = {
    "sum": _Groups.total,
    "count": lambda groups: groups.counts,
    "group": lambda groups: np.ones_like(groups.counts),
    "avg": _Groups.mean,
    "min": lambda groups: groups.reduced(np.fmin),
    "max": lambda groups: groups.reduced(np.fmax),
    "stdvar": _Groups.variance,
    "stddev": lambda groups: np.asarray(np.sqrt(groups.variance())),
}
CHOOSING = frozenset({"topk", "bottomk"})


class Grouping:
    """Which labels make a group."""

    def __init__(self, names: Sequence[str], *, without_them: bool) -> None:
        """Group by `names`, or by all others."""
        self._names = tuple(names)
        self._without = without_them

    def labels(self, labels: Labels) -> Labels:
        """Return the labels of the group of a series."""
        if self._without:
            return without(labels, (*self._names, NAME))
        return only(labels, self._names)

    def groups(self, vector: Vector) -> dict[Key, list[int]]:
        """Return the rows of each group."""
        rows: dict[Key, list[int]] = {}
        for row, labels in enumerate(vector.labels):
            rows.setdefault(key_of(self.labels(labels)), []).append(row)
        return rows


def aggregate(
    operator: str, vector: Vector, grouping: Grouping, parameter: Floats | str, budget: Budget
) -> Vector:
    """Aggregate each group; raises QueryFailed for an operator that is not supported."""
    steps = vector.values.shape[1]
    rows = grouping.groups(vector)
    if not rows:
        return Vector.empty(steps)
    if operator in REDUCTIONS:
        budget.spend(vector.values.size * 3, 4)
        numbers = np.zeros(len(vector.labels), np.int64)
        for number, members in enumerate(rows.values()):
            numbers[members] = number
        groups = _Groups(vector, numbers.tolist(), len(rows))
        with np.errstate(all="ignore"):
            values = REDUCTIONS[operator](groups)
        return Vector([dict(key) for key in rows], values, groups.counts > 0)
    budget.spend(vector.values.size * 4, len(rows) * steps)
    if operator in CHOOSING and not isinstance(parameter, str):
        return _chosen(operator == "topk", vector, rows, parameter)
    if operator == "quantile" and not isinstance(parameter, str):
        return _quantile(vector, rows, parameter)
    if operator == "count_values" and isinstance(parameter, str):
        return _count_values(vector, rows, grouping, parameter)
    raise QueryFailed(f"the twin does not support the aggregation {operator}", "bad_data")


def _chosen(
    largest: bool, vector: Vector, rows: Mapping[Key, Sequence[int]], counts: Floats
) -> Vector:
    """Keep the k largest or smallest of each group at each step; NaN is neither."""
    kept = np.zeros(vector.present.shape, np.bool_)
    for members in map(np.asarray, rows.values()):
        for step in range(vector.present.shape[1]):
            there = members[vector.present[members, step]]
            number = counts[step]
            if np.isnan(number):
                raise QueryFailed("Scalar value NaN overflows int64")
            values = vector.values[there, step]
            ranked = np.where(np.isnan(values), -np.inf, values if largest else -values)
            # NaN last, even behind infinities.
            order = np.lexsort((-ranked, np.isnan(values)))
            kept[there[order[: max(0, int(min(number, len(there))))]], step] = True
    return Vector(vector.labels, vector.values, kept).nowhere_dropped()


def _quantile(vector: Vector, rows: Mapping[Key, Sequence[int]], shares: Floats) -> Vector:
    steps = vector.values.shape[1]
    values = np.full((len(rows), steps), np.nan)
    present = np.zeros((len(rows), steps), np.bool_)
    for number, members in enumerate(map(np.asarray, rows.values())):
        for step in range(steps):
            there = members[vector.present[members, step]]
            if len(there):
                present[number, step] = True
                numbers = vector.values[there, step][:, None]
                values[number, step] = quantiles(numbers, float(shares[step]))[0]
    return Vector([dict(key) for key in rows], values, present)


def _count_values(
    vector: Vector, rows: Mapping[Key, Sequence[int]], grouping: Grouping, label: str
) -> Vector:
    """Count how many series have each value; the value becomes a label."""
    steps = vector.values.shape[1]
    counted: dict[Key, Floats] = {}
    for members in rows.values():
        for row in members:
            for step in np.flatnonzero(vector.present[row]).tolist():
                text = number_text(float(vector.values[row, step]))
                labels = grouping.labels({**vector.labels[row], label: text})
                labels = {**labels, label: text}
                counts = counted.setdefault(key_of(labels), np.zeros(steps))
                counts[step] += 1.0
    values = np.array(list(counted.values()))
    return Vector([dict(key) for key in counted], values, values > 0)
