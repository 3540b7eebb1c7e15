"""What came of what each kind of action was expected to change, on twin branches with and without it.

An expectation has a kind of its own where an action is taken for different reasons. `foresail experiment calibrate`
measures the shares, and docs/calibration.md says how.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from schemas.actions import Action, MigrateAction, PowerStateAction, ReplicateAction
from schemas.effect import Effect
from schemas.numbers import rounded

KINDS = (
    *("replicate:more", "replicate:before_end", "replicate:fewer"),
    *("migrate:notice", "migrate:pack", "migrate:room", "migrate:mark"),
    *("power_state:sleep", "power_state:wake", "power_state:unmark"),
    "admission:admit",
)
"""Kinds of expectations of profile `foresail`."""


class MeasuredRatio(NamedTuple):
    """Outcome of one kind, as a share of what was expected, with its 95 % interval."""

    ratio: float
    low: float
    high: float
    samples: int


MEASURED: Mapping[str, MeasuredRatio] = {
    "migrate:pack": MeasuredRatio(1.33, 0.72, 1.8, 142),
    "power_state:sleep": MeasuredRatio(0.94, 0.82, 1.05, 211),
    "replicate:before_end": MeasuredRatio(1.13, 0.9, 1.37, 82),
    "replicate:fewer": MeasuredRatio(-0.04, -0.28, 0.24, 216),
    "replicate:more": MeasuredRatio(0.91, 0.79, 1.02, 405),
}
"""By kind, with the shipped factors in force, in worlds that no factor was fitted on, where these had 30 samples:
docs/calibration.md.
"""
FACTORS: Mapping[str, float] = {
    "migrate:notice": 0.2,
    "migrate:pack": 0.5,
    "power_state:sleep": 0.8,
    "power_state:wake": 0.4,
    "replicate:before_end": 0.4,
    "replicate:more": 0.75,
}
"""By what `foresail up` multiplies expectations of a kind (`agents.value.calibration`), where without it less than
80 % or more than 125 % came.
"""


def kind_of(action: Action, effect: Effect) -> str:
    """Return the kind of an expectation: what is done, and by its terms what for."""
    terms = effect.terms
    match action:
        case ReplicateAction():
            return "replicate:fewer" if terms.get("capacity", 0.0) > 0.0 else (
                "replicate:more" if "capacity" in terms else "replicate:before_end"
            )  # fmt: skip
        case MigrateAction() if action.pods != ():
            return "migrate:pack" if "energy" in terms else (
                "migrate:room" if "overdue" in terms else "migrate:notice"
            )  # fmt: skip
        case PowerStateAction(power_state="on"):
            return "power_state:wake" if "energy" in terms else "power_state:unmark"
    return action.full_kind


def calibrated(action: Action, effect: Effect, factors: Mapping[str, float]) -> Effect:
    """Return an effect times its kind's factor; 1 where none is given."""
    factor = factors.get(kind_of(action, effect), 1.0)
    if factor == 1.0:
        return effect
    amounts = {
        name: rounded(factor * getattr(effect, name)) for name in ("net", "low", "high", "per_hour")
    }
    terms = {name: rounded(factor * money) for name, money in effect.terms.items()}
    return effect.model_copy(update={**amounts, "terms": terms})
