"""Measures of how jobs fared."""

from __future__ import annotations

SHORT_SECONDS = 10.0
"""Shorter jobs count as so long in bounded slowdown, as everywhere since Feitelson."""


def bounded_slowdown(wait_seconds: float, running_seconds: float) -> float:
    """Return max(1, (wait + running) / max(running, 10 s))."""
    return max(1.0, (wait_seconds + running_seconds) / max(running_seconds, SHORT_SECONDS))
