"""The table of a prediction, whatever it predicts."""

from __future__ import annotations

from schemas.prediction import Prediction
from schemas.tables import Table


def prediction_table(prediction: Prediction) -> tuple[str, tuple[str, ...], tuple[float, ...]]:
    """Return what a prediction is about (`risk` or `demand`), its nodes and their ratios."""
    for _, table in prediction:
        for name in ("risk", "demand"):
            ratios = getattr(table, f"{name}_ratio", None)
            if isinstance(table, Table) and ratios is not None:
                return name, table.ids, ratios
    return "", (), ()
