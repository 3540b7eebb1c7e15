"""A trained model of rates: rows of `features.demand` in, quantiles in scales above the base out."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bus.errors import InputError
from features.demand.features import COLUMNS, FEATURE_SET, FEATURE_SET_VERSION, UNITS
from features.demand.past import HORIZONS_SECONDS, QUANTILES
from features.series.quantiles import Floats
from services.inference.risk_model import load_booster
from services.model_directory import FeatureCatalogue, read_model
from services.model_folders import folder_of

OBJECTIVE = "reg:quantileerror"
TARGET = "scales_above_base"
OFFSETS = "offsets_by_minutes"
"""In the manifest's metrics: what split conformal prediction adds to each quantile, in scales."""
SHIPPED = "rates-ahead"
CATALOGUE = {FEATURE_SET: FeatureCatalogue(FEATURE_SET_VERSION, dict(UNITS))}


class RateModel:
    """One booster per quantile for all horizons."""

    def __init__(self, reference: str = SHIPPED) -> None:
        """Load a model.

        Args:
            reference: the name of a shipped model, or a folder.

        Raises:
            InputError: there is none, or it does not foretell rates by the columns that this code computes.
        """
        directory = read_model(folder_of(reference), CATALOGUE)
        manifest = directory.manifest
        if manifest.target != TARGET:
            remedy = f"name a model whose target is {TARGET}"
            raise InputError(f"{manifest.model_id} target", manifest.target, remedy)
        if manifest.quantiles != QUANTILES:
            raise InputError(
                f"{manifest.model_id} quantiles", manifest.quantiles, f"give {QUANTILES}"
            )
        places = {name: place for place, name in enumerate(COLUMNS)}
        self.model_id = manifest.model_id
        self._columns = [places[name] for name in manifest.feature_names]
        self._horizon = places["horizon_minutes"]
        ordered = sorted(
            zip(manifest.boosters, directory.boosters, strict=True),
            key=lambda pair: pair[0].quantile or 0.0,
        )
        self._boosters = load_booster(ordered, manifest.model_id, OBJECTIVE, len(self._columns))
        offsets = manifest.metrics.get(OFFSETS)
        self._offsets = {} if not isinstance(offsets, dict) else offsets

    def numbers(self, rows: NDArray[np.float32]) -> Floats:
        """Return (rows, QUANTILES) in scales above the base, calibrated for each horizon."""
        matrix = np.ascontiguousarray(rows[:, self._columns])
        numbers = np.stack([one.margins(matrix) for one in self._boosters], axis=1).astype(
            np.float64
        )
        for seconds in HORIZONS_SECONDS:
            offset = self._offsets.get(str(seconds // 60))
            if offset is not None:
                numbers[rows[:, self._horizon] == seconds / 60.0] += np.array(offset)
        return numbers
