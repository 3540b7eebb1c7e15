"""Turn trace rows into small tables: quantiles, merged requests, batch sizes, endings.

Guarantee: merging keeps sums. A merged request is the mean of its members, so the load that a
table gives is the load of the rows it was made from.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from math import log2

import polars as pl

from twin.port.workloads import BatchRow, Ending, RequestRow

QUANTILE_STEPS = 100
EXACT_REQUESTS = 40  # the commonest requests of a class are kept as they are
BINS_PER_DOUBLING = 1  # the rest is merged by powers of two
EXACT_BATCH_SIZE = 8
OPEN_RUN_SECONDS = 86_400.0  # length given to an arrival that outlives the trace

Request = tuple[int, int, int]  # cpu millicores, memory bytes, gpus


def quantiles(values: Iterable[float], *, digits: int = 1) -> list[float]:
    """101 evenly spaced quantiles (fewer for fewer values), linear between order statistics."""
    ordered = sorted(values)
    if not ordered:
        return []
    steps = min(QUANTILE_STEPS, len(ordered) - 1)
    picked = []
    for step in range(steps + 1):
        position = (len(ordered) - 1) * step / steps if steps else 0.0
        low = int(position)
        high = min(low + 1, len(ordered) - 1)
        value = ordered[low] + (ordered[high] - ordered[low]) * (position - low)
        picked.append(round(value, digits))
    return picked


def request_rows(pods: pl.DataFrame) -> list[RequestRow]:
    """Joint requests with weights: the commonest exactly, the rest merged by powers of two."""
    columns = ("cpu_millicores", "memory_bytes", "gpus")
    counts: Counter[Request] = Counter(pods.select(columns).iter_rows())
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    rows = [_request([item]) for item in ordered[:EXACT_REQUESTS]]
    bins: dict[tuple[int, int, int], list[tuple[Request, int]]] = {}
    for request, weight in ordered[EXACT_REQUESTS:]:
        key = (_log_bin(request[0]), _log_bin(request[1]), request[2])
        bins.setdefault(key, []).append((request, weight))
    return rows + [_request(bins[key]) for key in sorted(bins)]


def _log_bin(value: int) -> int:
    return int(log2(value + 1) * BINS_PER_DOUBLING)


def _request(members: Sequence[tuple[Request, int]]) -> RequestRow:
    weight = sum(count for _, count in members)
    return RequestRow(
        cpu_millicores=round(sum(request[0] * count for request, count in members) / weight),
        memory_bytes=round(sum(request[1] * count for request, count in members) / weight),
        gpus=members[0][0][2],
        weight=weight,
    )


def batch_rows(pods: pl.DataFrame) -> list[BatchRow]:
    """Sizes of submissions: small ones exactly, larger ones merged by powers of two."""
    sizes = Counter(pods.group_by("batch").len()["len"].to_list())
    bins: dict[int, list[tuple[int, int]]] = {}
    for size, count in sorted(sizes.items()):
        key = size if size <= EXACT_BATCH_SIZE else EXACT_BATCH_SIZE + _log_bin(size)
        bins.setdefault(key, []).append((size, count))
    rows = []
    for key in sorted(bins):
        weight = sum(count for _, count in bins[key])
        mean = sum(size * count for size, count in bins[key]) / weight
        rows.append(BatchRow(size=round(mean), weight=weight))
    return rows


def arrival_endings(pods: pl.DataFrame) -> list[Ending]:
    """How arrivals end and after how long; those that outlive the trace are given a day."""
    ended = pl.col("end_seconds").is_not_null()
    lasting = pl.when(ended).then("running_seconds").alias("lasts")
    return _endings(pods.with_columns(lasting), open_run=[OPEN_RUN_SECONDS])


def left_endings(pods: pl.DataFrame) -> list[Ending]:
    """How pods that already run end; those that outlive the trace run on."""
    return _endings(pods.with_columns(pl.col("left_seconds").alias("lasts")), open_run=[])


def _endings(pods: pl.DataFrame, *, open_run: list[float]) -> list[Ending]:
    rows = []
    for outcome in ("succeed", "fail", "run"):
        members = pods.filter(pl.col("outcome") == outcome)
        known = members["lasts"].drop_nulls().to_list()
        groups = ((len(known), quantiles(known)), (len(members) - len(known), open_run))
        for count, lasting in groups:
            if count:
                rows.append(
                    Ending(
                        outcome=outcome,
                        share=round(count / len(pods), 6),
                        duration_seconds_quantiles=lasting,
                    )
                )
    return rows
