"""Which rows of a family fit, calibrate, follow and test, for one horizon.

Guarantee: what fits ends before what calibrates begins, and that before what tests begins, peaks
included; with unseen owners, no owner is in two of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lab.forecast.demand.origins import Booleans, Origins
from lab.forecast.demand.series import Family


@dataclass(frozen=True)
class Horizon:
    """How far ahead: its column of `Origins.peaks`, and its length."""

    column: int
    windows: int

    @property
    def seconds(self) -> int:
        """Length in seconds."""
        return self.windows * 300

    @property
    def title(self) -> str:
        """`15 min`, `1 h`."""
        return f"{self.windows * 5} min" if self.windows < 12 else f"{self.windows // 12} h"


@dataclass(frozen=True)
class Parts:
    """Row masks of one family and horizon."""

    fit: Booleans
    calibrate: Booleans
    follow: Booleans
    test: Booleans


def parts_of(family: Family, rows: Origins, horizon: Horizon) -> Parts:
    """Return the parts; rows whose peak is unknown are in none of them."""
    known = ~np.isnan(rows.peaks[:, horizon.column]) & (rows.top > 0)
    end = rows.step + horizon.windows
    fit_until = family.split_step if family.unseen_owners else family.calibration_step
    return Parts(
        fit=known & rows.fits & (end <= fit_until),
        calibrate=known & rows.calibrates & (end <= family.split_step),
        follow=known & rows.follows,
        test=known & rows.tests,
    )
