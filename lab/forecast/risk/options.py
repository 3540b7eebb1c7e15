"""Options of a training run; part of every artifact's key."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Self

from lab.forecast.risk.boosting import SETTINGS
from lab.forecast.risk.every_age import MEMBERS
from lab.forecast.risk.splits import TRAIN_SHARE

RECIPE = 3
"""Raised whenever equal options would give another model."""


@dataclass(frozen=True, slots=True)
class Options:
    """How to train; equal options on equal data give equal bytes."""

    train_share: float = TRAIN_SHARE
    """Of the main segment's time, before the cut."""
    illusion: bool = False
    """Random rows instead of time and jobs: labelled, and never to be believed."""
    members: tuple[str, ...] = tuple(setting.name for setting in SETTINGS)
    rounds: int = 80
    seed: int = 0
    fit_negatives: int = 30_000
    """Negatives that members and the logistic regression learn from; each then weighs more."""
    pool_rows: int = 600_000
    """Training rows that are read at all; beyond, negatives are drawn (grid datasets)."""

    refit: bool = False
    """Learn from every row that there is once the folds have been judged; no test row is left."""
    every_age: bool = False
    """Rows are those of a hazard dataset, drawn in strata."""

    chosen: tuple[tuple[str, float], ...] = ()
    """Parameters of every member that somebody chose, by XGBoost's names: `max_depth`, `eta`, `subsample` ..."""

    def of_every_age(self) -> Self:
        """Return the same for a hazard dataset."""
        members = MEMBERS if self.members == Options().members else self.members
        return replace(self, every_age=True, members=members, fit_negatives=200_000)

    def thorough(self) -> Self:
        """Return the same with twice the rounds and every negative."""
        return replace(self, rounds=2 * self.rounds, fit_negatives=self.pool_rows)

    def to_json(self) -> dict[str, Any]:
        """Return them as JSON values."""
        later = {name for name in ("refit", "every_age", "chosen") if not getattr(self, name)}
        content = {**asdict(self), "members": list(self.members), "chosen": dict(self.chosen)}
        return {name: value for name, value in content.items() if name not in later}


def key_of(
    options: Options, dataset_sha256: str, horizon_minutes: int, packages: Mapping[str, str]
) -> str:
    """Return what a horizon's training depends on, as a SHA-256."""
    content = {
        "recipe": RECIPE,
        "options": options.to_json(),
        "dataset": dataset_sha256,
        "horizon_minutes": horizon_minutes,
        "packages": dict(packages),
    }
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
