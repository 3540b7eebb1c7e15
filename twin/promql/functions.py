"""Functions of instant vectors and numbers."""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime

import numpy as np

from twin.promql.failures import Budget, QueryFailed
from twin.promql.parsing import matching
from twin.promql.statistics import bucket_quantiles
from twin.promql.values import (
    NAME,
    Bools,
    Floats,
    Labels,
    Scalar,
    Times,
    Value,
    Vector,
    key_of,
    without,
)

Change = Callable[[Floats], Floats]
_LABEL = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")
_REFERENCE = re.compile(r"\$(?:(\$)|\{(\w+)\}|(\w+))", re.ASCII)

CHANGES: Mapping[str, Change] = {
    "abs": np.abs,
    "ceil": np.ceil,
    "floor": np.floor,
    "exp": np.exp,
    "sqrt": np.sqrt,
    "ln": np.log,
    "log2": np.log2,
    "log10": np.log10,
    "sgn": lambda values: np.where(values > 0, 1.0, np.where(values < 0, -1.0, values)),
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tanh": np.tanh,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "deg": lambda values: values * 180.0 / np.pi,
    "rad": lambda values: values * np.pi / 180.0,
}


def _of_moment(read: Callable[[datetime], int]) -> Change:
    def part(values: Floats) -> Floats:
        made = np.full(values.shape, np.nan)
        for place in np.ndindex(values.shape):
            if np.isfinite(values[place]) and abs(values[place]) < 1e11:
                made[place] = read(datetime.fromtimestamp(int(values[place]), UTC))
        return made

    return part


def _days_in_month(moment: datetime) -> int:
    return monthrange(moment.year, moment.month)[1]


MOMENTS: Mapping[str, Change] = {
    "minute": _of_moment(lambda moment: moment.minute),
    "hour": _of_moment(lambda moment: moment.hour),
    "day_of_week": _of_moment(lambda moment: moment.isoweekday() % 7),
    "day_of_month": _of_moment(lambda moment: moment.day),
    "day_of_year": _of_moment(lambda moment: moment.timetuple().tm_yday),
    "days_in_month": _of_moment(_days_in_month),
    "month": _of_moment(lambda moment: moment.month),
    "year": _of_moment(lambda moment: moment.year),
}


def changed(vector: Vector, change: Change) -> Vector:
    """Return each value changed, without the metric names."""
    with np.errstate(all="ignore"):
        values = np.asarray(change(vector.values), dtype=np.float64)
    return Vector(vector.labels, values, vector.present).without_names().merged(apart=True)


def call(name: str, arguments: Sequence[Value], steps: Times, budget: Budget) -> Value:
    """Return a function of instant vectors and numbers; raises QueryFailed for an unsupported one."""
    numbers = [one.values for one in arguments if isinstance(one, Scalar)]
    if name == "time":
        return Scalar(steps / 1_000.0)
    if name == "pi":
        return Scalar(np.full(len(steps), np.pi))
    if name in MOMENTS and not arguments:
        return changed(_constant(steps / 1_000.0), MOMENTS[name])
    if name == "vector":
        return _constant(numbers[0])
    vector = next((one for one in arguments if isinstance(one, Vector)), None)
    if vector is None:
        raise unsupported(name)
    if name in MOMENTS:
        budget.spend(100 * vector.values.size)
        return changed(vector, MOMENTS[name])
    budget.spend(2 * vector.values.size)
    if name in CHANGES:
        return changed(vector, CHANGES[name])
    if name in _WITH_NUMBERS:
        return _WITH_NUMBERS[name](vector, numbers)
    texts = [one for one in arguments if isinstance(one, str)]
    if name == "label_replace":
        return _label_replace(vector, texts)
    if name == "label_join":
        return _label_join(vector, texts)
    if name in ("sort", "sort_desc"):
        return by_value(vector, falling=name == "sort_desc")
    raise unsupported(name)


def unsupported(name: str) -> QueryFailed:
    """Return the refusal of a function."""
    return QueryFailed(f"the twin does not support the function {name}", "bad_data")


def scalar_of(vector: Vector) -> Scalar:
    """Return the value of the only series at each step; NaN where there is not just one."""
    count = vector.present.sum(axis=0)
    total = np.where(vector.present, vector.values, 0.0).sum(axis=0)
    return Scalar(np.where(count == 1, total, np.nan))


def absent(vector: Vector, labels: Labels, steps: int) -> Vector:
    """Return 1 at each step without any series."""
    missing = np.ones(steps, np.bool_)
    if vector.labels:
        missing = np.logical_not(vector.present.any(axis=0))
    return Vector([labels], np.ones((1, steps)), missing.reshape(1, -1)).nowhere_dropped()


