"""The feature sets: which columns a model may be trained on, what they mean, in which unit.

`full` is for traces, where tasks, logical job names, job events, priorities and classes exist.
`live` is what also exists in a running cluster: job = workload, user = namespace, machine = node.
`hazard` is for attempts of every age, in traces and live: fewer columns, and such as compare ages with
earlier durations. All leave out ids, absolute times and ages or absolute counts of the whole cell.

A set's version changes whenever a column's meaning does; a model names the version that it knows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from features.history.blocks import FULL_BLOCKS, HAZARD_BLOCKS, LIVE_BLOCKS, MINUTE_US, Block
from features.history.feature import Feature
from features.history.own import FULL_OWN, HAZARD_OWN, LIVE_OWN, OWN
from features.history.ratios import RATIOS


@dataclass(frozen=True, slots=True)
class FeatureSet:
    """Columns in their order: the row's own, then one block per key."""

    name: str
    version: int
    own: tuple[str, ...]
    blocks: tuple[Block, ...]
    ratios: tuple[str, ...] = ()
    """Columns made of the others."""

    @property
    def features(self) -> tuple[Feature, ...]:
        """Return every column."""
        own = tuple(OWN[name].feature(name) for name in self.own)
        counted = tuple(feature for block in self.blocks for feature in block.features())
        return own + counted + tuple(RATIOS[name].feature(name) for name in self.ratios)

    @property
    def names(self) -> tuple[str, ...]:
        """Return every column's name."""
        return tuple(feature.name for feature in self.features)

    @property
    def keys(self) -> tuple[str, ...]:
        """Return the keys that are counted under, those that others build on first."""
        needed = {"job", "machine"} | {block.key for block in self.blocks}
        first = [key for key in ("task", "job") if key in needed]
        return (*first, *sorted(needed - set(first)))

    def window_us(self, of_jobs: bool) -> int:
        """Return how far columns look back over events of whole jobs, or of tasks."""
        minutes = [
            max(block.windows, default=0)
            for block in self.blocks
            if block.key.endswith("_jobs") == of_jobs
        ]
        return max(minutes, default=0) * MINUTE_US


FEATURE_SETS: Mapping[str, FeatureSet] = {
    feature_set.name: feature_set
    for feature_set in (
        FeatureSet("full", 2, FULL_OWN, FULL_BLOCKS),
        FeatureSet("live", 1, LIVE_OWN, LIVE_BLOCKS),
        FeatureSet("hazard", 1, HAZARD_OWN, HAZARD_BLOCKS, tuple(RATIOS)),
    )
}
