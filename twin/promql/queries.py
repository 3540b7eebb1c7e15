"""Instant and range queries: text in, Prometheus' `data` out."""

from __future__ import annotations

from typing import Any

import numpy as np
import promql_parser as ast

from twin.promql.evaluator import LOOKBACK_MS, Evaluator
from twin.promql.failures import SHOWN_SERIES_WORK, SHOWN_VALUE_WORK, Budget, QueryFailed
from twin.promql.numbers import json_number, seconds
from twin.promql.parsing import parse
from twin.promql.values import Ranges, Scalar, Source, Value, Vector, key_of

MOST_POINTS = 11_000
"""Steps of a range query, as in Prometheus."""
Data = dict[str, Any]


def instant_query(
    source: Source,
    text: str,
    at_ms: int,
    *,
    lookback_ms: int = LOOKBACK_MS,
    budget: Budget | None = None,
) -> Data:
    """Return `resultType` and `result` of an expression at one moment; raises QueryFailed."""
    tree = parse(text)
    steps = np.array([at_ms], np.int64)
    budget = budget or Budget()
    value = Evaluator(source, steps, lookback_ms, budget).run(tree)
    moment = seconds(at_ms)
    if isinstance(value, str):
        return {"resultType": "string", "result": [moment, value]}
    if isinstance(value, Scalar):
        return {"resultType": "scalar", "result": [moment, json_number(float(value.values[0]))]}
    if isinstance(value, Ranges):
        return {"resultType": "matrix", "result": _samples(value, budget)}
    _spend_on_answer(budget, len(value.labels), len(value.labels))
    result = [
        {"metric": dict(labels), "value": [moment, json_number(number)]}
        for labels, number, there in zip(
            value.labels, value.values[:, 0].tolist(), value.present[:, 0].tolist(), strict=True
        )
        if there
    ]
    return {"resultType": "vector", "result": result}


def range_query(
    source: Source,
    text: str,
    begin_ms: int,
    end_ms: int,
    step_ms: int,
    *,
    lookback_ms: int = LOOKBACK_MS,
    budget: Budget | None = None,
) -> Data:
    """Return a matrix: an expression at each step from begin to end; raises QueryFailed."""
    if step_ms <= 0:
        raise QueryFailed(
            'invalid parameter "step": zero or negative query resolution step widths are not accepted. '
            "Try a positive integer",
            "bad_data",
        )
    if end_ms < begin_ms:
        raise QueryFailed(
            'invalid parameter "end": end timestamp must not be before start time', "bad_data"
        )
    if (end_ms - begin_ms) // step_ms > MOST_POINTS:
        raise QueryFailed(
            "exceeded maximum resolution of 11,000 points per timeseries. Try decreasing the query "
            "resolution (?step=XX)",
            "bad_data",
        )
    tree = parse(text)
    if isinstance(tree, ast.MatrixSelector | ast.SubqueryExpr | ast.StringLiteral):
        kind = "string" if isinstance(tree, ast.StringLiteral) else "range vector"
        raise QueryFailed(
            f'invalid parameter "query": invalid expression type "{kind}" for range query, must be '
            "Scalar or instant Vector",
            "bad_data",
        )
    steps = np.arange(begin_ms, end_ms + 1, step_ms, dtype=np.int64)
    budget = budget or Budget()
    value = Evaluator(source, steps, lookback_ms, budget).run(tree)
    return {"resultType": "matrix", "result": _matrix(value, steps, budget)}


def _spend_on_answer(budget: Budget, series: int, values: int) -> None:
    budget.spend(series * SHOWN_SERIES_WORK + values * SHOWN_VALUE_WORK)


def _matrix(value: Value, steps: Any, budget: Budget) -> list[Data]:
    if isinstance(value, Scalar):
        shape = (1, len(steps))
        value = Vector([{}], value.values.reshape(shape), np.ones(shape, np.bool_))
    assert isinstance(value, Vector), "checked before"
    value = value.nowhere_dropped()
    _spend_on_answer(budget, len(value.labels), value.values.size)
    moments = [seconds(step) for step in steps.tolist()]
    rows = sorted(range(len(value.labels)), key=lambda row: key_of(value.labels[row]))
    return [
        {
            "metric": dict(value.labels[row]),
            "values": [
                [moment, json_number(number)]
                for moment, number, there in zip(
                    moments, value.values[row].tolist(), value.present[row].tolist(), strict=True
                )
                if there
            ],
        }
        for row in rows
    ]


def _samples(ranges: Ranges, budget: Budget) -> list[Data]:
    end, begin = int(ranges.ends[0]), int(ranges.ends[0]) - ranges.range_ms
    rows = []
    for batch in ranges.batches:
        inside = np.flatnonzero((batch.times >= begin) & (batch.times <= end))
        _spend_on_answer(budget, len(batch.labels), len(batch.labels) * len(inside))
        moments = [seconds(time) for time in batch.times[inside].tolist()]
        if not moments:
            continue
        for labels, numbers in zip(batch.labels, batch.values[:, inside].tolist(), strict=True):
            values = [
                [moment, json_number(number)]
                for moment, number in zip(moments, numbers, strict=True)
            ]
            rows.append((key_of(labels), {"metric": dict(labels), "values": values}))
    return [row for _, row in sorted(rows, key=lambda row: row[0])]
