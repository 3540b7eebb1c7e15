"""The library called directly gives what the package gives, bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bus.errors import InputError
from schemas.manifest import Calibration
from services.inference.booster import Booster
from services.inference.risk_model import calibrate, node_risks
from services.model_folders import folder_of
from tests.forecast.live.one_split import one_split


@pytest.fixture(scope="module")
def shipped_booster() -> bytes:
    """Return the shipped model's booster."""
    return (folder_of("small-risk") / "risk-900s.ubj").read_bytes()


@pytest.fixture(scope="module")
def rows(shipped_booster: bytes) -> Any:
    """Return rows of small whole numbers, large ones and holes."""
    dice = np.random.default_rng(1)
    shape = (200, Booster(shipped_booster, "shipped").features)
    values = np.where(
        dice.random(shape) < 0.5, dice.poisson(2, shape), dice.exponential(1e3, shape)
    )
    return np.where(dice.random(shape) < 0.2, np.nan, values).astype(np.float32)


def test_margins_are_the_packages(shipped_booster: bytes, rows: Any) -> None:
    """Every bit of every margin."""
    import xgboost

    theirs = xgboost.Booster({"nthread": 1})
    theirs.load_model(bytearray(shipped_booster))

    ours = Booster(shipped_booster, "shipped").margins(rows)

    assert np.array_equal(ours, theirs.inplace_predict(rows, predict_type="margin"))
    assert len(np.unique(ours)) > 20


def test_contributions_are_the_packages_and_add_up(shipped_booster: bytes, rows: Any) -> None:
    """What the features add, with the bias, is the margin."""
    import xgboost

    theirs = xgboost.Booster({"nthread": 1})
    theirs.load_model(bytearray(shipped_booster))
    booster = Booster(shipped_booster, "shipped")

    ours = booster.contributions(rows)

    assert np.array_equal(ours, theirs.predict(xgboost.DMatrix(rows), pred_contribs=True))
    assert np.allclose(ours.sum(axis=1), booster.margins(rows), atol=1e-4)


def test_bytes_that_are_no_booster_are_refused() -> None:
    """The library's own words, on one line."""
    with pytest.raises(InputError, match="booster broken"):
        Booster(b"nothing of the kind", "broken")


def test_rows_in_another_form_are_refused(shipped_booster: bytes) -> None:
    """The library reads memory in place, so the form must be right."""
    with pytest.raises(TypeError, match="float32"):
        Booster(shipped_booster, "shipped").margins(np.zeros((1, 3)))  # type: ignore[arg-type]


def test_a_booster_says_what_it_was_trained_for() -> None:
    """The objective is read from the model itself."""
    booster = Booster(one_split(3, 1, 0.5), "tiny")

    assert (booster.features, booster.objective) == (3, "binary:logistic")


def test_node_risk_is_what_the_formula_says() -> None:
    """1 - prod(1 - p)^pods, each node apart, also for nodes of different sizes."""
    risks = np.array([0.1, 0.2, 0.5, 0.0])
    actual = node_risks(np.array([0, 2, 3]), np.array([1, 3, 2, 7]), risks)

    assert actual == pytest.approx([1 - 0.9 * 0.8**3, 0.75, 0.0])


def test_calibration_is_straight_between_the_knots() -> None:
    """As numpy's own interpolation says, to the last but one bit; the ends hold beyond them."""
    x, y = (0.1, 0.2, 0.7), (0.0, 0.3, 0.9)
    raw = np.array([0.0, 0.1, 0.15, 0.2, 0.45, 0.7, 1.0])

    actual = calibrate(raw, Calibration(kind="isotonic", x=x, y=y))

    assert np.allclose(actual, np.interp(raw, x, y), rtol=1e-15)
    assert calibrate(raw, Calibration(kind="isotonic", x=(0.5,), y=(0.4,))).tolist() == [0.4] * 7
