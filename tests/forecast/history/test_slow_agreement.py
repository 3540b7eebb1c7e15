"""The fast code says what the slow and obvious one says."""

from __future__ import annotations

import math

import numpy as np
import pytest

from features.history import FEATURE_SETS, Events, History
from features.history.attempts import Attempts
from features.history.steps import LOG2_ONE, log2_seconds
from tests.forecast.history.generated import history, questions
from tests.forecast.history.slow import slow_features


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("name", sorted(FEATURE_SETS))
def test_every_feature_agrees_with_a_count_by_hand(name: str, seed: int) -> None:
    """Each column of both sets holds what walking through the events one by one finds."""
    chosen, events = FEATURE_SETS[name], history(seed, 160)
    anchors = questions(seed, events, 40)
    _, tasks = Attempts.none().resolve(events.tasks)
    fast = (
        History.begin(chosen).extend(Events(tasks, events.jobs, events.machines)).features(anchors)
    )
    slow = slow_features(chosen, events, anchors)
    for place, column in enumerate(chosen.names):
        np.testing.assert_allclose(fast[:, place], slow[:, place], rtol=1e-6, err_msg=column)
    assert np.isfinite(fast).any(axis=0).mean() > 0.9


def test_logarithms_are_within_a_hundredth() -> None:
    """The logarithm made of multiplications is within 0.01 of the real one."""
    seconds = np.array([0, 1, 1.5, 2, 3.9, 4, 900, 1023.7, 86_400, 2_505_600])
    actual = log2_seconds((seconds * 1e6).astype(np.int64)) / LOG2_ONE
    real = [math.log2(max(one, 1)) for one in seconds]
    np.testing.assert_allclose(actual, real, atol=0.01)
