"""Layer 6, where no untouched world exists: what acting changes, estimated from random blocks of time."""

from __future__ import annotations

from typing import ClassVar, Literal

from schemas.figures import duration, percent, signed_text
from schemas.model import DataModel, EventData
from schemas.numbers import Count, Cycle, Ratio, Rounded, Seconds
from schemas.wording import count_text


class SwitchbackPair(DataModel):
    """Two blocks that follow one another; each unit acts in one of them."""

    first_block: Count
    """Number of the first block, counted from the Unix epoch of cluster time."""
    first_money_per_hour: Rounded
    """Outcome score of the first block after its wash-out."""
    second_money_per_hour: Rounded
    first_seconds: Seconds
    """Cluster time that was scored of it."""
    second_seconds: Seconds
    acting_first: tuple[str, ...]
    """Units that act in the first block, the others in the second: namespaces, and empty for the cluster."""
    counts: bool
    """Whether enough of both blocks was scored."""


class OutcomeSwitchback(EventData):
    """The estimate of always acting minus never acting after one more pair of blocks."""

    TYPE: ClassVar[str] = "foresail.outcome.switchback.v1"
    WRITER: ClassVar[str] = "scoreboard"
    PATTERN: ClassVar[tuple[str, ...]] = ("outcome", "switchback")

    cycle: Cycle
    """Cycle of the first observation after the pair."""
    cluster_time_seconds: Seconds
    unit: Literal["time", "namespace"]
    """Unit that acts or holds by a schedule of its own."""
    seed: Count
    block_seconds: Seconds
    wash_out_seconds: Seconds
    """Cluster time at the beginning of each block that does not count."""
    currency: str
    pair: SwitchbackPair
    """The newest."""
    pairs: Count
    """Pairs that count, since the estimate began."""
    pairs_left_out: Count
    """Pairs of which too little was scored."""
    executions: Count
    """Executions that really wrote, since the estimate began."""
    held: Count
    """Decisions that were not executed because their block does not act."""
    effect_money_per_hour: Rounded | None
    """Above 0: acting helps. None before the first pair that counts."""
    low_money_per_hour: Rounded | None
    """Lower limit of the interval; None before there are two pairs."""
    high_money_per_hour: Rounded | None
    confidence_ratio: Ratio
    """With which such intervals contain the effect."""

    def line(self) -> str:
        """Return what acting changes by the estimate, and what it rests on."""
        return f"cycle {self.cycle}: acting {switchback_text(self)}"


def switchback_text(estimate: OutcomeSwitchback) -> str:
    """Return what acting changes by the estimate, and what it rests on."""
    left_out = f", {estimate.pairs_left_out} left out" if estimate.pairs_left_out else ""
    rests = (
        f"{count_text(estimate.pairs, 'pair')} of {duration(estimate.block_seconds)} blocks{left_out}, "
        f"{count_text(estimate.executions, 'execution')}, {count_text(estimate.held, 'decision')} held"
    )
    effect, low, high = (
        estimate.effect_money_per_hour,
        estimate.low_money_per_hour,
        estimate.high_money_per_hour,
    )
    if effect is None:
        return f"is not judged yet ({rests})"
    money = f"{signed_text(effect)} {estimate.currency}/h"
    if low is None or high is None:
        return f"changes {money}, without an interval yet ({rests})"
    interval = (
        f"{percent(estimate.confidence_ratio)} interval {signed_text(low)} to {signed_text(high)}"
    )
    return f"{verdict(low, high)}: it changes {money}, {interval} ({rests})"


def verdict(low: float, high: float) -> str:
    """Return what an interval says of acting, in a word or a few."""
    if low > 0:
        return "helps"
    return "harms" if high < 0 else "makes no difference that shows"
