"""Streams by name and seed: what an environment, a benchmark or a command names when it wants jobs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from inputs.errors import InputError
from lab.learning.jobs import BYTES_PER_GIB, Amounts, Job, JobStream, ordered_stream
from lab.learning.small_case import SMALL_CASE, small_stream
from lab.learning.workloads.lublin import lublin_jobs, lublin_quota
from lab.learning.workloads.published import published_stream
from lab.learning.workloads.settings_file import WorkloadSettings, read_workload_settings
from lab.learning.workloads.splits import SPLITS, Split
from lab.learning.workloads.strategies import HOUR_SECONDS, Strategies, strategy_jobs
from lab.learning.workloads.swf import read_swf
from lab.learning.workloads.templates import TEMPLATES
from lab.learning.workloads.windows import quota_for, split_by_time, thinned_window, window

StreamSource = Callable[[int], JobStream]
"""From a seed to a stream; the same seed gives the same stream."""
TEMPLATE_QUOTA = Amounts(32_000, 128 * BYTES_PER_GIB)
"""32 cores and 128 GiB: SKRueue's hour of a job each 20 s asks for about three times as much. Our own choice, as the
size of its cluster was not published.
"""
STRATEGIES = ("uniform", "realistic", "burst")
PUBLISHED = "published"
LUBLIN = {"lublin-256": 0.0, "lublin-256-estimates": 4.0}
"""By name, by how much users overestimate at most (`lublin_jobs`)."""
TRACES = {"philly": (8, 0.9), "surf": (4, 2.0)}
"""By name, by how much a trace is thinned (each 8th job of Philly, so that some hundred jobs span a day), and by how
much streams of its training split fill the quota. SURF's test split is quiet: at 0.9 nobody would ever wait there.
"""
SWF_PREFIX = "swf:"
AS_PUBLISHED = WorkloadSettings(TEMPLATES, Strategies())


@dataclass(frozen=True, slots=True)
class SourceOptions:
    """What a source can be told beside its name."""

    split: Split = "train"
    """Streams of different splits share no job."""
    quota: Amounts | None = None
    """Of the cluster; unset: the source's own."""
    length_seconds: float = HOUR_SECONDS
    """Of strategies: arrivals are before it."""
    first_hour: float = 9.0
    """Of `realistic`: hour of the day at which a stream begins."""
    count: int = 256
    """Jobs of a stream of Lublin's model, a trace or an archive."""
    data_dir: Path | None = None
    """Folder of the traces."""
    settings: WorkloadSettings = AS_PUBLISHED
    """Of strategies: see `settings_file`."""


def stream_source(
    name: str, options: SourceOptions | None = None, *, split: Split | None = None
) -> StreamSource:
    """Return the source of a workload's streams.

    Args:
        name: `uniform`, `realistic` or `burst` over the templates; `published` for SKRueue's hour of 179 jobs;
            `small-case` for twelve jobs whose best admission is known; `lublin-256`, or
            `lublin-256-estimates` with users who overestimate; `philly` or `surf`; `swf:PATH` for a file of the
            Parallel Workloads Archive.
        options: split, quota, lengths.
        split: in place of the options' one.

    Raises:
        InputError: no workload has that name, or a file is missing or no such file.
    """
    chosen = options or SourceOptions()
    if split is not None:
        chosen = replace(chosen, split=split)
    if chosen.split not in SPLITS:
        raise InputError("split", chosen.split, f"use one of {', '.join(SPLITS)}")
    if name in STRATEGIES:
        return _of_strategy(name, chosen)
    if name == PUBLISHED:
        return lambda seed: published_stream(_seed_of(chosen.split, seed))
    if name == SMALL_CASE:
        return lambda seed: small_stream(_seed_of(chosen.split, seed))
    if name in LUBLIN:
        return _of_lublin(name, chosen)
    if name.startswith(SWF_PREFIX):
        recorded = _archive(Path(name.removeprefix(SWF_PREFIX)))
        return _of_record(name, recorded.jobs, chosen, recorded.quota)
    if name in TRACES:
        if chosen.data_dir is None:
            raise InputError("workload", name, "set FORESAIL_DATA to the folder of the traces")
        return _of_trace(name, recorded_jobs(name, chosen.data_dir), chosen)
    names = (*STRATEGIES, PUBLISHED, SMALL_CASE, *LUBLIN, *TRACES, f"{SWF_PREFIX}PATH")
    raise InputError("workload", name, f"use one of {', '.join(names)}")


def settings_of(file: str | None) -> WorkloadSettings:
    """Return what a file says of strategies, or what is published; raises InputError where it cannot be used."""
    return AS_PUBLISHED if file is None else read_workload_settings(Path(file))


def _of_strategy(name: str, options: SourceOptions) -> StreamSource:
    def make(seed: int) -> JobStream:
        jobs = strategy_jobs(
            name,
            _seed_of(options.split, seed),
            options.length_seconds,
            templates=options.settings.templates,
            settings=options.settings.strategies,
            first_hour=options.first_hour,
        )
        stream = f"{name}/{options.split}/{seed}"
        try:
            return ordered_stream(stream, jobs, options.quota or TEMPLATE_QUOTA)
        except ValueError as error:
            raise InputError("workload", name, f"a template does not fit: {error}") from error

    return make


def _of_lublin(name: str, options: SourceOptions) -> StreamSource:
    def make(seed: int) -> JobStream:
        own = _seed_of(options.split, seed)
        jobs = lublin_jobs(own, options.count, most_overestimate=LUBLIN[name])
        return window(name, jobs, options.quota or lublin_quota(), own, options.count)

    return make


def _of_record(
    name: str, jobs: Sequence[Job], options: SourceOptions, quota: Amounts
) -> StreamSource:
    """Return windows of a record's split; jobs that never fit into the quota are left out."""
    own = options.quota or quota
    chosen = [job for job in split_by_time(jobs, options.split) if job.requests.fits(own)]
    if not chosen:
        raise InputError(
            "workload", name, f"its split {options.split} has no job that fits; use more quota"
        )

    def make(seed: int) -> JobStream:
        return window(f"{name}/{options.split}", chosen, own, seed, options.count)

    return make


def _of_trace(name: str, jobs: Sequence[Job], options: SourceOptions) -> StreamSource:
    """Return windows of a trace's split, each from another of the thinned traces; those of no training share no job."""
    every, load = TRACES[name]
    quota = quota_for(split_by_time(jobs[::every], "train"), options.count, load)
    own = options.quota or quota
    chosen = split_by_time(jobs, options.split)
    thinned = [[job for job in chosen[at::every] if job.requests.fits(own)] for at in range(every)]
    if not all(thinned):
        raise InputError(
            "workload", name, f"its split {options.split} has no job that fits; use more quota"
        )

    def make(seed: int) -> JobStream:
        named = f"{name}/{options.split}"
        apart = options.split != "train"
        return thinned_window(named, thinned, own, seed, options.count, apart=apart)

    return make


@cache
def _archive(path: Path) -> JobStream:
    return read_swf(path)


@cache
def recorded_jobs(name: str, data_dir: Path) -> tuple[Job, ...]:
    """Return all jobs of a trace in order of arrival; raises InputError where a file of it is missing."""
    # polars and its readers take a moment to import; most streams do without.
    from lab.learning.workloads.traces import trace_jobs  # noqa: PLC0415

    return tuple(trace_jobs(name, data_dir))


def _seed_of(split: Split, seed: int) -> int:
    """Return a seed that no other split has."""
    return seed * len(SPLITS) + SPLITS.index(split)
