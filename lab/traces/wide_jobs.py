"""Jobs that ran on several machines at once, as pods that each fit on one."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import polars as pl

from lab.traces.workload_trace import POD_COLUMNS

Requests = Callable[[pl.Expr], Mapping[str, pl.Expr]]
"""From the units that a pod gets (cores or GPUs) to its `cpu_millicores`, `memory_bytes` and `gpus`."""


def split_wide_jobs(
    jobs: pl.DataFrame, *, units: str, most_units: int, class_name: str, requests: Requests
) -> pl.DataFrame:
    """Return one row per pod in the columns `POD_COLUMNS`: full ones of `most_units`, then the rest.

    Args:
        jobs: columns `job`, `arrive_seconds`, `running_seconds` and `units`; each starts as it
            arrives, runs to its end and succeeds.
        units: the column that says how wide a job is; one of 0 units is one pod of none.
        most_units: what a pod gets at most. Only wider jobs have their pods numbered.
        class_name: the class of every pod.
        requests: what a pod of so many units requests.
    """
    pods = (pl.col(units) + most_units - 1) // most_units
    number = pl.col("number")
    suffix = pl.when(pl.col(units) > most_units).then(pl.format("-{}", number))
    own_units = pl.min_horizontal(pl.col(units) - number * most_units, most_units)
    return (
        jobs.with_columns(pl.int_ranges(pods.clip(1)).alias("number"))
        .explode("number")
        .select(
            (pl.col("job") + suffix.otherwise(pl.lit(""))).alias("name"),
            pl.lit(class_name).alias("class_name"),
            pl.col("job").alias("batch"),
            *(amount.alias(name) for name, amount in requests(own_units).items()),
            "arrive_seconds",
            pl.col("arrive_seconds").alias("start_seconds"),
            (pl.col("arrive_seconds") + pl.col("running_seconds")).alias("end_seconds"),
            "running_seconds",
            pl.lit("succeed").alias("outcome"),
        )
        .select(POD_COLUMNS)
    )
