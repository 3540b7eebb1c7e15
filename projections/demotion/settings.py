"""Settings of how forecasts of demand are judged, with the reason for each default."""

from __future__ import annotations

from typing import Final, Self

from pydantic import Field, model_validator

from projections.figures import number
from schemas.model import DataModel

MOST_BLOCKS: Final = 96
"""Blocks of one window, so that what is remembered of a model stays a small part of a checkpoint."""


class ForesightSettings(DataModel):
    """When forecasts of a model of demand are no longer acted on, and when they are again (docs/forecast/scores.md)."""

    enabled: bool = True
    """Whether actions that rest on a forecast are scored and models judged; without bands there is nothing to judge."""
    window_seconds: float = Field(default=21_600.0, ge=1_800.0)
    """Cluster seconds that are looked at: six hours, long enough for a few rises of a day and short enough to forget a
    model that was good yesterday.
    """
    block_seconds: float = Field(default=900.0, ge=60.0)
    """Cluster seconds between two judgements."""
    least_actions: int = Field(default=8, ge=2)
    """Actions within the window that it takes before their value decides: of fewer one outlier does."""
    least_action_blocks: int = Field(default=6, ge=2)
    """Blocks in which these were executed, at least, too: all Services of a site rise at once, so one morning tells
    little more than one action.
    """
    confidence_ratio: float = Field(default=0.95, ge=0.5, le=0.999)
    """Confidence of the two-sided interval of the value."""
    least_targets: int = Field(default=240, ge=1)
    """Targets within the window that it takes before coverage and loss decide: twelve Services for some two hours."""
    least_blocks: int = Field(default=6, ge=2)
    """Blocks with scored targets that it takes, too: targets of the same minutes miss together."""
    least_inside_ratio: float = Field(default=0.65, ge=0, le=0.8)
    """Share within the 80 % band below which the coverage is far off."""
    most_inside_ratio: float = Field(default=0.93, ge=0.8, le=1)
    """Share within it above which the band is far too wide."""
    judgements: int = Field(default=2, ge=1)
    """Judgements in a row that it takes to go back to shadow."""
    return_judgements: int = Field(default=4, ge=1)
    """Judgements in a row, an hour, in which a shadow has to be better than the simple rule before it drives again."""
    hold_seconds: float = Field(default=14_400.0, ge=0.0)
    """Cluster seconds in shadow at least: four hours, since a model that lost money although its bands were good has
    nothing new to show sooner; each further time doubles them.
    """
    most_hold_seconds: float = Field(default=86_400.0, ge=0.0)
    """Cluster seconds in shadow at most before a model may drive again."""

    @model_validator(mode="after")
    def _check_blocks(self) -> Self:
        blocks = self.window_seconds / self.block_seconds
        if not self.least_blocks <= blocks <= MOST_BLOCKS:
            raise ValueError(
                f"set block_seconds so that window_seconds holds {self.least_blocks} to {MOST_BLOCKS} blocks, "
                f"not {number(blocks)}"
            )
        return self
