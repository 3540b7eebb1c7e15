"""Metrics that stay as they were, with their old time stamps, while a fault lasts."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from twin.part import Part

Sample = tuple[float, float]
"""(millicores, bytes)"""


class StaleMetrics(Part):
    """The last good numbers of nodes whose metrics are stale, and of the pods on them."""

    KEEPS = ("_kept",)

    def __init__(self) -> None:
        self._kept: dict[str, tuple[float, Sample, dict[str, Sample]]] = {}

    def hold(
        self,
        stale: Iterable[str],
        scraped_at: float,
        node_sample: Callable[[str], Sample],
        pod_samples: Callable[[str], dict[str, Sample]],
    ) -> None:
        """Keep what the newest scrape says of nodes that are stale now; let go of the others."""
        names = sorted(stale)
        self._kept = {
            name: self._kept.get(name) or (scraped_at, node_sample(name), pod_samples(name))
            for name in names
        }

    def __bool__(self) -> bool:
        return bool(self._kept)

    def node(self, name: str) -> tuple[float, Sample] | None:
        """Return (unix seconds, sample) of a stale node; None when it is not stale."""
        kept_sample = self._kept.get(name)
        return None if kept_sample is None else kept_sample[:2]

    def pod(self, node: str, uid: str) -> tuple[float, Sample | None] | None:
        """Return (unix seconds, sample) of a pod on a stale node; None when that is not stale."""
        kept_sample = self._kept.get(node)
        return None if kept_sample is None else (kept_sample[0], kept_sample[2].get(uid))
