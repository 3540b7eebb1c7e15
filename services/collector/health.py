"""For how long failures count."""

from __future__ import annotations

from dataclasses import dataclass

from services.collector.settings import CollectorSettings


@dataclass(frozen=True, slots=True)
class HealthTimes:
    """How long what looks like a failure is none, or one no more, in cluster seconds."""

    restart_seconds: float
    """For how long a restart counts."""
    start_seconds: float
    """For how long a pod may start."""


def health_times(settings: CollectorSettings) -> HealthTimes | None:
    """Return for how long failures count; None by the baseline's rule."""
    if settings.health == "baseline":
        return None
    return HealthTimes(settings.restart_seconds, settings.start_seconds)
