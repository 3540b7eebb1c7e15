"""What is wrong at this moment: nodes that are slow or have a wrong clock, images that cannot be
pulled, metrics that are missing or old.

Scenarios write it, behaviours read it; in a cluster where nothing is wrong each question is one
look into an empty container. Several at once: the slowest speed counts, and skews are added.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from math import fsum
from typing import Literal

from twin.part import Part

Topic = Literal["speed", "skew", "image", "metrics gap", "metrics stale", "metrics down"]
UNREACHABLE_HOST = ".invalid"
"""A registry below this top-level domain never answers (RFC 6761)."""


class Impairments(Part):
    """Everything that is wrong now, by the number of the fault that made it so."""

    KEEPS = (
        "_active",
        "_images",
        "speed_ratio",
        "skew_seconds",
        "unscraped",
        "stale",
        "no_metrics",
    )

    def __init__(self) -> None:
        self._active: dict[int, tuple[str, tuple[str, ...], float, tuple[str, ...]]] = {}
        self._images: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = ()
        self.speed_ratio: dict[str, float] = {}
        """What is left of a node's speed; absent: all of it."""
        self.skew_seconds: dict[str, float] = {}
        """How far a node's clock is ahead; absent: it is right."""
        self.unscraped: frozenset[str] = frozenset()
        """Nodes that Metrics Server does not reach."""
        self.stale: frozenset[str] = frozenset()
        """Nodes whose metrics stay as they are."""
        self.no_metrics = False
        """Whether Metrics Server does not answer at all."""

    def begin(
        self,
        number: int,
        topic: Topic,
        nodes: tuple[str, ...] = (),
        amount: float = 0.0,
        patterns: tuple[str, ...] = (),
    ) -> None:
        """Make something wrong until `end(number)`."""
        self._active[number] = (topic, nodes, amount, patterns)
        self._sum_up()

    def end(self, number: int) -> None:
        """Make it right again; nothing happens for an unknown number."""
        if self._active.pop(number, None) is not None:
            self._sum_up()

    def unpullable(self, image: str, node: str) -> bool:
        """Say whether an image cannot be pulled on a node now."""
        host = image.partition("/")[0].partition(":")[0]
        if host.endswith(UNREACHABLE_HOST) and "/" in image:
            return True
        return any(
            node in nodes and any(fnmatchcase(image, pattern) for pattern in patterns)
            for nodes, patterns in self._images
        )

    def _sum_up(self) -> None:
        active = [self._active[number] for number in sorted(self._active)]
        self.speed_ratio = {node: min(values) for node, values in _by_node(active, "speed").items()}
        self.skew_seconds = {
            node: fsum(values) for node, values in _by_node(active, "skew").items()
        }
        self._images = tuple(
            (nodes, patterns) for topic, nodes, _, patterns in active if topic == "image"
        )
        self.unscraped = frozenset(_by_node(active, "metrics gap"))
        self.stale = frozenset(_by_node(active, "metrics stale"))
        self.no_metrics = any(topic == "metrics down" for topic, *_ in active)


def _by_node(
    active: list[tuple[str, tuple[str, ...], float, tuple[str, ...]]], wanted: Topic
) -> dict[str, list[float]]:
    amounts: dict[str, list[float]] = {}
    for topic, nodes, amount, _ in active:
        if topic == wanted:
            for node in nodes:
                amounts.setdefault(node, []).append(amount)
    return amounts
