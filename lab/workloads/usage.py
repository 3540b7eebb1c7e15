"""Fit what pods use of their requests, from the 2019 Google trace where a trace has no usage.

Neither openb nor the 2011 task events hold usage. Google 2019 instance windows hold average use
and limit of the same instance; their ratios are the figures used for every pod. A trace with cpu
windows of its own (SURF) gives its own cpu ratios, and how use moves over a pod's life.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import fsum
from pathlib import Path

import polars as pl

from lab.traces.workload_trace import TraceFile, WorkloadTrace, require
from lab.workloads.figures import quantiles
from twin.port.workloads import LifeProfile, Usage

USAGE_FILE = TraceFile("google2019/instance_usage_5min.parquet", "use over limit of cpu and memory")
TOP_RANK = 0.999
PARTS = 8
"""Equal parts of a life in a life profile."""
PROFILES = 12
"""Groups that lives are averaged in, from those whose use falls most to those where it grows most."""


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


def own_usage(trace: WorkloadTrace, general: Usage) -> Usage:
    """The trace's own cpu use where it has some, `general` for the rest."""
    if not trace.cpu_ratios:
        return general
    return Usage(
        source=(
            f"cpu: mean use over request of {len(trace.cpu_ratios)} pods of the trace, and its "
            f"course over their lives in {PARTS} parts; memory: {general.source}"
        ),
        cpu_ratio_quantiles=quantiles(trace.cpu_ratios, digits=4),
        memory_ratio_quantiles=general.memory_ratio_quantiles,
        life_profiles=life_profiles(list(trace.cpu_windows.values())),
    )


def life_profiles(lives: Sequence[Sequence[tuple[float, float]]]) -> list[LifeProfile]:
    """Mean courses of cpu use: lives ordered by how much their second half uses over the first,
    in equal groups, each averaged; lives without any use are left out.
    """
    courses = [course for life in lives if (course := _course(life)) is not None]
    half = PARTS // 2
    courses.sort(key=lambda course: (fsum(course[half:]) - fsum(course[:half]), course))
    profiles = []
    for group in range(PROFILES):
        first, last = (len(courses) * edge // PROFILES for edge in (group, group + 1))
        members = courses[first:last]
        if members:
            means = [fsum(parts) / len(members) for parts in zip(*members, strict=True)]
            factors = [round(mean, 3) for mean in means]
            profiles.append(LifeProfile(weight=len(members), cpu_factors=factors))
    return profiles


def _course(life: Sequence[tuple[float, float]]) -> list[float] | None:
    """Use in each of PARTS equal parts of a life over its mean; None for a life without use."""
    total = fsum(seconds for seconds, _ in life)
    used = fsum(seconds * ratio for seconds, ratio in life)
    if total <= 0 or used <= 0:
        return None
    part, sums = total / PARTS, [0.0] * PARTS
    begin = 0.0
    for seconds, ratio in life:
        end = begin + seconds
        for index in range(min(int(begin / part), PARTS - 1), PARTS):
            low, high = max(begin, index * part), min(end, (index + 1) * part)
            if high <= low:
                break
            sums[index] += (high - low) * ratio
        begin = end
    return [value * PARTS / used for value in sums]
