"""Samples written down in a line each, and what the evaluator makes of them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from proofs.queries.samples import Sample, SampleSet
from twin.promql.failures import Budget
from twin.promql.queries import Data, instant_query, range_query
from twin.promql.values import NAME, key_of

INTERVAL = 15
_LABEL = re.compile(r'(\w+)="([^"]*)"')


class Given:
    """Series by `name{label="value"}`, a value each 15 s from second 0; None: no sample."""

    def __init__(self, series: Mapping[str, Sequence[float | None]]) -> None:
        self.source = SampleSet(
            {
                key_of({NAME: text.partition("{")[0], **dict(_LABEL.findall(text))}): [
                    Sample(place * INTERVAL * 1_000, value)
                    for place, value in enumerate(values)
                    if value is not None
                ]
                for text, values in series.items()
            }
        )

    def data(self, query: str, at: float, budget: Budget | None = None) -> Data:
        """Return the answer of an instant query."""
        return instant_query(self.source, query, round(at * 1_000), budget=budget)

    def ask(self, query: str, at: float) -> dict[str, float]:
        """Return values by labels, such as `a=1,b=2`; the label of the name is left out."""
        return {
            _shown(one["metric"]): float(one["value"][1]) for one in self.data(query, at)["result"]
        }

    def over(self, query: str, begin: float, end: float, step: float) -> dict[str, list[float]]:
        """Return the values of a range query by labels."""
        edges = (round(at * 1_000) for at in (begin, end, step))
        data = range_query(self.source, query, *edges)
        return {
            _shown(one["metric"]): [float(value) for _, value in one["values"]]
            for one in data["result"]
        }


def _shown(labels: Mapping[str, str]) -> str:
    return ",".join(f"{name}={value}" for name, value in sorted(labels.items()) if name != NAME)
