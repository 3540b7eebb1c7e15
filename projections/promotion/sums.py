"""Memory of scored predictions: sums by block of time and group of nodes."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from projections.promotion.settings import PromotionSettings
from schemas.model import DataModel
from schemas.numbers import Count, Rounded, Seconds, rounded

GROUPS = 16
"""Groups of nodes, by a hash of their names: enough to see how much a few nodes decide, few enough to remember."""


@dataclass(frozen=True, slots=True)
class ScoredTarget:
    """A prediction of one node whose horizon has passed."""

    name: str
    ratio: float
    """Predicted probability."""
    failed: bool
    alarm: bool
    """At or above the lowest action threshold."""
    weight: float = 1.0
    """1 over the propensity to be left untouched, for a node that was left on purpose; 1 for others."""


class GroupSums(DataModel):
    """Sums over the predictions of one group of nodes in one block; weighted but for the counts."""

    group: Count
    targets: Count = 0
    positives: Count = 0
    left: Count = 0
    alarms: Count = 0
    hits: Count = 0
    weight: Rounded = 0.0
    failed: Rounded = 0.0
    expected: Rounded = 0.0
    squares: Rounded = 0.0
    """Squared differences of probability and outcome."""
    alarmed: Rounded = 0.0
    hit: Rounded = 0.0

    def plus(self, one: ScoredTarget) -> GroupSums:
        """Return the sums with one more prediction."""
        weight, outcome = one.weight, 1.0 if one.failed else 0.0
        hit = one.alarm and one.failed
        return GroupSums.model_construct(
            group=self.group,
            targets=self.targets + 1,
            positives=self.positives + one.failed,
            left=self.left + (weight > 1.0),
            alarms=self.alarms + one.alarm,
            hits=self.hits + hit,
            weight=rounded(self.weight + weight),
            failed=rounded(self.failed + weight * outcome),
            expected=rounded(self.expected + weight * one.ratio),
            squares=rounded(self.squares + weight * (one.ratio - outcome) ** 2),
            alarmed=rounded(self.alarmed + weight * one.alarm),
            hit=rounded(self.hit + weight * hit),
        )


class BlockSums(DataModel):
    """Sums over one block of time, by group of nodes."""

    number: Count
    """Cluster time of the predictions over the length of a block."""
    groups: tuple[GroupSums, ...] = ()
    unseen: Count = 0

    def plus(self, scored: Iterable[ScoredTarget], unseen: int) -> BlockSums:
        """Return the sums with more predictions."""
        by_group = {one.group: one for one in self.groups}
        for target in scored:
            group = group_of(target.name)
            by_group[group] = by_group.get(group, GroupSums(group=group)).plus(target)
        groups = tuple(by_group[group] for group in sorted(by_group))
        return BlockSums.model_construct(
            number=self.number, groups=groups, unseen=self.unseen + unseen
        )


class ModelSums(DataModel):
    """Sums of one model's predictions within the window."""

    slot: Count
    model_id: str
    blocks: tuple[BlockSums, ...] = ()
    """Oldest first."""

    def plus(
        self,
        time_seconds: Seconds,
        scored: Iterable[ScoredTarget],
        unseen: int,
        settings: PromotionSettings,
    ) -> ModelSums:
        """Return the sums with the scored predictions of one cycle.

        Args:
            time_seconds: cluster time of the prediction.
            scored: its targets whose outcome is known.
            unseen: how many others there were.
            settings: length of blocks.
        """
        number = int(time_seconds // settings.block_seconds)
        before = next((one for one in self.blocks if one.number == number), None)
        block = (before or BlockSums(number=number)).plus(scored, unseen)
        others = (one for one in self.blocks if one.number != number)
        blocks = tuple(sorted((*others, block), key=lambda one: one.number))
        return self.model_copy(update={"blocks": blocks})

    @property
    def every(self) -> Iterator[GroupSums]:
        """The sums of each group of nodes in each block."""
        return (one for block in self.blocks for one in block.groups)

    @property
    def counts(self) -> GroupSums:
        """The sums of everything; its group says nothing."""
        fields = [name for name in GroupSums.model_fields if name != "group"]
        rows = list(self.every)
        sums = {name: math.fsum(getattr(one, name) for one in rows) for name in fields}
        return GroupSums(group=0, **sums)

    def within(self, now_seconds: Seconds, settings: PromotionSettings) -> ModelSums:
        """Return the sums without the blocks that began before the window."""
        oldest = (now_seconds - settings.window_seconds) / settings.block_seconds
        kept = tuple(one for one in self.blocks if one.number >= math.floor(oldest))
        return self if len(kept) == len(self.blocks) else self.model_copy(update={"blocks": kept})


@lru_cache(maxsize=10_000)
def group_of(name: str) -> int:
    """Return the group of a node."""
    return hashlib.sha256(name.encode()).digest()[0] % GROUPS
