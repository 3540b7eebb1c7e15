"""An outcome that waits until the log holds it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import field_validator

from schemas.model import DataModel
from schemas.numbers import Cycle, Seconds
from schemas.outcome import OutcomeForecast, OutcomeReward
from schemas.upcast import reward_by_agent


class UnpublishedOutcome(DataModel):
    """An outcome that the log does not hold yet; one of the two is set."""

    cycle: Cycle
    cluster_time_seconds: Seconds
    causes: tuple[str, ...]
    reward: OutcomeReward | None = None
    forecast: OutcomeForecast | None = None

    @field_validator("reward", mode="before")
    @classmethod
    def _of_older_checkpoint(cls, reward: Any) -> Any:
        """Read what a checkpoint holds from before rewards were keyed by agent."""
        older = isinstance(reward, dict) and "weights" not in reward
        return reward_by_agent(reward) if older else reward


def without_published(
    owed: Sequence[UnpublishedOutcome], data: OutcomeReward | OutcomeForecast
) -> tuple[UnpublishedOutcome, ...]:
    """Return what is owed without what the log holds now."""
    return tuple(outcome for outcome in owed if not _is_said(outcome, data))


def _is_said(owed: UnpublishedOutcome, data: OutcomeReward | OutcomeForecast) -> bool:
    published = owed.reward if isinstance(data, OutcomeReward) else owed.forecast
    return published is not None and owed.cycle == data.cycle and published.key() == data.key()
