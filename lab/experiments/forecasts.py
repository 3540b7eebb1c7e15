"""How much better an arm's predicted risks were than a constant, from the scores in its own log."""

from __future__ import annotations

import math

from schemas.outcome import OutcomeForecast


class ForecastSkill:
    """Adds up the scores of the active models' risks."""

    def __init__(self, begins_at: float) -> None:
        """Count scores given at or after `begins_at`, unix seconds of cluster time."""
        self._begins_at = begins_at
        self._targets = self._positives = 0
        self._errors: list[float] = []

    def take(self, outcome: OutcomeForecast) -> None:
        """Take the next score of the log; shadow models do not count."""
        score = outcome.risk
        if outcome.slot or score is None or score.brier is None:
            return
        if outcome.cluster_time_seconds >= self._begins_at:
            self._targets += score.targets
            self._positives += score.positives
            self._errors.append(score.brier * score.targets)

    def metrics(self) -> dict[str, float]:
        """Return 1 - Brier / Brier of the best constant, which knows in hindsight how often nodes failed.

        1 is perfect, 0 as good as the constant. Empty where nothing was predicted, or all targets came out alike
        (Murphy (1973), Hedging and Skill Scores for Probability Forecasts, Journal of Applied Meteorology 12).
        """
        if not self._targets:
            return {}
        rate = self._positives / self._targets
        constant = rate * (1.0 - rate)
        if constant <= 0.0:
            return {}
        return {"forecast_skill": 1.0 - math.fsum(self._errors) / self._targets / constant}
