"""Settings of the promotion of risk models, with the reason for each default."""

from __future__ import annotations

from typing import Final, Literal, Self

from pydantic import Field, model_validator

from projections.figures import number
from schemas.model import DataModel

MOST_BLOCKS: Final = 96
"""Blocks of one window, so that what is remembered of three models stays a small part of a checkpoint."""


class PromotionSettings(DataModel):
    """When a shadow model of risk becomes active by itself, and when it goes back (docs/forecast/promotion.md)."""

    when: Literal["auto", "on", "off"] = "auto"
    """auto: with `agents.profile = foresail` alone, whose agents judge by expected value. Other profiles have
    thresholds that belong to one model, so that `on` is refused with them.
    """
    window_seconds: float = Field(default=21_600.0, ge=1_800.0)
    """Cluster seconds of predictions that are looked at: six hours, long enough to hold several bursts of failures and
    short enough to forget a model that was good yesterday.
    """
    block_seconds: float = Field(default=900.0, ge=60.0)
    """Cluster seconds of a block, the length of the usual horizon: predictions of one block share their outcomes, so
    intervals leave out whole blocks. Models are judged once a block.
    """
    confidence_ratio: float = Field(default=0.95, ge=0.5, le=0.999)
    """Confidence of the two-sided intervals of skill and lift."""
    least_positives: int = Field(default=20, ge=1)
    """Predictions followed by a failure that it takes at least; with fewer one crash loop is all that is known."""
    least_failing: int = Field(default=6, ge=2)
    """Blocks of time, and of 16 groups of nodes, in which something has to fail: an interval made of fewer is too
    narrow.
    """
    judgements: int = Field(default=2, ge=1)
    """Judgements in a row that it takes to change: an interval that is looked at again and again lies above 0 by chance
    sooner or later.
    """
    hold_seconds: float = Field(default=3_600.0, ge=0.0)
    """Cluster seconds in shadow at least after a model went back; each further time doubles them."""
    most_hold_seconds: float = Field(default=86_400.0, ge=0.0)
    """Cluster seconds in shadow at most after a model went back."""

    @model_validator(mode="after")
    def _check_blocks(self) -> Self:
        blocks = self.window_seconds / self.block_seconds
        if not self.least_failing <= blocks <= MOST_BLOCKS:
            raise ValueError(
                f"set block_seconds so that window_seconds holds {self.least_failing} to {MOST_BLOCKS} blocks, "
                f"not {number(blocks)}"
            )
        return self

    @property
    def enabled(self) -> bool:
        """Whether models are promoted; `auto` is decided by `foresail up`, and means off where nobody did."""
        return self.when == "on"


OFF: Final = PromotionSettings(when="off")
