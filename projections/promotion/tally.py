"""Basis of promotion between two judgements, and what it remembers of its own."""

from __future__ import annotations

from collections.abc import Sequence

from projections.promotion.settings import PromotionSettings
from projections.promotion.sums import ModelSums, ScoredTarget
from schemas.model import DataModel
from schemas.numbers import Count, Seconds
from schemas.promotion import ModelState, PromotionCause


class ModelStanding(DataModel):
    """How one model stands."""

    model_id: str
    state: ModelState = ModelState.SHADOW
    cause: PromotionCause = PromotionCause.SCARCE
    since_seconds: Seconds = 0.0
    judgements: Count = 0
    """Judgements in a row that spoke for the other state."""
    returns: Count = 0
    """How often it went back to shadow."""
    held_until_seconds: Seconds = 0.0


class PromotionTally(DataModel):
    """Sums of every model, how each stands, and the block in which they were judged last."""

    sums: tuple[ModelSums, ...] = ()
    """By slot."""
    standing: tuple[ModelStanding, ...] = ()
    """By the model's id."""
    judged_block: Count | None = None
    """None before the first observation."""
    skill_tripped_seconds: Seconds | None = None
    """When a breaker tripped last since the forecast of risk had no skill."""

    def after_scored(
        self,
        slot: int,
        model_id: str,
        time_seconds: float,
        scored: Sequence[ScoredTarget],
        unseen: int,
        settings: PromotionSettings,
    ) -> PromotionTally:
        """Return the tally after the predictions of one cycle were scored; another model in a slot begins anew."""
        before = next((one for one in self.sums if one.slot == slot), None)
        if before is None or before.model_id != model_id:
            before = ModelSums(slot=slot, model_id=model_id)
        after = before.plus(time_seconds, scored, unseen, settings)
        others = (one for one in self.sums if one.slot != slot and not _is_again(one, after))
        sums = tuple(sorted((*others, after), key=lambda one: one.slot))
        return self.model_copy(update={"sums": sums})

    def standing_of(self, model_id: str) -> ModelStanding:
        """Return how a model stands; one that was never judged is a shadow."""
        known = (one for one in self.standing if one.model_id == model_id)
        return next(known, ModelStanding(model_id=model_id))

    @property
    def driving(self) -> str:
        """Id of the model that drives by its promotion; empty: what the settings name."""
        active = (one.model_id for one in self.standing if one.state is ModelState.ACTIVE)
        return next(active, "")


def _is_again(older: ModelSums, new: ModelSums) -> bool:
    """Say whether older sums are of what the same model said as the driver, while it is judged as a shadow."""
    return not older.slot and bool(new.slot) and older.model_id == new.model_id
