"""The evaluator: one walk over the tree, each node worth a value for all steps of the query.

Guarantees: the same samples, text and times give the same result; work is bounded (`Budget`); what is not
supported is refused by name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import promql_parser as ast

from twin.promql import functions, operators
from twin.promql.aggregation import Grouping, aggregate
from twin.promql.failures import SERIES_WORK, Budget, QueryFailed
from twin.promql.parsing import matching, milliseconds
from twin.promql.values import (
    NAME,
    Batch,
    Floats,
    Labels,
    Matcher,
    Ranges,
    Scalar,
    Source,
    Times,
    Value,
    Vector,
    without,
)
from twin.promql.windows import RANGE_FUNCTIONS, apply_to_windows

LOOKBACK_MS = 300_000
"""How old a sample may be to count as current (Prometheus' --query.lookback-delta)."""
SUBQUERY_STEP_MS = 60_000
"""Step of a subquery that names none (Prometheus' global evaluation_interval)."""
MOST_SUBQUERY_STEPS = 100_000
KEEP_NAME = frozenset({"last_over_time"})


@dataclass(slots=True)
class Evaluator:
    """Evaluates one query over `source`."""

    source: Source
    steps: Times
    """When the query is evaluated, milliseconds."""
    lookback_ms: int = LOOKBACK_MS
    budget: Budget = field(default_factory=Budget)

    def run(self, tree: Any) -> Value:
        """Return what an expression is worth; raises QueryFailed."""
        return self._value(tree, self.steps)

    def _value(self, node: Any, steps: Times) -> Value:
        handler = _NODES.get(type(node))
        if handler is None:
            raise QueryFailed(f"the twin does not support {type(node).__name__}", "bad_data")
        return handler(self, node, steps)

    def vector(self, node: Any, steps: Times) -> Vector:
        """Return the value of a node that the parser knows to be a vector."""
        value = self._value(node, steps)
        if isinstance(value, Scalar):
            return Vector([{}], value.values[None, :], np.ones((1, len(steps)), np.bool_))
        if not isinstance(value, Vector):
            raise QueryFailed("a vector is wanted here", "bad_data")
        return value

    # ---- leaves

    def number(self, node: Any, steps: Times) -> Scalar:
        """Return a number at every step."""
        return Scalar(np.full(len(steps), node.val))

    def text(self, node: Any, _: Times) -> str:
        """Return a text."""
        return str(node.val)

    def _moments(self, node: Any, steps: Times) -> Times:
        """Return the moments that a selector looks at, moved by @ and offset."""
        moments = steps
        if node.at is not None:
            if node.at.type == ast.AtModifierType.Start:
                at = int(self.steps[0])
            elif node.at.type == ast.AtModifierType.End:
                at = int(self.steps[-1])
            else:
                at = round(node.at.at.timestamp() * 1_000)
            moments = np.full(len(steps), at, np.int64)
        return moments - milliseconds(node.offset)

    def _batches(self, node: Any, begin: int, end: int) -> list[Batch]:
        found = []
        for batch in self.source.select(matchers_of(node), begin, end):
            self.budget.spend(batch.values.size + SERIES_WORK * len(batch.labels))
            found.append(batch)
        return found

    def selector(self, node: Any, steps: Times) -> Vector:
        """Return the newest sample of each series within the look-back."""
        return self._newest(node, steps, lambda batch, places: batch.values[:, places])

    def sample_times(self, node: Any, steps: Times) -> Vector:
        """Return when the newest sample of each series was taken, in seconds."""

        def times(batch: Batch, places: Times) -> Floats:
            shape = (len(batch.labels), len(places))
            return np.broadcast_to(batch.times[places] / 1_000.0, shape)

        return self._newest(node, steps, times).without_names().merged()

    def _newest(self, node: Any, steps: Times, read: Callable[[Batch, Times], Floats]) -> Vector:
        moments = self._moments(node, steps)
        begin = int(moments.min()) - self.lookback_ms
        parts = []
        for batch in self._batches(node, begin, int(moments.max())):
            if not len(batch.times):
                continue
            self.budget.spend(2 * len(batch.labels) * len(steps))
            places = np.searchsorted(batch.times, moments, side="right") - 1
            there, places = places >= 0, np.maximum(places, 0)
            there &= batch.times[places] >= moments - self.lookback_ms
            if len(batch.ended):
                ends = np.searchsorted(batch.ended, moments, side="right") - 1
                there &= (ends < 0) | (batch.ended[np.maximum(ends, 0)] < batch.times[places])
            if there.any():
                shape = (len(batch.labels), len(steps))
                present = np.broadcast_to(there, shape).copy()
                parts.append(Vector(list(batch.labels), read(batch, places), present))
        return Vector.joined(parts, len(steps))

    def ranges(self, node: Any, steps: Times) -> Ranges:
        """Return the samples of a range selector."""
        ends, range_ms = self._moments(node.vector_selector, steps), milliseconds(node.range)
        begin = int(ends.min()) - range_ms
        batches = self._batches(node.vector_selector, begin, int(ends.max()))
        return Ranges([one for one in batches if len(one.times)], ends, range_ms, steps)

    def subquery(self, node: Any, steps: Times) -> Ranges:
        """Evaluate an expression at whole multiples of a step, and return that as samples."""
        ends, range_ms = self._moments(node, steps), milliseconds(node.range)
        step = milliseconds(node.step) or SUBQUERY_STEP_MS
        first = int(ends.min()) - range_ms
        begin, end = -(-first // step) * step, int(ends.max())
        if (end - begin) // step > MOST_SUBQUERY_STEPS:
            raise QueryFailed(f"a subquery of more than {MOST_SUBQUERY_STEPS} steps")
        inner = np.arange(begin, end + 1, step, dtype=np.int64)
        batches: list[Batch] = []
        if len(inner):
            batches = list(_as_batches(self.vector(node.expr, inner), inner))
        return Ranges(batches, ends, range_ms, steps)

    # ---- what combines

    def call(self, node: Any, steps: Times) -> Value:
        """Return a function's value."""
        name, arguments = node.func.name, list(node.args)
        if name in RANGE_FUNCTIONS:
            return self._range_function(name, arguments, steps)
        if name == "absent_over_time":
            ranges = self._value(arguments[0], steps)
            assert isinstance(ranges, Ranges), "the parser checks types"
            some = apply_to_windows("present_over_time", ranges, np.zeros(len(steps)), self.budget)
            return functions.absent(some, absent_labels(arguments[0]), len(steps))
        if name == "absent":
            vector = self.vector(arguments[0], steps)
            return functions.absent(vector, absent_labels(arguments[0]), len(steps))
        if name == "scalar":
            return functions.scalar_of(self.vector(arguments[0], steps))
        if name == "timestamp":
            inner = _bare(arguments[0])
            if isinstance(inner, ast.VectorSelector):
                return self.sample_times(inner, steps)
            seconds = np.broadcast_to(steps / 1_000.0, (1, len(steps)))
            return functions.changed(
                self.vector(inner, steps), lambda values: np.broadcast_to(seconds, values.shape)
            )
        values = [self._value(argument, steps) for argument in arguments]
        return functions.call(name, values, steps, self.budget)

    def _range_function(self, name: str, arguments: Sequence[Any], steps: Times) -> Vector:
        values = [self._value(argument, steps) for argument in arguments]
        ranges = next(value for value in values if isinstance(value, Ranges))
        parameter = next(
            (value.values for value in values if isinstance(value, Scalar)), np.zeros(len(steps))
        )
        vector = apply_to_windows(name, ranges, parameter, self.budget)
        return vector if name in KEEP_NAME else vector.without_names().merged(apart=False)

    def aggregation(self, node: Any, steps: Times) -> Vector:
        """Return an aggregation over groups."""
        names: list[str] = []
        without_them = False
        if node.modifier is not None:
            names = list(node.modifier.labels)
            without_them = node.modifier.type == ast.AggModifierType.Without
        parameter: Floats | str = np.zeros(0)
        if node.param is not None:
            value = self._value(node.param, steps)
            assert isinstance(value, Scalar | str), "the parser checks types"
            parameter = value if isinstance(value, str) else value.values
        grouping = Grouping(names, without_them=without_them)
        vector = self.vector(node.expr, steps)
        made = aggregate(str(node.op), vector, grouping, parameter, self.budget)
        if str(node.op) in ("topk", "bottomk"):
            return functions.by_value(made, falling=str(node.op) == "topk")
        return made

    def unary(self, node: Any, steps: Times) -> Value:
        """Return the negative."""
        value = self._value(node.expr, steps)
        if isinstance(value, Scalar):
            return Scalar(-value.values)
        assert isinstance(value, Vector), "the parser checks types"
        return functions.changed(value, np.negative)

    def binary(self, node: Any, steps: Times) -> Value:
        """Return a binary operator's value."""
        operator = str(node.op)
        left, right = self._value(node.lhs, steps), self._value(node.rhs, steps)
        as_bool = bool(node.modifier is not None and node.modifier.return_bool)
        if isinstance(left, Scalar) and isinstance(right, Scalar):
            return operators.scalars(operator, left, right)
        if isinstance(left, Vector) and isinstance(right, Vector):
            rule = operators.matching_of(node.modifier)
            if operator in operators.SETS:
                return operators.sets(operator, left, right, rule)
            return operators.vectors(
                operator, left, right, rule, as_bool=as_bool, budget=self.budget
            )
        swapped = isinstance(left, Scalar)
        vector, scalar = (right, left) if swapped else (left, right)
        assert isinstance(vector, Vector), "the parser checks types"
        assert isinstance(scalar, Scalar), "the parser checks types"
        return operators.with_scalar(operator, vector, scalar, swapped=swapped, as_bool=as_bool)

    def inside(self, node: Any, steps: Times) -> Value:
        """Return what stands in brackets."""
        return self._value(node.expr, steps)


_NODES: dict[type, Callable[[Evaluator, Any, Times], Value]] = {
    ast.NumberLiteral: Evaluator.number,
    ast.StringLiteral: Evaluator.text,
    ast.VectorSelector: Evaluator.selector,
    ast.MatrixSelector: Evaluator.ranges,
    ast.SubqueryExpr: Evaluator.subquery,
    ast.Call: Evaluator.call,
    ast.AggregateExpr: Evaluator.aggregation,
    ast.UnaryExpr: Evaluator.unary,
    ast.BinaryExpr: Evaluator.binary,
    ast.ParenExpr: Evaluator.inside,
}


def matchers_of(selector: Any) -> list[Matcher]:
    """Return the conditions of a selector; raises QueryFailed."""
    if selector.matchers.or_matchers:
        raise QueryFailed("`or` between the matchers of a selector is not supported", "bad_data")
    found = [] if selector.name is None else [_equal(NAME, selector.name)]
    for one in selector.matchers.matchers:
        if one.op == ast.MatchOp.Equal:
            found.append(_equal(one.name, one.value))
        elif one.op == ast.MatchOp.NotEqual:
            found.append(Matcher(one.name, lambda text, value=one.value: text != value))  # type: ignore[misc]
        else:
            compiled, wanted = matching(one.value), one.op == ast.MatchOp.Re
            found.append(_regular(one.name, compiled, wanted=wanted))
    return found


def _equal(label: str, value: str) -> Matcher:
    return Matcher(label, lambda text: text == value, value)


def _regular(label: str, compiled: Any, *, wanted: bool) -> Matcher:
    return Matcher(label, lambda text: (compiled.fullmatch(text) is not None) is wanted)


def absent_labels(node: Any) -> Labels:
    """Return the labels that the equalities of a selector give to `absent`."""
    inner = _bare(node)
    if isinstance(inner, ast.MatrixSelector):
        inner = inner.vector_selector
    if not isinstance(inner, ast.VectorSelector):
        return {}
    labels: dict[str, str] = {}
    twice: set[str] = set()
    for one in inner.matchers.matchers:
        if one.name == NAME:
            continue
        if one.op == ast.MatchOp.Equal and one.name not in labels and one.value:
            labels[one.name] = one.value
        else:
            twice.add(one.name)
    return without(labels, twice)


def _bare(node: Any) -> Any:
    while isinstance(node, ast.ParenExpr):
        node = node.expr
    return node


def _as_batches(vector: Vector, times: Times) -> list[Batch]:
    """Return the series of a vector as samples; those that are always there together."""
    whole = vector.present.all(axis=1)
    batches = []
    if whole.any():
        labels = [vector.labels[row] for row in np.flatnonzero(whole)]
        batches.append(Batch(labels, times, vector.values[whole]))
    for row in np.flatnonzero(~whole & vector.present.any(axis=1)).tolist():
        there = vector.present[row]
        batches.append(
            Batch([vector.labels[row]], times[there], vector.values[row : row + 1, there])
        )
    return batches
