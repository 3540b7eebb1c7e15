"""From scores to probabilities, and how that is kept true while the cluster changes.

A curve is the mean of two: isotonic regression, which follows the data, and a logistic curve of the
score's log odds (Platt), which does not break when one job makes half of the failures. The mean
rises strictly, so that calibration never changes the order of two rows. Failures come from few
jobs, so the curve is drawn towards the score itself, the more the fewer jobs have failed. Curves are fitted on
predictions of rows that were not learnt from, and only on labels that were settled by then.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lab.forecast.risk.metrics import Floats, Ints, Labels, brier

LEAST_POSITIVES = 20
"""With fewer, a curve would be noise, and the score stays as it is."""
DOUBTED_JOBS = 20
"""With so many failing jobs, curve and score count alike; one crash loop must not bend it far."""
KNOTS = 200
FLOOR = 1e-7


@dataclass(frozen=True, slots=True)
class Curve:
    """A rising piecewise linear map of scores to probabilities; without knots, the identity."""

    x: tuple[float, ...] = ()
    y: tuple[float, ...] = ()

    def apply(self, scores: Floats) -> Floats:
        """Return the probabilities of scores; beyond the outer knots they stay level."""
        return np.interp(scores, self.x, self.y) if self.x else np.asarray(scores, dtype=np.float64)


def fit_curve(scores: Floats, labels: Labels, jobs: Ints, weights: Floats | None = None) -> Curve:
    """Return the curve that turns these scores into probabilities.

    Args:
        scores: raw probabilities of rows that were not learnt from.
        labels: 0 or 1.
        jobs: the job of each row; the fewer failed, the less the curve departs from the score.
        weights: of rows; None: 1 each.
    """
    from sklearn.isotonic import IsotonicRegression  # noqa: PLC0415 - slow to load; only training needs it
    from sklearn.linear_model import LogisticRegression  # noqa: PLC0415

    positives = int(np.count_nonzero(labels))
    if positives < LEAST_POSITIVES or positives == len(labels):
        return Curve()
    w = np.ones(len(scores)) if weights is None else weights
    platt = LogisticRegression(C=1e6)
    platt.fit(_log_odds(scores)[:, None], labels, sample_weight=w)
    if platt.coef_[0, 0] <= 0.0:
        return Curve()
    isotonic = IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip")
    isotonic.fit(scores, labels, sample_weight=w)
    x = _knots(scores, isotonic.X_thresholds_)
    fitted = (isotonic.predict(x) + platt.predict_proba(_log_odds(x)[:, None])[:, 1]) / 2.0
    failing = len(np.unique(jobs[labels == 1]))
    believed = failing / (failing + DOUBTED_JOBS)
    y = believed * fitted + (1.0 - believed) * x
    return Curve(tuple(float(value) for value in x), tuple(float(value) for value in y))


def _knots(scores: Floats, thresholds: Floats) -> Floats:
    """Return places that show both curves: isotonic steps, thinned, and quantiles of the scores."""
    grid = np.quantile(scores, np.linspace(0.0, 1.0, KNOTS // 4))
    wide = np.linspace(scores.min(), scores.max(), KNOTS // 4)
    thinned = thresholds[:: max(1, len(thresholds) // (KNOTS // 2))]
    return np.unique(np.concatenate([grid, wide, thinned]).astype(np.float64).round(9))


def _log_odds(scores: Floats) -> Floats:
    clipped = np.clip(scores, FLOOR, 1.0 - FLOOR)
    return np.log(clipped / (1.0 - clipped))


def recalibrate(
    scores: Floats,
    labels: Labels,
    jobs: Ints,
    times_us: Ints,
    starts_us: Sequence[int],
    horizon_us: int,
    weights: Floats | None = None,
) -> Floats:
    """Return probabilities under rolling recalibration.

    At each start a new curve is fitted on every row whose label was settled by then (its time plus
    the horizon lies before the start) and used until the next start. Rows before the second start
    of which nothing was known keep their scores.
    """
    calibrated = np.asarray(scores, dtype=np.float64).copy()
    for number, start in enumerate(starts_us):
        end = starts_us[number + 1] if number + 1 < len(starts_us) else np.inf
        now = (times_us >= start) & (times_us < end)
        known = times_us + horizon_us <= start
        if now.any() and known.any():
            part = None if weights is None else weights[known]
            curve = fit_curve(scores[known], labels[known], jobs[known], part)
            calibrated[now] = curve.apply(scores[now])
    return calibrated


def wins_later(
    scores: Floats,
    labels: Labels,
    jobs: Ints,
    times_us: Ints,
    windows: Ints,
    horizon_us: int,
    weights: Floats,
) -> bool:
    """Say whether a curve fitted on the past has the better Brier score in most later windows.

    At each window's start a curve is fitted on what was settled by then; the first window has none.
    """
    numbers = np.unique(windows)
    starts = [int(times_us[windows == number].min()) for number in numbers]
    curved = recalibrate(scores, labels, jobs, times_us, starts, horizon_us, weights)
    later = [windows == number for number in numbers[1:]]
    won = [
        brier(labels[now], curved[now], weights[now])
        < brier(labels[now], scores[now], weights[now])
        for now in later
    ]
    return 2 * sum(won) > len(won)
