"""Names of measured values on every screen: one word for one number."""

from __future__ import annotations

from schemas.observation import UNHEALTHY_PODS

_NAMES = {"sla_violations": UNHEALTHY_PODS}


def measure_name(name: str) -> str:
    """Return a field's name as people read it, without its unit: `risk_ratio` reads `risk`."""
    return _NAMES.get(name, name.removesuffix("_ratio").replace("_", " "))
