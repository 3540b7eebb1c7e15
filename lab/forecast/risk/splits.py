"""Splits by time and by job together.

A test row is later than every training row by at least the horizon, so that no training label
looks into the test time; on the honest split its job had no event at all before the test began.
Failures come in crash loops: with rows drawn at random, test rows have neighbours of the same loop
in training and every figure is an illusion. That split exists only to show this, under its name.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bus.errors import InputError
from lab.forecast.risk.metrics import Ints
from lab.forecast.risk.past import JobCounts
from lab.forecast.risk.rows import MICROSECONDS, Bools, Rows

UNSEEN, SEEN, LATER_UNSEEN, LATER_SEEN = "1", "1b", "2", "2b"
NEW_JOBS, ILLUSION = "new-jobs", "illusion"
TITLES = {
    UNSEEN: "later time, jobs never seen before",
    SEEN: "later time, jobs already seen in training",
    LATER_UNSEEN: "later segments, jobs never seen before",
    LATER_SEEN: "later segments, jobs already seen in training",
    NEW_JOBS: "another dataset: jobs that the model did not learn from, at any time",
    ILLUSION: "ILLUSION: rows drawn at random, neighbours of training rows",
}
TRAIN_SHARE = 0.6
ILLUSION_TRAIN_SHARE = 0.6
_MIX = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, slots=True)
class Cut:
    """Where training ends: rows of `segment` up to `cut_us` - `purge_us` may be learnt from."""

    segment: int
    start_us: int
    end_us: int
    cut_us: int
    purge_us: int


@dataclass(frozen=True, slots=True)
class Split:
    """Training and test rows, as masks over the same rows."""

    name: str
    train: Bools
    test: Bools

    @property
    def title(self) -> str:
        """The split in words."""
        return TITLES[self.name]

    @property
    def is_illusion(self) -> bool:
        """Whether rows were drawn at random."""
        return self.name == ILLUSION


def main_segment(rows: Rows) -> int:
    """Return the segment with the most rows; the earlier one among equals."""
    if not len(rows):
        raise InputError("dataset", "0 rows", "build it from a trace with attempts")
    named, counts = np.unique(rows.segment, return_counts=True)
    return int(named[np.argmax(counts)])


def cut_of(
    rows: Rows, bounds_us: tuple[int, int], segment: int, horizon_seconds: int, share: float
) -> Cut:
    """Return the cut after `share` of a segment's time.

    Args:
        rows: the rows of one horizon.
        bounds_us: first and last moment of the segment's events.
        segment: the contiguous stretch that is cut.
        horizon_seconds: how far labels look ahead; the width of the gap.
        share: of the segment's time, that training may see.

    Raises:
        InputError: the share is not between 0 and 1, or leaves no rows on one side.
    """
    if not 0.0 < share < 1.0:
        raise InputError("--train-share", share, "give a share between 0 and 1, such as 0.6")
    start, end = bounds_us
    cut = Cut(
        segment, start, end, round(start + share * (end - start)), horizon_seconds * MICROSECONDS
    )
    within = rows.segment == segment
    learnt = within & (rows.time_us <= cut.cut_us - cut.purge_us)
    if not learnt.any() or not (within & (rows.time_us >= cut.cut_us)).any():
        raise InputError("--train-share", share, "no rows lie before or after it; choose another")
    return cut


def training_rows(rows: Rows, cut: Cut) -> Bools:
    """Return the rows that may be learnt from: their labels are settled before the cut."""
    learnt: Bools = (rows.segment == cut.segment) & (rows.time_us <= cut.cut_us - cut.purge_us)
    return learnt


def time_splits(rows: Rows, cut: Cut, past: JobCounts) -> dict[str, Split]:
    """Return every honest split that has test rows, by name."""
    train = training_rows(rows, cut)
    seen_before = past.first_event.of(rows.job) < cut.cut_us
    same = (rows.segment == cut.segment) & (rows.time_us >= cut.cut_us)
    later = (rows.segment != cut.segment) & (rows.time_us > cut.end_us)
    tests = {
        UNSEEN: same & ~seen_before,
        SEEN: same & seen_before,
        LATER_UNSEEN: later & ~seen_before,
        LATER_SEEN: later & seen_before,
    }
    splits = {name: Split(name, train, test) for name, test in tests.items() if test.any()}
    for split in splits.values():
        check(split, rows, cut)
    return splits


def check(split: Split, rows: Rows, cut: Cut) -> None:
    """Refuse a split that leaks; a guard against our own mistakes.

    Raises:
        InputError: a training label looks into the test time, or a job lies on both sides of a
            split that promises unseen jobs.
    """
    if split.is_illusion:
        return
    if not split.train.any() or not split.test.any():
        raise InputError("split", split.name, "it has no rows on one side")
    gap = int(rows.time_us[split.test].min()) - int(rows.time_us[split.train].max())
    if gap < cut.purge_us:
        raise InputError("split", split.name, "training labels look into the test time")
    both = np.intersect1d(rows.job[split.train], rows.job[split.test])
    if split.name in {UNSEEN, LATER_UNSEEN} and len(both):
        raise InputError("split", split.name, f"job {both[0]} is on both sides")


def illusion(rows: Rows, segment: int, seed: int) -> Split:
    """Return the random row split, 60 % training and 40 % test: what nobody should believe."""
    within = rows.segment == segment
    shares = fractions(rows.position, seed)
    return Split(
        ILLUSION,
        within & (shares < ILLUSION_TRAIN_SHARE),
        within & (shares >= ILLUSION_TRAIN_SHARE),
    )


def fractions(numbers: Ints, seed: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return a fraction in [0, 1) per number, the same in every run: a seeded hash (splitmix64)."""
    with np.errstate(over="ignore"):
        mixed = numbers.astype(np.uint64) + np.uint64(seed + 1) * _MIX
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        mixed ^= mixed >> np.uint64(31)
    return (mixed >> np.uint64(11)).astype(np.float64) / float(2**53)
