"""Fit what pods use of their requests, from the 2019 Google trace.

Neither openb nor the 2011 task events hold usage. Google 2019 instance windows hold average use
and limit of the same instance; their ratios are the figures used for every pod.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl

from lab.workloads.figures import quantiles
from lab.workloads.trace import TraceFile, require
from twin.workloads.model import Usage

USAGE_FILE = TraceFile("google2019/instance_usage_5min.parquet", "use over limit of cpu and memory")
TOP_RANK = 0.999


def fit_usage(data_dir: Path) -> Usage:
    """Quantiles of average use over limit per five-minute window; raises InputError if absent."""
    windows = pl.read_parquet(require(data_dir, USAGE_FILE.path)).filter(
        pl.col("cpu_limit") > 0, pl.col("memory_limit") > 0
    )
    cpu = windows["avg_cpu_usage"] / windows["cpu_limit"]
    memory = windows["avg_memory_usage"] / windows["memory_limit"]
    instances = windows["unique_id"].n_unique()
    return Usage(
        source=(
            f"average use over limit of {instances} long-running instances "
            f"({len(windows)} five-minute windows, the top 0.1 % cut) of the Google 2019 trace"
        ),
        cpu_ratio_quantiles=_ratio_quantiles(cpu),
        memory_ratio_quantiles=_ratio_quantiles(memory),
    )


def _ratio_quantiles(ratios: pl.Series) -> list[float]:
    """Without the top 0.1 %: one window of 4.7 would stretch over the whole last percent."""
    highest = ratios.quantile(TOP_RANK, "linear")
    return quantiles(ratios.filter(ratios <= highest).to_list(), digits=4)
