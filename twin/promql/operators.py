"""Binary operators: arithmetic, comparison and sets, with Prometheus' rules of which series meet.

Source: prometheus promql/engine.go (VectorBinop, VectorAnd, VectorOr, VectorUnless, resultMetric).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import promql_parser as ast

from twin.promql.failures import Budget, QueryFailed
from twin.promql.values import (
    NAME,
    Bools,
    Floats,
    Key,
    Labels,
    Scalar,
    Vector,
    key_of,
    only,
    without,
)

Number = Callable[[Any, Any], Any]
ARITHMETIC: Mapping[str, Number] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
    "%": np.fmod,
    "^": np.power,
    "atan2": np.arctan2,
}
KEEPING_NAMES = frozenset({"atan2"})
"""Arithmetic that leaves the metric name, as Prometheus 2 does."""
COMPARISONS: Mapping[str, Number] = {
    "==": np.equal,
    "!=": np.not_equal,
    ">": np.greater,
    "<": np.less,
    ">=": np.greater_equal,
    "<=": np.less_equal,
}
SETS = frozenset({"and", "or", "unless"})


@dataclass(slots=True, frozen=True)
class Matching:
    """Which series of two sides belong together."""

    labels: tuple[str, ...] = ()
    on: bool = False
    """Whether `labels` are those that count; otherwise those that do not."""
    many: Literal["", "left", "right"] = ""
    """The side that may have several series for one of the other."""
    include: tuple[str, ...] = ()
    """Labels taken from the other side."""

    def key(self, labels: Labels) -> Key:
        """Return what has to be equal."""
        if self.on:
            return tuple((name, labels.get(name, "")) for name in self.labels)
        return key_of(without(labels, (*self.labels, NAME)))

    def result(self, many: Labels, one: Labels, *, drop_name: bool) -> Labels:
        """Return the labels of what two series make."""
        labels = dict(without(many, (NAME,)) if drop_name else many)
        if not self.many:
            kept = only(labels, self.labels) if self.on else without(labels, self.labels)
            labels = dict(kept)
        for name in self.include:
            if one.get(name):
                labels[name] = one[name]
            else:
                labels.pop(name, None)
        return labels


def matching_of(modifier: Any) -> Matching:
    """Read the modifier of a binary expression; raises QueryFailed for what is not supported."""
    if modifier is None:
        return Matching()
    fills = modifier.fill_values
    if fills is not None and (fills.lhs is not None or fills.rhs is not None):
        raise QueryFailed("fill() of binary operators is not supported by the twin", "bad_data")
    cardinality = modifier.card
    many: Literal["", "left", "right"] = ""
    if cardinality == ast.VectorMatchCardinality.ManyToOne:
        many = "left"
    elif cardinality == ast.VectorMatchCardinality.OneToMany:
        many = "right"
    on, labels = False, ()
    if modifier.matching is not None:
        on = modifier.matching.type == ast.LabelModifierType.Include
        labels = tuple(modifier.matching.labels)
    return Matching(labels, on, many, tuple(modifier.group_labels or ()))


def scalars(operator: str, left: Scalar, right: Scalar) -> Scalar:
    """Combine two numbers; a comparison gives 0 or 1."""
    function = ARITHMETIC.get(operator) or COMPARISONS[operator]
    with np.errstate(all="ignore"):
        return Scalar(np.asarray(function(left.values, right.values), dtype=np.float64))


def with_scalar(
    operator: str, vector: Vector, scalar: Scalar, *, swapped: bool, as_bool: bool
) -> Vector:
    """Combine each series with a number; `swapped` when the number stands on the left."""
    numbers = np.broadcast_to(scalar.values, vector.values.shape)
    left, right = (numbers, vector.values) if swapped else (vector.values, numbers)
    with np.errstate(all="ignore"):
        if operator in ARITHMETIC:
            made = np.asarray(ARITHMETIC[operator](left, right))
            named = Vector(vector.labels, made, vector.present)
            return named if operator in KEEPING_NAMES else named.without_names().merged()
        held = COMPARISONS[operator](left, right)
    if as_bool:
        made = held.astype(np.float64)
        return Vector(vector.labels, made, vector.present).without_names().merged()
    return Vector(vector.labels, vector.values, vector.present & held).nowhere_dropped()


def vectors(
    operator: str, left: Vector, right: Vector, matching: Matching, *, as_bool: bool, budget: Budget
) -> Vector:
    """Combine the series that match, step by step.

    Raises QueryFailed where a step has more than one partner than the matching allows.
    """
    swapped = matching.many == "right"
    many, one = (right, left) if swapped else (left, right)
    partners: dict[Key, list[int]] = {}
    for row, labels in enumerate(one.labels):
        partners.setdefault(matching.key(labels), []).append(row)
    _refuse_double(one, partners, "left" if swapped else "right")
    pairs = [
        (row, other, key)
        for row, labels in enumerate(many.labels)
        for key in (matching.key(labels),)
        for other in partners.get(key, ())
    ]
    steps = left.values.shape[1]
    if not pairs:
        return Vector.empty(steps)
    budget.spend(len(pairs) * steps * 3)
    rows, others = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    present = many.present[rows] & one.present[others]
    a, b = many.values[rows], one.values[others]
    first, second = (b, a) if swapped else (a, b)
    with np.errstate(all="ignore"):
        values, present = _calculated(operator, first, second, present, as_bool=as_bool)
    if not matching.many:
        _refuse_several([pair[2] for pair in pairs], present)
    drop_name = (operator in ARITHMETIC and operator not in KEEPING_NAMES) or as_bool
    made_labels = [
        matching.result(many.labels[row], one.labels[other], drop_name=drop_name)
        for row, other, _ in pairs
    ]
    made = Vector(made_labels, values, present).nowhere_dropped()
    return made.merged("multiple matches for labels: grouping labels must ensure unique matches")


def _calculated(
    operator: str, first: Floats, second: Floats, present: Bools, *, as_bool: bool
) -> tuple[Floats, Bools]:
    if operator in ARITHMETIC:
        return np.asarray(ARITHMETIC[operator](first, second)), present
    held = COMPARISONS[operator](first, second)
    if as_bool:
        return held.astype(np.float64), present
    return first, present & held


def _refuse_double(one: Vector, partners: Mapping[Key, Sequence[int]], side: str) -> None:
    for key, rows in partners.items():
        if len(rows) > 1 and (one.present[list(rows)].sum(axis=0) > 1).any():
            group = _braces({name: value for name, value in key if value})
            names = ", ".join(_braces(one.labels[row]) for row in rows[:2])
            raise QueryFailed(
                f"found duplicate series for the match group {group} on the {side} hand-side of the "
                f"operation: [{names}];many-to-many matching not allowed: matching labels must be "
                "unique on one side"
            )


def _refuse_several(keys: Sequence[Key], present: Bools) -> None:
    """Refuse two results of one match group at one step."""
    rows: dict[Key, list[int]] = {}
    for row, key in enumerate(keys):
        rows.setdefault(key, []).append(row)
    for same in rows.values():
        if len(same) > 1 and (present[same].sum(axis=0) > 1).any():
            raise QueryFailed(
                "multiple matches for labels: many-to-one matching must be explicit "
                "(group_left/group_right)"
            )


def sets(operator: str, left: Vector, right: Vector, matching: Matching) -> Vector:
    """Return `and`, `or` or `unless` of two vectors, step by step."""
    if operator == "or":
        rest = right.present & ~_found(left, right, matching)
        parts = [left, Vector(right.labels, right.values, rest).nowhere_dropped()]
        return Vector.joined(parts, left.values.shape[1]).merged()
    found = _found(right, left, matching)
    kept = left.present & (found if operator == "and" else ~found)
    return Vector(left.labels, left.values, kept).nowhere_dropped()


def _found(among: Vector, of: Vector, matching: Matching) -> Bools:
    """Say for each series and step of `of` whether `among` has one that matches there."""
    there: dict[Key, Bools] = {}
    for row, labels in enumerate(among.labels):
        key = matching.key(labels)
        known = there.get(key)
        there[key] = among.present[row] if known is None else known | among.present[row]
    found = np.zeros(of.present.shape, np.bool_)
    for row, labels in enumerate(of.labels):
        match = there.get(matching.key(labels))
        if match is not None:
            found[row] = match
    return found


def _braces(labels: Labels) -> str:
    inner = ", ".join(f'{name}="{value}"' for name, value in labels.items() if name != NAME)
    return f"{labels.get(NAME, '')}{{{inner}}}"
