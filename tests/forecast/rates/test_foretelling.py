"""What is foretold after each observation: all series once a step, and new ones a few with each observation."""

from __future__ import annotations

import json

import numpy as np
import pytest

from features.workload_history.grid import DAY_STEPS
from features.workload_history.history import WorkloadHistory, advance, merge, push_step
from services.inference import foretelling
from services.inference.foretelling import (
    Foretold,
    decode_foretold,
    encode_foretold,
    foretold_after,
)
from tests.forecast.rates.made import daily
from tests.forecast.rates.test_forecaster import Shifted

NAMES = [f"service/{letter}" for letter in "abcde"]
FIRST = 5_000 * DAY_STEPS
VALUES = np.stack([daily(3, 300, 50.0 + number, number) for number in range(len(NAMES))])
KNOWN = VALUES.shape[1] - 10


def history(step: int) -> WorkloadHistory:
    """Return what is known when so many steps are over."""
    past = advance(merge(WorkloadHistory(), NAMES, FIRST, VALUES[:, :KNOWN], 2), FIRST + KNOWN)
    for number in range(KNOWN, step):
        past = push_step(past, FIRST + number, dict(zip(NAMES, VALUES[:, number], strict=True)))
    return past


def told_of(foretold: Foretold) -> tuple[str, ...]:
    """Return the series that have bands."""
    return foretold.bands[0].series.ids


def test_new_series_are_met_a_few_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two with each observation: with the step those that are met speak, and at the next step all do."""
    monkeypatch.setattr(foretelling, "MOST_NEW", 2)
    first = foretold_after(None, history(KNOWN), Shifted())
    assert (told_of(first), first.is_new) == (("service/a", "service/b"), True)
    second = foretold_after(first, history(KNOWN), Shifted())
    assert (told_of(second), second.is_new) == (("service/a", "service/b"), False)
    restored = decode_foretold(json.loads(json.dumps(encode_foretold(second))))
    for before in (second, restored):
        over = foretold_after(before, history(KNOWN + 1), Shifted())
        assert (list(told_of(over)), over.is_new) == (NAMES, True)


def test_who_was_met_later_is_calibrated_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    """Met at once or one after another, the calibration is equal."""
    at_once = foretold_after(None, history(KNOWN), Shifted())
    monkeypatch.setattr(foretelling, "MOST_NEW", 2)
    later: Foretold | None = None
    for _ in range(3):
        later = foretold_after(later, history(KNOWN), Shifted())
    states = [one.forecaster.as_json()["followers"] for one in (at_once, later) if one is not None]
    assert states[0] == states[1]
    assert list(states[0]) == NAMES
