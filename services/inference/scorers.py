"""What turns a model's rows into raw numbers, by the form of its files.

A trained model of a new form is a folder of its own with a class like `Scorer`, and one row in `SCORERS`; manifests,
features, calibration, thresholds, shadows and promotion are the same for all.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from bus.errors import InputError
from services.inference.booster import Booster, Matrix


class Scorer(Protocol):
    """One file of a model, loaded."""

    @property
    def features(self) -> int:
        """Columns that it reads."""
        ...

    @property
    def objective(self) -> str:
        """What its numbers stand for, as XGBoost names it: `binary:logistic` for log-odds."""
        ...

    def margins(self, rows: Matrix) -> NDArray[np.float32]:
        """Return a number for each row of (rows, features); NaN is missing."""
        ...

    def contributions(self, rows: Matrix) -> Matrix:
        """Return (rows, features + 1): what each feature adds to the number; the last is the bias."""
        ...


SCORERS: dict[str, Callable[[bytes, str], Scorer]] = {"ubj": Booster}
"""By the ending of a file's name: a scorer of its bytes, and of the name by which it is refused."""


def load_scorer(file: str, raw: bytes, model_id: str) -> Scorer:
    """Return the scorer of a model's file.

    Raises:
        InputError: no form has this ending, or the bytes cannot be used.
    """
    ending = file.rpartition(".")[2]
    if ending not in SCORERS:
        known = ", ".join(f".{name}" for name in sorted(SCORERS))
        raise InputError(f"{model_id} file", file, f"this version reads {known}")
    return SCORERS[ending](raw, f"{model_id} {file}")
