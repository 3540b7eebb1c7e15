"""What it would save to hold back attempts that will fail again, beside Kubernetes' own back-off.

    python -m lab.forecast.risk.holding --dataset DATASET --model MODEL_FOLDER [--after 43200]

Plays every task of a trace that failed and was submitted again, attempt by attempt: what each ran and how it ended is
the trace's, when it begins is the rule's. A task that the trace gave up (failed for good, killed, or still there at the
end) makes no attempt after that moment, so that who waits longer wastes less; one that finished at last makes all of
them, only later. Rules: tried again at once, as in the trace; Kubernetes' back-off (10 s, doubled for each failure
in a row, 10 minutes at most); the same, and so much longer where the risk of the attempt is at or above the threshold
(the model's, the job's rate, the model's among tasks at random, or what really fails). It is played as if somebody
always waited for the room, so savings are the most that there could be. The threshold is chosen in the first segment
after `--after`, and judged in the later segments.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

import numpy as np
import polars as pl

from bus.errors import ForesailError, InputError
from features.history import Kind
from lab.forecast.dataset import open_dataset
from lab.forecast.risk.boosting import load_booster, mean_probability
from lab.forecast.risk.metrics import Floats
from lab.forecast.risk.source import DatasetSource
from lab.forecast.risk.store import TrainingStore
from lab.traces.google2011_lives import LARGEST_CPU_MILLICORES

BACK_OFF_SECONDS, MOST_BACK_OFF_SECONDS = 10.0, 600.0
HOLD_SECONDS = 900.0
"""Held so much longer than Kubernetes would, at most: the horizon of the model."""
THRESHOLDS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
MOST_FALSE_RATIO = 0.01
"""Share of the attempts that do not fail again which may be held; by this the threshold is chosen."""
MINUTES = 15
RESAMPLES = 200


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt of a task that had failed before."""

    seconds: float
    core_hours: float
    fails: bool
    failures: int
    """In a row before it."""
    risks: Mapping[str, float]
    """By the rule that foresaw it."""


@dataclass(frozen=True, slots=True)
class Course:
    """What a task did after its first failure."""

    job: int
    segment: int
    given_up_seconds: float | None
    """After the first failure; None: it finished in the end, or was evicted and ran on."""
    attempts: tuple[Attempt, ...]


@dataclass(frozen=True, slots=True)
class Played:
    """What came of courses under a rule."""

    wasted: float = 0.0
    """Core-hours of failed retries."""
    held: int = 0
    """Attempts held back that a rule made wait longer than Kubernetes."""
    held_failing: int = 0
    sound: int = 0
    """Attempts that do not fail, held or not."""
    delay_seconds: float = 0.0
    """By which sound attempts began later than under Kubernetes' back-off alone."""

    def plus(self, other: Played) -> Played:
        """Return the sums."""
        return Played(
            self.wasted + other.wasted,
            self.held + other.held,
            self.held_failing + other.held_failing,
            self.sound + other.sound,
            self.delay_seconds + other.delay_seconds,
        )


Wait = Callable[[Attempt], tuple[float, float]]
"""Seconds that an attempt waits for: by Kubernetes, and beyond."""


def at_once(attempt: Attempt) -> tuple[float, float]:
    """Wait for nothing, as the trace does."""
    del attempt
    return 0.0, 0.0


def backed_off(attempt: Attempt) -> tuple[float, float]:
    """Wait as a Job's controller does."""
    delay = BACK_OFF_SECONDS * 2.0 ** min(attempt.failures - 1, 10)
    return min(MOST_BACK_OFF_SECONDS, delay), 0.0


def held_by(rule: str, threshold: float) -> Wait:
    """Wait longer where a rule foresees another failure."""

    def wait(attempt: Attempt) -> tuple[float, float]:
        held = attempt.risks[rule] >= threshold
        return backed_off(attempt)[0], HOLD_SECONDS if held else 0.0

    return wait


def play(course: Course, wait: Wait) -> Played:
    """Return what came of one course under a rule."""
    now, longer, played = 0.0, 0.0, Played()
    for attempt in course.attempts:
        usual, hold = wait(attempt)
        now += usual + hold
        longer += hold
        if course.given_up_seconds is not None and now >= course.given_up_seconds:
            break
        now += attempt.seconds
        played = played.plus(
            Played(
                wasted=attempt.core_hours if attempt.fails else 0.0,
                held=hold > 0.0,
                held_failing=hold > 0.0 and attempt.fails,
                sound=not attempt.fails,
                delay_seconds=0.0 if attempt.fails else longer,
            )
        )
    return played


