"""Artifacts of training beside the model: enough to go on after an interruption and to evaluate.

`<model>.training/<minutes>m/` holds the members, the folds' predictions, the logistic regression
and the drift's bins. It is complete when `record.json` is there; that is written last, and names
the key of everything the training depended on. Equal keys: nothing is trained again.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from lab.forecast.risk.calibration import Curve
from lab.forecast.risk.drift import Quantiles
from lab.forecast.risk.folds import MEAN, OutOfFold
from lab.forecast.risk.logistic import Logistic
from lab.forecast.risk.training import Trained

RECORD = "record.json"
FOLD_COLUMNS = ("position", "fold", "time_us", "job", "label", "weight", "unseen")


class TrainingStore:
    """The folder beside one model directory."""

    def __init__(self, model_folder: Path) -> None:
        """Take the model's folder; nothing is made until something is written."""
        self.folder = model_folder.with_name(f"{model_folder.name}.training")

    def horizon(self, minutes: int) -> Path:
        """Return the folder of one horizon."""
        return self.folder / f"{minutes}m"

    def key(self, minutes: int) -> str | None:
        """Return the key under which a horizon was trained; None when it is not complete."""
        try:
            record = json.loads((self.horizon(minutes) / RECORD).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return str(record.get("key"))

    def write(self, minutes: int, trained: Trained, key: str) -> None:
        """Keep a horizon, whole or not at all."""
        place = self.horizon(minutes)
        partial = place.with_name(place.name + ".partial")
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        for name, raw in trained.members.items():
            (partial / f"{name}.ubj").write_bytes(raw)
        predictions = trained.out_of_fold
        columns: dict[str, Any] = {name: getattr(predictions, name) for name in FOLD_COLUMNS}
        np.savez(
            partial / "folds.npz", score=predictions.scores[MEAN], jobs=trained.jobs, **columns
        )
        record = {
            "key": key,
            "members": list(trained.members),
            "curve": asdict(trained.curve),
            "chosen": trained.chosen,
            "logistic": trained.logistic.to_json(),
            "quantiles": asdict(trained.quantiles),
            "rows": trained.rows,
            "positives": trained.positives,
            "pool_rate": trained.pool_rate,
            "fit_rate": trained.fit_rate,
            "table": trained.table,
        }
        (partial / RECORD).write_text(json.dumps(record), encoding="utf-8")
        shutil.rmtree(place, ignore_errors=True)
        partial.replace(place)

    def read(self, minutes: int) -> Trained | None:
        """Return what was kept of a horizon; None when nothing complete is there."""
        place = self.horizon(minutes)
        if self.key(minutes) is None:
            return None
        record = json.loads((place / RECORD).read_text(encoding="utf-8"))
        with np.load(place / "folds.npz") as arrays:
            columns = {name: arrays[name] for name in (*FOLD_COLUMNS, "score", "jobs")}
        curve = record["curve"]
        return Trained(
            members={name: (place / f"{name}.ubj").read_bytes() for name in record["members"]},
            curve=Curve(tuple(curve["x"]), tuple(curve["y"])),
            chosen=record["chosen"],
            logistic=Logistic.from_json(record["logistic"]),
            out_of_fold=OutOfFold(
                **{name: columns[name] for name in FOLD_COLUMNS},
                scores={MEAN: columns["score"]},
            ),
            quantiles=Quantiles(**record["quantiles"]),
            rows=record["rows"],
            positives=record["positives"],
            pool_rate=record["pool_rate"],
            fit_rate=record["fit_rate"],
            jobs=columns["jobs"],
            table=record["table"],
        )
