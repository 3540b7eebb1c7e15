"""ImageLocality: nodes that have the pod's images score higher, the more so the larger they are.

Upstream: pkg/scheduler/framework/plugins/imagelocality/image_locality.go. An image counts with its
size times the share of the nodes that have it; the sum over the containers is scaled from 23 MiB
(0 points) to 1,000 MiB a container (100 points).
"""

from __future__ import annotations

import numpy as np

from twin.changes import Change
from twin.needs import normalize_image_name
from twin.part import Part
from twin.records import NodeRecord
from twin.scheduling.node_table import Ints, NodeTable
from twin.world import World

_MIB = 2**20
_LEAST_BYTES = 23 * _MIB
_MOST_BYTES = 1_000 * _MIB
_KEPT = 512


class ImageLocality(Part):
    """Which images are on which node, followed change by change, and the scores kept of them."""

    LEAVES = ("_versions", "_shown", "_sizes", "_scores")

    def __init__(self, world: World, nodes: NodeTable) -> None:
        self._world = world
        self._nodes = nodes
        self._forget()

    def _forget(self) -> None:
        self._versions: dict[str, int] = {}  # by image, raised when a node gains or loses it
        self._shown: list[tuple[tuple[str, int], ...]] = []  # by node row
        self._sizes: dict[str, dict[int, int]] = {}  # image: node row: bytes
        self._scores: dict[tuple[str, ...], tuple[object, Ints | None]] = {}

    def restored(self) -> None:
        """Read all nodes again."""
        self._forget()
        for row, name in enumerate(self._nodes.names):
            node = self._world.node(name)
            self._show(row, () if node is None else node.images)

    def follow(self, change: Change) -> None:
        """Take in one change of a node, after the node table has seen it."""
        node = change.record
        if isinstance(node, NodeRecord):
            images = () if change.type == "DELETED" else node.images
            self._show(self._nodes.row_of[node.name], images)

    def scores(self, images: tuple[str, ...]) -> Ints | None:
        """Return 0 to 100 by node row; None when all nodes score alike."""
        count = self._nodes.count
        versions = self._versions
        stamp = (count, self._nodes.existing, *(versions.get(image, 0) for image in images))
        known = self._scores.get(images)
        if known is not None and known[0] == stamp:
            return known[1]
        if known is None and len(self._scores) >= _KEPT:
            self._scores.clear()
        scores = self._compute(images, count)
        existing = scores[self._nodes.present[:count]]
        answer = scores if len(existing) and existing.min() != existing.max() else None
        self._scores[images] = (stamp, answer)
        return answer

    def _show(self, row: int, images: tuple[tuple[str, int], ...]) -> None:
        while len(self._shown) <= row:
            self._shown.append(())
        before = self._shown[row]
        if before is images or before == images:
            return
        self._shown[row] = images
        for name, _ in before:
            image = normalize_image_name(name)
            self._sizes[image].pop(row, None)
            self._versions[image] += 1
        for name, size in images:
            image = normalize_image_name(name)
            self._sizes.setdefault(image, {})[row] = size
            self._versions[image] = self._versions.get(image, 0) + 1

    def _compute(self, images: tuple[str, ...], count: int) -> Ints:
        total = self._nodes.existing
        sums = np.zeros(count, np.int64)
        for image in images:
            shown = self._sizes.get(image, {})
            share = len(shown) / max(1, total)
            sizes = np.fromiter(shown.values(), np.int64, len(shown)) * share
            sums[np.fromiter(shown, np.int64, len(shown))] += sizes.astype(np.int64)
        most = _MOST_BYTES * max(1, len(images))
        return (np.clip(sums, _LEAST_BYTES, most) - _LEAST_BYTES) * 100 // (most - _LEAST_BYTES)