def read_courses(source: DatasetSource, members: Sequence[bytes], after_us: int) -> list[Course]:
    """Return the courses whose first failure lies in the first segment after a moment, or in a later one."""
    ends = {number: end for number, (_, end) in source.segments.items()}
    table = pl.read_parquet(source.dataset.folder / "attempts.parquet").sort(
        "segment", "job", "task", "time_us"
    )
    again = pl.struct("segment", "job", "task").eq_missing(
        pl.struct("segment", "job", "task").shift(1)
    )
    failed = (pl.col("end_kind").shift(1) == Kind.FAIL) & again
    table = table.with_columns((~failed.fill_null(False)).cum_sum().alias("course"))
    chosen = table.filter(
        pl.len().over("course") > 1,
        (pl.col("end_us").first().over("course") >= after_us) | (pl.col("segment") > 0),
    )
    risks = _risks(source, members, chosen)
    return [
        _course(rows, risks, ends[rows["segment"][0]])
        for rows in chosen.partition_by("course", maintain_order=True)
    ]


def _risks(
    source: DatasetSource, members: Sequence[bytes], chosen: pl.DataFrame
) -> Mapping[tuple[int, int, int], Mapping[str, float]]:
    """Return what each rule foresaw of an attempt as it began, by job, task and time."""
    wanted = chosen.select("job", "task", "time_us").unique()
    boosters = [load_booster(raw) for raw in members]
    rate = source.feature_names.index("job_fails_per_start")
    found: dict[tuple[int, int, int], Mapping[str, float]] = {}
    keys: list[pl.DataFrame] = []
    positions: list[int] = []
    offset = 0
    for chunk in source.anchor_chunks(1_000_000):
        rows = chunk.with_row_index("position", offset=offset).join(
            wanted, on=["job", "task", "time_us"], how="semi", maintain_order="left"
        )
        keys.append(rows.select("job", "task", "time_us"))
        positions += rows["position"].to_list()
        offset += len(chunk)
    order = pl.concat(keys).rows()
    done = 0
    for matrix in source.features_at(np.array(positions, dtype=np.int64)):
        model: Floats = mean_probability(boosters, matrix)
        job = np.nan_to_num(matrix[:, rate])
        for key, foreseen, by_job in zip(order[done:], model.tolist(), job.tolist(), strict=False):
            found[key] = {"model": foreseen, "job rule": by_job}
        done += len(matrix)
    return found


def _course(
    rows: pl.DataFrame, risks: Mapping[tuple[int, int, int], Mapping[str, float]], end_us: int
) -> Course:
    first, *later = rows.rows(named=True)
    goes_on = later[-1]["end_kind"] in (Kind.FINISH, Kind.EVICT)
    attempts = []
    for number, row in enumerate(later, 1):
        stops = row["end_us"] if row["end_us"] >= 0 else end_us
        seconds = (stops - row["time_us"]) / 1e6
        fails = row["end_kind"] == Kind.FAIL
        cores = (row["cpu_request"] or 0.0) * LARGEST_CPU_MILLICORES / 1000.0
        foreseen = risks.get(
            (row["job"], row["task"], row["time_us"]), {"model": 0.0, "job rule": 0.0}
        )
        attempts.append(
            Attempt(seconds, cores * seconds / 3600.0, fails, number, {**foreseen, "oracle": float(fails)})
        )  # fmt: skip
    last = later[-1]["end_us"] if later[-1]["end_us"] >= 0 else end_us
    given_up = None if goes_on else (last - first["end_us"]) / 1e6
    return Course(first["job"], first["segment"], given_up, tuple(attempts))


def shuffled(courses: Sequence[Course], seed: int) -> list[Course]:
    """Return the courses with the model's risks dealt out among all attempts, as the rule `at random`."""
    risks = [one.risks["model"] for course in courses for one in course.attempts]
    Random(seed).shuffle(risks)
    dealt = iter(risks)
    return [
        Course(
            course.job, course.segment, course.given_up_seconds,
            tuple(
                Attempt(one.seconds, one.core_hours, one.fails, one.failures, {**one.risks, "at random": next(dealt)})
                for one in course.attempts
            ),
        )
        for course in courses
    ]  # fmt: skip


def total(courses: Sequence[Course], wait: Wait) -> Played:
    """Return the sums over courses."""
    played = Played()
    for course in courses:
        played = played.plus(play(course, wait))
    return played


def choose(courses: Sequence[Course], rule: str) -> float:
    """Return the lowest threshold at which so few sound attempts are held as may be."""
    for threshold in THRESHOLDS:
        one = total(courses, held_by(rule, threshold))
        if one.held - one.held_failing <= MOST_FALSE_RATIO * max(1, one.sound):
            return threshold
    return THRESHOLDS[-1]


