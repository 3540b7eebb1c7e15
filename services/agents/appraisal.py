"""How an agent judges by expected value: what it sees, remembers and returns.

Beside the newest observation such a policy sees a memory: a fold of observations and of the agent's own
proposals, both of which stand in the log before its answer, so a recording is judged again with the same result.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from schemas.actions import Action, Evidence
from schemas.effect import Effect
from schemas.proposal import ForecastGround
from schemas.reasons import Reason
from schemas.view import ObservationView
from services.agents.foreseen import NOTHING_FORESEEN, Foreseen
from services.agents.memory import Memory
from services.agents.value_settings import ValueSettings


@dataclass(frozen=True, slots=True)
class PolicyInput:
    """Everything that such a policy may look at."""

    view: ObservationView
    memory: Memory
    settings: ValueSettings
    foreseen: Foreseen = NOTHING_FORESEEN
    """Empty while nothing is known, and where `agents.value.forecast` is off."""
    places: dict[tuple[float | None, int | None], int] = field(default_factory=dict, compare=False)
    """How many more pods of a size (cores, bytes) fit, of those asked for so far: counting walks all machines."""


class Band(NamedTuple):
    """Expected value of one series at one horizon; see `schemas.prediction.BandTable`."""

    low: float
    middle: float
    high: float
    rule: str
    basis: str
    lowest: float | None = None
    """None, as `highest`, where nobody said so."""
    highest: float | None = None


MINUTE_SECONDS = 60.0
"""A band of the simple rules, where somebody chose them instead of a model."""


def bands_of(situation: PolicyInput, series: str) -> dict[float, Band]:
    """Return a series' bands by horizon in seconds, the shortest first; none of those that rest on a guess alone, are
    of a model that is left out, or of the simple rule that speaks where a trained model is silent.
    """
    found: dict[float, Band] = {}
    left_out = situation.foreseen.left_out
    for bands in situation.foreseen.bands:
        table = bands.series
        row = bisect_left(table.ids, series)
        if row == len(table) or table.ids[row] != series:
            continue
        rule = table.rule[row]
        speaks = bands.step_seconds == MINUTE_SECONDS or "/" in rule  # a model names its version
        if speaks and table.basis[row] != "assumed" and rule not in left_out:
            found[bands.horizon_seconds] = Band(
                table.low[row],
                table.middle[row],
                table.high[row],
                table.rule[row],
                table.basis[row],
                table.lowest[row] if table.lowest else None,
                table.highest[row] if table.highest else None,
            )
    return found


@dataclass(frozen=True, slots=True)
class Candidate:
    """An action with what it is expected to change."""

    action: Action
    effect: Effect
    decisive: tuple[Evidence, ...]
    """The comparisons that made it a candidate."""
    text: str
    forecast: ForecastGround | None = None
    """The forecast that it rests on, where it does."""


@dataclass(frozen=True, slots=True)
class Appraisal:
    """Judgement of an agent on one observation."""

    candidates: tuple[Candidate, ...]
    """Those that are possible, in any order; doing nothing, which gains nothing, is always one more."""
    text: str
    """Why there is none, or what was looked at."""
    reason: Reason = Reason.NOTHING_TO_DO
    """Why nothing is wanted, where there is no candidate."""


Appraise = Callable[[PolicyInput], Appraisal]


def pods_without_capacity(situation: PolicyInput) -> int:
    """Return how many pods wait because no machine has room for them."""
    waiting = situation.view.totals.pending_by_class
    lacking = (waiting[name] for name in waiting if name.startswith("insufficient_"))
    return int(math.fsum(lacking))
