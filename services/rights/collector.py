"""Rights of the collector at the API server: read."""

from __future__ import annotations

from typing import Protocol

from services.prometheus_settings import PrometheusSettings
from services.rights import Right

_FOLLOWED = (
    ("", "nodes"),
    ("", "pods"),
    ("apps", "deployments"),
    ("apps", "statefulsets"),
    ("batch", "jobs"),
    ("autoscaling", "horizontalpodautoscalers"),
    ("policy", "poddisruptionbudgets"),
)
RIGHTS: tuple[Right, ...] = (
    *(
        Right(verb, resource, group, why="followed by a watch")
        for group, resource in _FOLLOWED
        for verb in ("list", "watch")
    ),
    Right("list", "nodes", "metrics.k8s.io", why="what nodes use"),
    Right("list", "pods", "metrics.k8s.io", why="what workloads use"),
)
"""Everything that it asks a cluster of your own for."""
SIMULATED_RIGHTS = tuple(
    Right(verb, "services", why="whose requests the simulated cluster counts")
    for verb in ("list", "watch")
)
"""What it asks the simulated cluster for, besides; and `/metrics`, which is no resource."""


class MetricsSettings(Protocol):
    """The collector's settings, as far as they decide about rights."""

    @property
    def prometheus(self) -> PrometheusSettings:
        """Who has metrics, if not the API server."""
        ...


def required_rights(_asked: str, settings: MetricsSettings) -> tuple[Right, ...]:
    """Return what it needs at its start: metrics of the API server only where no Prometheus has them."""
    by_prometheus = bool(settings.prometheus.url)
    return tuple(one for one in RIGHTS if not (by_prometheus and one.group == "metrics.k8s.io"))