def row_of(name: str, courses: Sequence[Course], wait: Wait, all_wasted: float) -> str:
    """Return one row of the table: what is saved against Kubernetes' back-off, with 95 % over jobs."""
    by_job: dict[int, list[tuple[Played, Played]]] = defaultdict(list)
    for course in courses:
        by_job[course.job].append((play(course, wait), play(course, backed_off)))
    saved = np.array(
        [sum(usual.wasted - mine.wasted for mine, usual in pairs) for pairs in by_job.values()]
    )
    rng = Random(0)
    draws = np.array([rng.choices(range(len(saved)), k=len(saved)) for _ in range(RESAMPLES)])
    low, high = np.percentile(saved[draws].sum(axis=1) / all_wasted, (2.5, 97.5))
    one = total(courses, wait)
    false = one.held - one.held_failing
    share = f"{100 * false / one.sound:.1f} %" if one.sound else "-"
    return (
        f"| {name} | {one.wasted:,.0f} | {100 * saved.sum() / all_wasted:.2f} % ({100 * low:.2f} to {100 * high:.2f}) "
        f"| {one.held:,} | {one.held_failing:,} | {share} | {one.delay_seconds / max(1, one.sound):.0f} s |"
    )


def wasted_in(source: DatasetSource) -> Mapping[int, tuple[float, float]]:
    """Return by segment the core-hours that were requested while tasks ran, and those of attempts that failed."""
    ends = {number: end for number, (_, end) in source.segments.items()}
    stops = (
        pl.when(pl.col("end_us") >= 0)
        .then("end_us")
        .otherwise(pl.col("segment").replace_strict(ends, return_dtype=pl.Int64))
    )
    begun = pl.max_horizontal("time_us", pl.lit(int(source.manifest["starts_at_us"])))
    cores = pl.col("cpu_request").fill_null(0.0).cast(pl.Float64) * LARGEST_CPU_MILLICORES / 1000
    failed = pl.col("end_kind") == Kind.FAIL
    table = (
        pl.scan_parquet(source.dataset.folder / "attempts.parquet")
        .with_columns(hours=(stops - begun).clip(0) / 3.6e9 * cores)
        .group_by("segment")
        .agg(pl.col("hours").sum(), pl.col("hours").filter(failed).sum().alias("wasted"))
        .collect()
    )
    return {row["segment"]: (row["hours"], row["wasted"]) for row in table.rows(named=True)}


def table_of(courses: Sequence[Course], thresholds: Mapping[str, float], wasted: float) -> str:
    """Return the table of all rules on some courses."""
    rows = [
        row_of("tried again at once", courses, at_once, wasted),
        row_of("Kubernetes' back-off", courses, backed_off, wasted),
        *(
            row_of(f"{rule}, from {threshold:g}", courses, held_by(rule, threshold), wasted)
            for rule, threshold in thresholds.items()
        ),
    ]
    return "\n".join((HEAD, "|---|---:|---:|---:|---:|---:|---:|", *rows))


HEAD = (
    "| rule | core-hours of failed retries | saved of all waste, beside the back-off | held | of these failing "
    "| of the sound ones held | their mean delay |"
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print both tables; returns the exit code (2: no such dataset or model)."""
    parser = argparse.ArgumentParser(
        prog="python -m lab.forecast.risk.holding", description=__doc__
    )
    parser.add_argument("--dataset", type=Path, required=True, help="a dataset's folder")
    parser.add_argument(
        "--model", type=Path, required=True, help="a model's folder, its training beside it"
    )
    parser.add_argument(
        "--after", type=float, default=43_200.0, help="second from which tasks count"
    )
    options = parser.parse_args(arguments)
    try:
        source = DatasetSource(open_dataset(options.dataset))
        trained = TrainingStore(options.model).read(MINUTES)
        if trained is None:
            raise InputError("--model", options.model.name, "give one with its .training beside it")
        courses = read_courses(source, list(trained.members.values()), round(options.after * 1e6))
    except ForesailError as error:
        print(f"lab.forecast.risk.holding: {error}", file=sys.stderr)
        return 2
    courses = shuffled(courses, seed=0)
    chosen = [course for course in courses if course.segment == 0]
    thresholds = {rule: choose(chosen, rule) for rule in ("model", "job rule")}
    thresholds |= {"at random": thresholds["model"], "oracle": 0.5}
    wasted = wasted_in(source)
    for segment in sorted({course.segment for course in courses}):
        some = [course for course in courses if course.segment == segment]
        hours, lost = wasted[segment]
        retries = [one for course in some for one in course.attempts]
        failing = sum(one.fails for one in retries)
        print(
            f"\nSegment {segment}: {lost:,.0f} of {hours:,.0f} core-hours ({100 * lost / hours:.2f} %) went to "
            f"attempts that failed; {len(retries):,} retries of {len({one.job for one in some})} jobs, "
            f"{failing:,} failed again\n"
        )
        print(table_of(some, thresholds, lost))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
