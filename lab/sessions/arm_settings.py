"""Settings of a job as those of an arm, which knows `group.field`, its value a table where an agent has thresholds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

LEVELS = 3
"""Parts of the name of an agent's threshold, such as `agents.safety.replicate_risk_ratio`."""


def arm_settings(given: Mapping[str, Any], base: Mapping[str, Any]) -> dict[str, Any]:
    """Return an arm's settings: those of `base`, with what is given instead, thresholds gathered by agent."""
    settings = dict(base)
    for name, value in given.items():
        parts = name.split(".", LEVELS - 1)
        if len(parts) < LEVELS:
            settings[name] = value
            continue
        group = ".".join(parts[:-1])
        earlier = settings.get(group)
        settings[group] = {**(earlier if isinstance(earlier, Mapping) else {}), parts[-1]: value}
    return settings
