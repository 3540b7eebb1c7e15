"""How far off bands were, as sums: was what came within, and did it cost less than the simple rule?

The simple rule is that the newest step stays. It gets a band, too, made of what it erred by at the same horizon on the
newest targets: without one, any band would look better than it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from schemas.band_score import BandScore
from schemas.model import DataModel
from schemas.numbers import Count, Rounded, rounded
from schemas.prediction import BandTable

LEVELS = (0.1, 0.5, 0.9)
ALL_LEVELS = (0.05, 0.1, 0.5, 0.9, 0.95)
KEPT_ERRORS = 240
FEWEST_ERRORS = 20
SMALLEST_SHARE = 0.05
"""The root is taken of at least this share of what came, so that a rise from nothing is no endless error."""


class BandSums(DataModel):
    """Sums over scored targets; see `schemas.band_score.BandScore`."""

    targets: Count = 0
    inside: Count = 0
    error_sum: Rounded = 0.0
    last_value_error_sum: Rounded = 0.0
    outermost: Count = 0
    inside_outermost: Count = 0
    compared: Count = 0
    loss_sum: Rounded = 0.0
    last_value_loss_sum: Rounded = 0.0

    def plus(self, other: BandSums) -> BandSums:
        """Return both together."""
        return BandSums(
            **{name: getattr(self, name) + getattr(other, name) for name in BandSums.model_fields}
        )

    def score(self) -> BandScore:
        """Return the sums as they are published; at least one target was scored."""
        compared = self.compared
        return BandScore(
            targets=self.targets,
            inside=self.inside,
            error_ratio=self.error_sum / self.targets,
            last_value_error_ratio=self.last_value_error_sum / self.targets,
            outermost=self.outermost,
            inside_outermost=self.inside_outermost,
            compared=compared,
            loss_ratio=self.loss_sum / compared if compared else None,
            last_value_loss_ratio=self.last_value_loss_sum / compared if compared else None,
        )


def band_sums(table: BandTable, row: int, came: float, errors: Sequence[float]) -> BandSums:
    """Return one target's sums.

    Args:
        table: the bands.
        row: of the target's series.
        came: its mean over the step that was foreseen.
        errors: the simple rule's errors so far, as `simple_error` gives them.
    """
    middle, newest = table.middle[row], table.newest[row]
    outer = bool(table.lowest)
    ends = (table.low[row], middle, table.high[row])
    quantiles = (table.lowest[row], *ends, table.highest[row]) if outer else ends
    levels = ALL_LEVELS if outer else LEVELS
    simple = simple_quantiles(newest, errors, levels)
    scale, size = max(middle, newest), max(came, newest)
    compares = bool(simple) and size > 0.0
    return BandSums(
        targets=1,
        inside=table.low[row] <= came <= table.high[row],
        error_sum=abs(came - middle) / scale if scale > 0.0 else 0.0,
        last_value_error_sum=abs(came - newest) / scale if scale > 0.0 else 0.0,
        outermost=outer,
        inside_outermost=outer and table.lowest[row] <= came <= table.highest[row],
        compared=compares,
        loss_sum=2.0 * pinball(quantiles, came, levels) / size if compares else 0.0,
        last_value_loss_sum=2.0 * pinball(simple, came, levels) / size if compares else 0.0,
    )


def pinball(quantiles: Sequence[float], came: float, levels: Sequence[float]) -> float:
    """Return the pinball loss, mean over the quantiles."""
    losses = (
        max(level * (came - said), (level - 1.0) * (came - said))
        for level, said in zip(levels, quantiles, strict=True)
    )
    return math.fsum(losses) / len(levels)


def simple_error(newest: float, came: float) -> float:
    """Return what the simple rule erred by, in roots of its value, as `features.demand.rules` measures errors."""
    root = math.sqrt(max(newest, SMALLEST_SHARE * came))
    return rounded((came - newest) / root) if root > 0.0 else 0.0


def simple_quantiles(
    newest: float, errors: Sequence[float], levels: Sequence[float]
) -> tuple[float, ...]:
    """Return the simple rule's quantiles, with the ranks of split conformal prediction; none by too few errors."""
    if len(errors) < FEWEST_ERRORS:
        return ()
    ordered, root = sorted(errors), math.sqrt(newest)
    last = len(ordered) - 1
    ranks = (min(max((len(ordered) + 1) * level - 1.0, 0.0), float(last)) for level in levels)
    return tuple(max(0.0, newest + root * _at_rank(ordered, rank)) for rank in ranks)


def _at_rank(ordered: Sequence[float], rank: float) -> float:
    low = math.floor(rank)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (rank - low) * (ordered[high] - ordered[low])
