"""How bands of demand did: part of `schemas.outcome.OutcomeForecast`."""

from __future__ import annotations

from pydantic import Field

from schemas.figures import duration, number, percent, signed_score
from schemas.model import DataModel
from schemas.numbers import Count, Rounded


class BandScore(DataModel):
    """How bands of demand did at one horizon; errors are shares of the newest minute or step that was known, or of the
    middle where that is larger.
    """

    targets: Count
    """Series whose demand of that minute or step was seen."""
    inside: Count
    """Those of them within their band; eight of ten are meant."""
    error_ratio: Rounded
    """Mean absolute error of the middle."""
    last_value_error_ratio: Rounded
    """The same of the simple rule: the newest minute or step stays."""
    outermost: Count = Field(default=0, exclude_if=lambda count: not count)
    """Targets whose band has outermost quantiles, too,"""
    inside_outermost: Count = Field(default=0, exclude_if=lambda count: not count)
    """and those of them within these; nine of ten are meant."""
    compared: Count = Field(default=0, exclude_if=lambda count: not count)
    """Targets in the two losses: those for which the simple rule has a band, too."""
    loss_ratio: Rounded | None = Field(default=None, exclude_if=lambda loss: loss is None)
    """Weighted quantile loss: twice the pinball loss, mean over the band's quantiles, as a share of what came, or of
    what was newest where that is larger; every target weighs the same.
    """
    last_value_loss_ratio: Rounded | None = Field(
        default=None, exclude_if=lambda loss: loss is None
    )
    """The same of the simple rule, whose band is made of its own newest errors at this horizon."""

    @property
    def skill(self) -> float | None:
        """By which share the middle errs less than the simple rule: 1 is perfect, 0 as good; None without errors."""
        simple = self.last_value_error_ratio
        return 1.0 - self.error_ratio / simple if simple > 0.0 else None

    @property
    def loss_to_last_value(self) -> float | None:
        """The loss in those of the simple rule: below 1 the band is better; None while nothing was compared."""
        if self.loss_ratio is None or not self.last_value_loss_ratio:
            return None
        return self.loss_ratio / self.last_value_loss_ratio


def band_text(horizon_seconds: float, score: BandScore) -> str:
    """Return one horizon's score: how much lay within the band, and what it is worth against the simple rule."""
    inside = percent(score.inside / score.targets) if score.targets else "nothing"
    text = f"{duration(horizon_seconds)} ahead {inside} of {score.targets} inside"
    if score.outermost:
        text += f" ({percent(score.inside_outermost / score.outermost)} within the outermost)"
    if score.loss_to_last_value is not None:
        return f"{text}, loss {number(score.loss_to_last_value)} of last_value's"
    return (
        text
        if score.skill is None
        else f"{text}, skill {signed_score(score.skill)} against last_value"
    )
