"""Why a query has no answer, in Prometheus' words, and how much work one may cost."""

from __future__ import annotations

from typing import Literal

MOST_WORK = 50_000_000
"""Samples, cells of results and, at a fixed rate, calls that one query may take: some seconds of CPU."""
CALL_WORK = 200
"""What one pass over arrays costs beside its cells."""
SERIES_WORK = 400
"""What it costs to find a series and make its labels."""
SHOWN_SERIES_WORK, SHOWN_VALUE_WORK = 1_250, 100
"""What it costs to write a series, and a value, into an answer."""


class QueryFailed(Exception):
    """A query that is refused or cannot be evaluated; `kind` is Prometheus' errorType."""

    def __init__(
        self, message: str, kind: Literal["bad_data", "execution", "unavailable"] = "execution"
    ) -> None:
        super().__init__(message)
        self.kind = kind


class Budget:
    """Counts the work of one query; nothing here reads a clock, so the same query ends alike anywhere."""

    def __init__(self, work: int = MOST_WORK) -> None:
        self._left = work
        self._all = work

    def spend(self, cells: int, calls: int = 1) -> None:
        """Take so much; raises QueryFailed when there is less, before the work is begun."""
        self._left -= int(cells) + CALL_WORK * int(calls)
        if self._left < 0:
            raise QueryFailed(
                "query processing would load too many samples into memory in query execution: "
                f"more than {self._all} units of work; ask for fewer series, steps or a shorter range"
            )
