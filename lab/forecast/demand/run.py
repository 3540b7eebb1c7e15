"""From a folder of traces to demand tables and a model directory.

Two passes, one file at a time, so that memory follows the largest file and not the folder: first
every family gives its share of the pool, then, with the models fitted, every family is judged.
Equal input and options give equal bytes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bus.errors import InputError
from lab.forecast.builds import sha256_of
from lab.forecast.demand.origins import Origins, origins_of
from lab.forecast.demand.pack import READERS, absent_files, read_file
from lab.forecast.demand.quantile import (
    FULL,
    Boosters,
    LearningRows,
    Size,
    fit_quantiles,
    learning_rows,
    pool_rows,
)
from lab.forecast.demand.released import CalibrationSample, Released, calibration_sample, release
from lab.forecast.demand.series import Family
from lab.forecast.demand.split import Horizon, parts_of
from lab.forecast.demand.table import FamilyTable, family_table
from lab.forecast.progress import Progress, in_steps, within

READ, FITTED = 0.1, 0.5
"""Shares of the time after which everything is read and fitted, roughly."""


@dataclass(frozen=True)
class DemandOptions:
    """Options of a run. `horizons` are in windows; `only` keeps families whose title holds it."""

    name: str
    target: float = 0.05
    horizons: tuple[int, ...] = (3, 12, 36)
    size: Size = FULL
    only: str = ""

    def __post_init__(self) -> None:
        """Refuse what cannot be.

        Raises:
            InputError: naming the option.
        """
        if not 0.001 <= self.target <= 0.5:
            raise InputError("--target", self.target, "give a share of violations, 0.1 % to 50 %")
        if not self.horizons or min(self.horizons) < 1 or max(self.horizons) > 36:
            raise InputError("--horizon", self.horizons, "give 5m to 3h")

    @property
    def spans(self) -> tuple[Horizon, ...]:
        """The horizons with their columns."""
        return tuple(Horizon(*pair) for pair in enumerate(self.horizons))


@dataclass(frozen=True)
class DemandRun:
    """Result of a run."""

    tables: tuple[FamilyTable, ...]
    model: Released
    absent: tuple[str, ...]
    """Files of the pack that are not in the folder."""


def run_demand(folder: Path, options: DemandOptions, progress: Progress) -> DemandRun:
    """Train, judge and describe; writes nothing.

    Raises:
        InputError: the folder holds no demand file, one cannot be read, or `only` fits no family.
    """
    absent = absent_files(folder)
    boosters, pool_rows, families = _fit_models(folder, options, progress)
    judging = in_steps(within(progress, "judging", FITTED, 1.0), families * len(options.spans))
    tables: list[FamilyTable] = []
    samples: list[CalibrationSample] = []
    for family, rows in _families(folder, options):
        for horizon in options.spans:
            judging(f"{family.title}, {horizon.title}")
            own = boosters[horizon]
            samples.append(calibration_sample(family, rows, horizon, own))
            table = family_table(family, rows, horizon, own, options.target)
            if table is not None:
                tables.append(table)
    model = release(options.name, boosters, samples, tables, pool_rows, input_hash(folder))
    ordered = sorted(tables, key=lambda table: table.horizon.column)
    return DemandRun(tuple(ordered), model, tuple(absent))


def input_hash(folder: Path) -> str:
    """Return one hash of all demand files in the folder and their names."""
    digest = hashlib.sha256()
    for file in READERS:
        path = folder / file
        if path.is_file():
            digest.update(f"{file} {sha256_of(path)}\n".encode())
    return digest.hexdigest()


def _fit_models(
    folder: Path, options: DemandOptions, progress: Progress
) -> tuple[dict[Horizon, Boosters], int, int]:
    """Return the boosters, the most rows that one learnt from, and how many families there are."""
    families = 0
    fitting = in_steps(within(progress, "fitting", READ, FITTED), len(options.spans))
    shares: dict[Horizon, list[LearningRows]] = {horizon: [] for horizon in options.spans}
    for family, rows in _families(folder, options):
        progress(f"reading {family.title}: {len(rows):,} origins", 0.0)
        families += 1
        for horizon, own in shares.items():
            own.append(learning_rows(rows, parts_of(family, rows, horizon).fit, horizon))
    boosters: dict[Horizon, Boosters] = {}
    rows_learnt = 0
    for horizon, own in shares.items():
        pool = pool_rows(own)
        if not len(pool):
            raise InputError("--input", folder.name, f"too short to learn {horizon.title} from")
        fitting(f"{horizon.title} on {len(pool):,} rows")
        boosters[horizon] = fit_quantiles(pool, options.size)
        rows_learnt = max(rows_learnt, len(pool))
    return boosters, rows_learnt, families


def _families(folder: Path, options: DemandOptions) -> Iterator[tuple[Family, Origins]]:
    any_family = False
    for file in READERS:
        for family in read_file(folder, file):
            if options.only in family.title:
                any_family = True
                yield family, origins_of(family, options.horizons)
    if not any_family:
        raise InputError("--family", options.only, "no family's name holds this")
