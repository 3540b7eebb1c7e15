"""The paired bootstrap: exact under weights, whole jobs at a time, the same draws for every model."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

from lab.forecast.risk.bootstrap import Ladder, paired_average_precision, resamples
from lab.forecast.risk.metrics import average_precision


def _draw_rows(
    seed: int, size: int = 300, jobs: int = 12
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    chance = random.Random(seed)
    job = np.array([chance.randrange(jobs) for _ in range(size)])
    label = np.array([int(chance.random() < 0.1 + 0.2 * (one == 3)) for one in job])
    score = np.array([round(chance.random() + 0.4 * one, 1) for one in label])
    return label, score, job


@pytest.mark.parametrize("seed", range(4))
def test_a_ladder_is_average_precision_under_job_weights(seed: int) -> None:
    """Counting by step and job gives what sorting the weighted rows gives, to rounding."""
    from sklearn.metrics import average_precision_score

    label, score, job = _draw_rows(seed)
    weights = resamples(12, seed, 6)
    precision = Ladder(label, score, job).average_precision(weights)

    for column in range(6):
        weight = weights[job, column]
        expected = average_precision_score(label, score, sample_weight=weight)
        assert precision[column] == pytest.approx(expected)


def test_a_resample_draws_as_many_jobs_as_there_are() -> None:
    """Every resample holds whole jobs, as many as there are, and the same seed draws the same."""
    weights = resamples(30, 1, 50)

    assert {30.0} == set(weights.sum(axis=0).tolist())
    assert weights.max() > 1
    assert (weights == resamples(30, 1, 50)).all()


def test_equal_models_differ_by_exactly_nothing() -> None:
    """Models share their resamples: a copy of a model differs by 0 in each, not by noise."""
    label, score, job = _draw_rows(9)
    paired = paired_average_precision(label, {"one": score, "copy": score * 2 + 1}, job, 0)
    step = paired.difference("one", "copy")

    assert (0.0, 0.0, 0.0) == (step.value, step.low, step.high)
    assert paired.values["one"].low < paired.values["one"].value < paired.values["one"].high
    assert paired.values["one"].value == pytest.approx(average_precision(label, score))


def test_a_better_model_is_told_from_a_worse_one() -> None:
    """The paired interval of a clear difference excludes 0 although the two intervals overlap."""
    label, score, job = _draw_rows(2)
    noise = np.array([random.Random(5 + place).random() for place in range(len(label))])
    step = paired_average_precision(label, {"good": score, "bad": noise}, job, 0).difference(
        "good", "bad"
    )

    assert step.excludes_zero
    assert step.low > 0


def test_one_job_with_all_failures_makes_a_wide_interval() -> None:
    """Resamples without the one failing job have no average precision and are counted out."""
    label, job = np.array([1, 1, 0, 0, 0, 0]), np.array([1, 1, 2, 3, 4, 5])
    actual = paired_average_precision(label, {"m": label.astype(float)}, job, 0).values["m"]

    assert 100 < actual.resamples < 200
    assert 1.0 == actual.value


def test_no_positives_is_no_number() -> None:
    """Without any positive there is neither value nor interval."""
    actual = paired_average_precision([0, 0], {"m": [0.1, 0.2]}, [1, 2], 0).values["m"]

    assert math.isnan(actual.value)
    assert 0 == actual.resamples
