"""Settings of the mismatch checks, with the reason for each default."""

from __future__ import annotations

from typing import Final

from pydantic import Field

from schemas.model import DataModel


class MismatchSettings(DataModel):
    """When things that belong together count as not fitting (docs/mismatches.md)."""

    enabled: bool = True
    """Whether mismatches are looked for; they warn people and change no decision."""
    stimulus_cycles: int = Field(default=5, ge=1)
    """Observations after a phase's load was applied within which the number that it moves must rise; what the
    exerciser makes is bound or waits within two, on a busy API server within four.
    """
    lag_cycles: int = Field(default=3, ge=1)
    """Cycles by which the newest snapshot may be ahead of the newest observation; both come from one process."""
    unready_cycles: int = Field(default=3, ge=1)
    """Predictions in a row that give a node which is not ready a low risk; one may have been made just before."""
    low_risk_ratio: float = Field(default=0.2, ge=0, le=1)
    """Risk up to which a node counts as judged healthy; no threshold of the baseline lies below 0.5."""
    reward_cycles: int = Field(default=6, ge=2)
    """Rewards in a row of the same decision that are compared."""
    reward_points: float = Field(default=5.0, gt=0)
    """How far apart the lowest and the highest of them are, in points of the total: one violation of the objective
    costs 5 at once, watts and finished tasks move it by tenths.
    """
    repeat_cycles: int = Field(default=6, ge=2)
    """How often in a row a decision is made before it counts as repeated in vain; an agent gives an action up for a
    while after six refusals in a row.
    """


OFF: Final = MismatchSettings(enabled=False)
