"""Names of measured values on every screen: one word for one number."""

from __future__ import annotations

UNHEALTHY_PODS = "unhealthy pods"
"""`sla_violations` of an observation counts pods that are Failed, Pending, Unknown or not ready. A Service that misses
its objective is another number, which agents name as that."""
_NAMES = {"sla_violations": UNHEALTHY_PODS}


def measure_name(name: str) -> str:
    """Return a field's name as people read it, without its unit: `risk_ratio` reads `risk`."""
    return _NAMES.get(name, name.removesuffix("_ratio").replace("_", " "))
