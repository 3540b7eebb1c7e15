"""What a model needs to follow a cluster's rates: how often attempts fail by age while their job has not failed."""

from __future__ import annotations

import math

import numpy as np

from lab.forecast.risk.past import Past
from lab.forecast.risk.rows import MICROSECONDS, Rows
from schemas.manifest import LiveRates

SPAN_SECONDS = 300
"""Rows are asked how the next five minutes end: the finest step of a grid."""
QUARTER_SECONDS = 900
AGES_SECONDS = (0, 300, 900, 1_800, 3_600, 7_200, 21_600)
FEWEST_FAILURES = 5
"""An age with fewer takes the rate of the next ones, too."""
STRENGTH_FAILURES = 0.5
"""Little, for rates of clusters differ by a factor of forty (docs/forecast/risk.md). This and the next three were
chosen on runs of the twin, seeds 1 to 4 of google2011 and openb."""
HALF_LIFE_SECONDS = 21_600.0
STARTS_HALF_LIFE_SECONDS = 1_800.0
STARTS_STRENGTH = 1.0
MACHINES = 0.00025
"""Machines of the 2011 trace that were removed within 15 minutes."""


def live_rates(rows: Rows, past: Past, horizon_seconds: float) -> LiveRates:
    """Return the rates of first failures by age.

    Args:
        rows: of the horizon of five minutes, placements and grid.
        past: counts of the history.
        horizon_seconds: the model's.
    """
    age = (rows.time_us - rows.start_us) / MICROSECONDS
    clean = past.before_first_failure(rows.job, rows.time_us) & (rows.start_us > 0)
    # Between its placement and five minutes an attempt has grid rows, too; the placement alone begins at 0.
    clean &= (age == 0) | (age >= SPAN_SECONDS)
    place = np.searchsorted(AGES_SECONDS, age[clean], side="right") - 1
    count = np.bincount(place, minlength=len(AGES_SECONDS)).tolist()
    failed = np.bincount(
        place, weights=rows.label[clean].astype(np.float64), minlength=len(AGES_SECONDS)
    ).tolist()
    return LiveRates(
        horizon_seconds=horizon_seconds,
        ages_seconds=AGES_SECONDS,
        first=_falling(failed, count),
        strength_failures=STRENGTH_FAILURES,
        machines=MACHINES,
        half_life_seconds=HALF_LIFE_SECONDS,
        starts_half_life_seconds=STARTS_HALF_LIFE_SECONDS,
        starts_strength=STARTS_STRENGTH,
    )


def _falling(failed: list[float], count: list[int]) -> tuple[float, ...]:
    """Return rates for 900 s that fall with age; neighbours that would rise, or have few failures, are one."""
    groups: list[tuple[float, float, int]] = []
    for failures, rows in zip(failed, count, strict=True):
        groups.append((failures, float(rows), 1))
        while len(groups) > 1 and _are_one(groups[-2], groups[-1]):
            (f1, r1, n1), (f2, r2, n2) = groups[-2:]
            groups[-2:] = [(f1 + f2, r1 + r2, n1 + n2)]
    return tuple(
        _quarter(failures / rows if rows else 0.0)
        for failures, rows, ages in groups
        for _ in range(ages)
    )


def _are_one(left: tuple[float, float, int], right: tuple[float, float, int]) -> bool:
    few = min(left[0], right[0]) < FEWEST_FAILURES
    return few or right[0] * left[1] >= left[0] * right[1]


def _quarter(share: float) -> float:
    return round(-math.log1p(-share) * QUARTER_SECONDS / SPAN_SECONDS, 9)
