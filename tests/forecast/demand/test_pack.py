"""The pack's own series: the reference's figures of the plain rules come out."""

from __future__ import annotations

import numpy as np
import pytest

from lab.forecast.demand.origins import origins_of
from lab.forecast.demand.pack import cell
from lab.forecast.demand.scores import score
from lab.forecast.demand.split import Horizon, parts_of
from tests.forecast.pack import pack_file

REFERENCE_CPU = {
    "last_value": (0.869, 0.185),
    "n_sigma": (0.015, -0.005),
    "vpa": (0.000, -0.023),
    "rc_like": (0.181, 0.093),
    "max_n_sigma_rc": (0.005, -0.008),
}
"""Violation and savings of each rule as it is, horizon 1 h, last 40 % of the 2019 cell's cpu."""


def test_the_published_figures_of_the_rules_on_the_2019_cell() -> None:
    """Violation and savings of five rules agree with the reference to its last digit."""
    family = cell(pack_file("demand/google2019_cell_usage_5min.parquet"))[0]
    rows, horizon = origins_of(family, [12]), Horizon(0, 12)
    test = np.flatnonzero(parts_of(family, rows, horizon).test)
    assert len(test) == 857
    for name, (violation, savings) in REFERENCE_CPU.items():
        actual = score(rows.limits[name], rows, test, horizon, 0.05)
        assert actual.violation == pytest.approx(violation, abs=0.0006), name
        assert actual.savings == pytest.approx(savings, abs=0.0006), name
