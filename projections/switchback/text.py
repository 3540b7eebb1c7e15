"""A switchback's blocks and its estimate, as lines for people."""

from __future__ import annotations

from collections.abc import Sequence

from projections.figures import duration, percent, signed_text
from projections.switchback.schedule import CLUSTER, SwitchbackSettings
from projections.times import cluster_time
from schemas.switchback import OutcomeSwitchback
from schemas.wording import count_text

SWITCHBACK_HINT = "Whether acting would help here, `--mode active --switchback time` measures (docs/switchback.md)."
"""What stands where shadow mode is: it cannot say what its writes would have changed."""


def held_text(settings: SwitchbackSettings, block: int, held: Sequence[str]) -> str:
    """Return why nothing is done in a block, and until when."""
    until = f"until {cluster_time(settings.end_of(block))}"
    if settings.unit != "namespace":
        return f"held: switchback block {block} does not act ({until})"
    names = ", ".join(unit_text(unit) for unit in held)
    return f"held: switchback block {block} does not act on {names} ({until})"


def acting_text(block: int) -> str:
    """Return that a block acts."""
    return f"switchback block {block} acts"


def unit_text(unit: str) -> str:
    """Return what a unit is."""
    return "nodes and other namespaces" if unit == CLUSTER else f"namespace {unit}"


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
