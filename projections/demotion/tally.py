"""Basis of a judgement: what each model's bands and the actions on it were worth, by block of time."""

from __future__ import annotations

from collections.abc import Sequence

from projections.demotion.band_sums import BandSums
from projections.demotion.settings import MOST_BLOCKS, ForesightSettings
from schemas.foresight import MOST_MODELS, DemotionCause
from schemas.foresight_score import AheadScore
from schemas.model import DataModel
from schemas.numbers import Count, Rounded, Seconds
from schemas.promotion import ModelState

KEPT_RAISES = 200


class BlockSums(DataModel):
    """Scored targets of one block of time."""

    block: Count
    sums: BandSums


class WorthOfRaise(DataModel):
    """One action that is over."""

    time_seconds: Seconds
    """When it was executed."""
    value: Rounded | None
    lead_seconds: Rounded | None
    right: bool
    currency: str = ""


class DemandModel(DataModel):
    """What is remembered of one model, and how it stands."""

    model_id: str
    state: ModelState = ModelState.ACTIVE
    cause: DemotionCause = DemotionCause.SCARCE
    since_seconds: Seconds = 0.0
    judgements: Count = 0
    """Judgements in a row that spoke for the other state."""
    demotions: Count = 0
    held_until_seconds: Seconds = 0.0
    blocks: tuple[BlockSums, ...] = ()
    """Oldest first."""
    raises: tuple[WorthOfRaise, ...] = ()
    """Oldest first."""

    def with_targets(
        self, time_seconds: float, sums: BandSums, block_seconds: float
    ) -> DemandModel:
        """Return the model with targets that were scored at a moment of cluster time."""
        block = int(time_seconds // block_seconds)
        *older, newest = self.blocks or (BlockSums(block=block, sums=BandSums()),)
        if newest.block != block:
            older, newest = [*older, newest], BlockSums(block=block, sums=BandSums())
        newest = BlockSums(block=block, sums=newest.sums.plus(sums))
        return self.model_copy(update={"blocks": (*older, newest)[-MOST_BLOCKS:]})

    def with_raise(self, score: AheadScore) -> DemandModel:
        """Return the model with an action that was seen whole."""
        worth = WorthOfRaise(
            time_seconds=score.executed_seconds,
            value=score.value,
            lead_seconds=score.lead_seconds,
            right=bool(score.right),
            currency=score.currency,
        )
        return self.model_copy(update={"raises": (*self.raises, worth)[-KEPT_RAISES:]})

    def since(self, begin_seconds: float, block_seconds: float) -> DemandModel:
        """Return the model with what was seen from a moment on: whole blocks that begin then or later."""
        return self.model_copy(
            update={
                "blocks": tuple(
                    one for one in self.blocks if one.block * block_seconds >= begin_seconds
                ),
                "raises": tuple(one for one in self.raises if one.time_seconds >= begin_seconds),
            }
        )


class DemandTally(DataModel):
    """Every model of demand that spoke, and the block in which they were judged last."""

    models: tuple[DemandModel, ...] = ()
    """By name."""
    judged_block: Count | None = None
    """None before the first observation."""

    def model(self, model_id: str) -> DemandModel:
        """Return what is remembered of a model; nothing is known of a new one, which drives."""
        known = (one for one in self.models if one.model_id == model_id)
        return next(known, DemandModel(model_id=model_id))

    def with_model(self, model: DemandModel) -> DemandTally:
        """Return the tally with a model changed; of too many those that stand as at first are forgotten."""
        others = [one for one in self.models if one.model_id != model.model_id]
        models = sorted((*others, model), key=lambda one: one.model_id)
        if len(models) > MOST_MODELS:
            models = _fewer(models)
        return self.model_copy(update={"models": tuple(models)})

    @property
    def shadows(self) -> tuple[str, ...]:
        """Ids of the models that do not drive."""
        return tuple(one.model_id for one in self.models if one.state is ModelState.SHADOW)

    def within(self, now_seconds: float, settings: ForesightSettings) -> DemandTally:
        """Return the tally with what is in the window; a silent model that was never left out is forgotten."""
        begin = now_seconds - settings.window_seconds
        models = (one.since(begin, settings.block_seconds) for one in self.models)
        kept = tuple(one for one in models if one.blocks or one.raises or one.since_seconds)
        return self.model_copy(update={"models": kept})


def _fewer(models: Sequence[DemandModel]) -> list[DemandModel]:
    """Return the models without the one that was heard of least recently."""
    newest = {one.model_id: max((block.block for block in one.blocks), default=0) for one in models}
    oldest = min(models, key=lambda one: (one.state is ModelState.SHADOW, newest[one.model_id]))
    return [one for one in models if one is not oldest]
