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


def many(monkeypatch: pytest.MonkeyPatch, observations: int) -> Foretold:
    """Return what is foretold after some observations of one step, two series with each."""
    monkeypatch.setattr(foretelling, "MOST_TOLD", 2)
    told = foretold_after(None, history(KNOWN), Shifted())
    for _ in range(1, observations):
        told = foretold_after(told, history(KNOWN), Shifted())
    return told


def test_many_series_are_told_a_few_at_a_time_and_come_out_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two with each observation: the bands are those of all at once, with the third, and nothing more is new."""
    at_once = foretold_after(None, history(KNOWN), Shifted())
    for observations in (1, 2):
        assert many(monkeypatch, observations).is_new is False
        assert many(monkeypatch, observations).bands == ()
    third = many(monkeypatch, 3)
    assert (third.is_new, third.bands) == (True, at_once.bands)
    assert third.bands[0].series.ids == tuple(NAMES)
    assert third.forecaster.as_json() == at_once.forecaster.as_json()
    assert many(monkeypatch, 4).is_new is False


def test_a_restart_between_two_parts_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was told before it comes out with the rest, at the same observation."""
    stored = json.loads(json.dumps(encode_foretold(many(monkeypatch, 2))))
    restored = foretold_after(decode_foretold(stored), history(KNOWN), Shifted())
    expected = many(monkeypatch, 3)
    assert (restored.is_new, restored.bands) == (True, expected.bands)
    assert restored.forecaster.as_json() == expected.forecaster.as_json()


def test_where_observations_are_rare_none_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """A step that ends before all were told is the last of which some are not."""
    told = foretold_after(many(monkeypatch, 1), history(KNOWN + 1), Shifted())
    assert (told.is_new, told.bands[0].series.ids) == (True, tuple(NAMES))
    restored = decode_foretold(json.loads(json.dumps(encode_foretold(told))))
    for before in (told, restored):
        assert foretold_after(before, history(KNOWN + 2), Shifted()).is_new is True
