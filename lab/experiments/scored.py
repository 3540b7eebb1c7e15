"""The outcome score of a trial's counted time, from the score events of its own log."""

from __future__ import annotations

from schemas.score import OutcomeScore

_HOUR = 3_600.0


class ScoredTime:
    """Keeps what the score was when counting began, and what it is now."""

    def __init__(self, begins_at: float) -> None:
        """Count from the first score at or after `begins_at`, unix seconds of cluster time."""
        self._begins_at = begins_at
        self._first: OutcomeScore | None = None
        self._last: OutcomeScore | None = None

    def take(self, score: OutcomeScore) -> None:
        """Take the next score of the log."""
        if score.cluster_time_seconds >= self._begins_at:
            self._first = self._first or score
            self._last = score

    def per_hour(self) -> tuple[float | None, dict[str, float]]:
        """Return money per hour, in all and by component; None before two scores were counted."""
        first, last = self._first, self._last
        if first is None or last is None or last is first:
            return None, {}
        hours = (last.cluster_time_seconds - first.cluster_time_seconds) / _HOUR
        before = {component.name: component.total_money for component in first.components}
        components = {
            component.name: (component.total_money - before.get(component.name, 0.0)) / hours
            for component in last.components
        }
        return (last.total_money - first.total_money) / hours, components
