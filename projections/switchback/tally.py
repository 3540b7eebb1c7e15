"""The estimate of a switchback: always acting minus never acting, as money per hour, with its interval.

Two blocks that follow one another are a pair, and each unit acts in one of the two, by a coin. A pair's
contribution is the difference of its blocks' scores times the sum of the units' signs (+1 where the unit acts in
the first block), which for one unit is the score when acting minus the score when not. Its expectation over the
coins is the effect of acting on every unit (Horvitz and Thompson, 1952), where the effects of units add up.
The variance is that of independent pairs, conservative where the effect changes over time (Imai, 2008).
docs/switchback.md has the reasons.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from projections.quantiles import student_quantile
from projections.switchback.schedule import SwitchbackSettings, acts_first
from schemas.model import DataModel
from schemas.numbers import Count

CONFIDENCE = 0.95
LEAST_COVERED = 0.5
"""Share of a block's time after the wash-out that must have been scored for the block to count."""
LEAST_PAIRS = 2
"""One difference has no spread."""
_HOUR = 3_600.0


class BlockScore(DataModel):
    """Score of one block after its wash-out."""

    money: float = 0.0
    seconds: float = 0.0

    @property
    def per_hour(self) -> float:
        """Money per hour; 0 of a block that was not scored."""
        return self.money * _HOUR / self.seconds if self.seconds else 0.0


class SwitchbackTally(DataModel):
    """The open pair, and what the closed ones add up to."""

    pair: int | None = None
    """Number of the open pair: that of its first block, halved."""
    blocks: tuple[BlockScore, BlockScore] = (BlockScore(), BlockScore())
    used: Count = 0
    """Closed pairs that count."""
    left_out: Count = 0
    """Closed pairs of which too little was scored."""
    mean: float = 0.0
    """Mean contribution of the used pairs, money per hour."""
    squares: float = 0.0
    """Sum of squared distances from that mean."""


@dataclass(frozen=True, slots=True)
class ClosedPair:
    """Two blocks that are over."""

    number: int
    first: BlockScore
    second: BlockScore
    counts: bool
    """Whether enough of both was scored."""
    acting_first: tuple[str, ...]
    """Units that acted in the first block; the others did in the second."""


@dataclass(frozen=True, slots=True)
class SwitchbackEffect:
    """An estimate of always acting minus never acting, money per hour."""

    per_hour: float
    low: float | None
    """Limits of the interval; None while there are too few pairs."""
    high: float | None


def add_step(
    tally: SwitchbackTally,
    begin_seconds: float,
    end_seconds: float,
    money: float,
    settings: SwitchbackSettings,
) -> tuple[SwitchbackTally, ClosedPair | None]:
    """Return the tally after one step of the score, and the pair that was over before it ended.

    A step counts for the block in which it lies wholly, behind the wash-out.

    Args:
        tally: of the steps before.
        begin_seconds: unix seconds of cluster time at which the step begins.
        end_seconds: at which it ends.
        money: what it was worth.
        settings: the schedule.
    """
    block = settings.block_at(begin_seconds)
    over = tally.pair is not None and end_seconds > settings.end_of(2 * tally.pair + 1)
    closed = None
    if over:
        tally, closed = _close(tally, settings)
    counted_from = block * settings.block_seconds + settings.wash_out_seconds
    inside = counted_from <= begin_seconds < end_seconds <= settings.end_of(block)
    if not inside:
        return tally, closed
    if tally.pair != block // 2:
        tally = tally.model_copy(
            update={"pair": block // 2, "blocks": (BlockScore(), BlockScore())}
        )
    first, second = (
        BlockScore(money=score.money + money, seconds=score.seconds + (end_seconds - begin_seconds))
        if place == block % 2
        else score
        for place, score in enumerate(tally.blocks)
    )
    return tally.model_copy(update={"blocks": (first, second)}), closed


def _close(
    tally: SwitchbackTally, settings: SwitchbackSettings
) -> tuple[SwitchbackTally, ClosedPair]:
    assert tally.pair is not None
    first, second = tally.blocks
    least = LEAST_COVERED * (settings.block_seconds - settings.wash_out_seconds)
    counts = min(first.seconds, second.seconds) >= least
    acting = tuple(unit for unit in settings.units if acts_first(settings.seed, tally.pair, unit))
    closed = ClosedPair(tally.pair, first, second, counts, acting)
    after = tally.model_copy(update={"pair": None, "blocks": (BlockScore(), BlockScore())})
    if not counts:
        return after.model_copy(update={"left_out": tally.left_out + 1}), closed
    contribution = contribution_of(closed, len(settings.units))
    used = tally.used + 1
    distance = contribution - tally.mean
    mean = tally.mean + distance / used  # Welford (1962): one pass, without cancellation
    squares = tally.squares + distance * (contribution - mean)
    return after.model_copy(update={"used": used, "mean": mean, "squares": squares}), closed


def contribution_of(pair: ClosedPair, units: int) -> float:
    """Return a pair's estimate of acting on all of so many units minus acting on none, money per hour."""
    signs = 2 * len(pair.acting_first) - units
    return (pair.first.per_hour - pair.second.per_hour) * signs


def effect_of(tally: SwitchbackTally) -> SwitchbackEffect | None:
    """Return the estimate of the pairs so far; None before the first."""
    if not tally.used:
        return None
    if tally.used < LEAST_PAIRS:
        return SwitchbackEffect(tally.mean, None, None)
    freedom = tally.used - 1
    error = math.sqrt(tally.squares / freedom / tally.used)
    reach = student_quantile((1.0 + CONFIDENCE) / 2.0, freedom) * error
    return SwitchbackEffect(tally.mean, tally.mean - reach, tally.mean + reach)