def _constant(values: Floats) -> Vector:
    return Vector(
        [{}], np.array(values, dtype=np.float64)[None, :], np.ones((1, len(values)), np.bool_)
    )


def _clamped(vector: Vector, numbers: Sequence[Floats]) -> Vector:
    low, high = numbers
    made = changed(vector, lambda values: np.maximum(low, np.minimum(high, values)))
    return Vector(made.labels, made.values, made.present & (low <= high)).nowhere_dropped()


def _rounded(vector: Vector, numbers: Sequence[Floats]) -> Vector:
    inverse = 1.0 / (numbers[0] if numbers else np.ones(1))
    return changed(vector, lambda values: np.floor(values * inverse + 0.5) / inverse)


def _histogram_quantile(vector: Vector, numbers: Sequence[Floats]) -> Vector:
    steps = vector.values.shape[1]
    groups: dict[tuple[tuple[str, str], ...], list[tuple[float, int]]] = {}
    for row, labels in enumerate(vector.labels):
        try:
            bound = float(labels["le"])
        except (KeyError, ValueError):
            continue
        groups.setdefault(key_of(without(labels, ("le", NAME))), []).append((bound, row))
    values = np.full((len(groups), steps), np.nan)
    present = np.zeros((len(groups), steps), np.bool_)
    for number, buckets in enumerate(groups.values()):
        buckets.sort()
        bounds = np.array([bound for bound, _ in buckets])
        rows = [row for _, row in buckets]
        there = vector.present[rows]
        present[number] = there.any(axis=0)
        for of_steps in _alike(there):  # steps at which the same buckets are there
            used = there[:, of_steps[0]]
            counts = vector.values[rows][used][:, of_steps]
            shares = numbers[0][of_steps]
            values[number, of_steps] = bucket_quantiles(bounds[used], counts, shares)
    return Vector([dict(key) for key in groups], values, present)


def _alike(there: Bools) -> list[Times]:
    """Return the steps (columns) of each pattern of presence."""
    _, which = np.unique(there, axis=1, return_inverse=True)
    which = which.reshape(-1)
    return [np.flatnonzero(which == pattern) for pattern in range(which.max() + 1)]


_WITH_NUMBERS: Mapping[str, Callable[[Vector, Sequence[Floats]], Vector]] = {
    "clamp": _clamped,
    "clamp_min": lambda v, n: changed(v, lambda values: np.maximum(n[0], values)),
    "clamp_max": lambda v, n: changed(v, lambda values: np.minimum(n[0], values)),
    "round": _rounded,
    "histogram_quantile": _histogram_quantile,
}


def by_value(vector: Vector, *, falling: bool) -> Vector:
    """Order the series of an instant query by value, NaN last; a range query has its own order."""
    if vector.values.shape[1] != 1:
        return vector
    values = vector.values[:, 0]
    order = np.lexsort((-values if falling else values, np.isnan(values)))
    return Vector(
        [vector.labels[row] for row in order], vector.values[order], vector.present[order]
    )


def _label_replace(vector: Vector, texts: Sequence[str]) -> Vector:
    target, replacement, source, pattern = texts
    try:
        compiled = matching(pattern)
    except QueryFailed as error:
        raise QueryFailed(f"invalid regular expression in label_replace(): {pattern}") from error
    if not _LABEL.fullmatch(target):
        raise QueryFailed(f"invalid destination label name in label_replace(): {target}")
    labels = [
        _replaced(one, target, compiled.fullmatch(one.get(source, "")), replacement)
        for one in vector.labels
    ]
    return Vector(labels, vector.values, vector.present).merged(apart=True)


def _replaced(labels: Labels, target: str, found: re.Match[str] | None, text: str) -> Labels:
    if found is None:
        return labels

    def group(reference: re.Match[str]) -> str:
        if reference[1]:
            return "$"
        name = reference[2] or reference[3]
        try:
            return found[int(name) if name.isdigit() else name] or ""
        except (IndexError, KeyError):
            return ""

    return _with_label(labels, target, _REFERENCE.sub(group, text))


def _label_join(vector: Vector, texts: Sequence[str]) -> Vector:
    target, separator, *sources = texts
    if not _LABEL.fullmatch(target):
        raise QueryFailed(f"invalid destination label name in label_join(): {target}")
    labels = [
        _with_label(one, target, separator.join(one.get(name, "") for name in sources))
        for one in vector.labels
    ]
    return Vector(labels, vector.values, vector.present).merged(apart=True)


def _with_label(labels: Labels, name: str, value: str) -> Labels:
    return {**labels, name: value} if value else without(labels, (name,))
