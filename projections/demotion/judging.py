"""Which models of demand drive: judged once a block of time, from the tally alone.

A model drives until it is shown to lose money, or to be worse than a simple rule while its band is far off, at so many
judgements in a row. In shadow its bands are scored all the same; it drives again once they have been better than the
simple rule at so many judgements in a row, and not before its hold is over.
"""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass
from typing import NamedTuple

from projections.demotion.band_sums import BandSums
from projections.demotion.settings import ForesightSettings
from projections.demotion.tally import DemandModel, DemandTally
from projections.demotion.text import evidence_text
from projections.quantiles import student_quantile
from schemas.foresight import DemandModelEvidence, DemotionCause
from schemas.numbers import rounded
from schemas.promotion import ModelState

AGAINST = frozenset({DemotionCause.LOSES, DemotionCause.MISSES})


@dataclass(frozen=True, slots=True)
class ForesightJudgement:
    """Result at one observation."""

    before: tuple[str, ...]
    """Ids of the models that did not drive."""
    shadows: tuple[str, ...]
    models: tuple[DemandModelEvidence, ...]


class WorthInterval(NamedTuple):
    """What a model's actions were worth in all."""

    value: float
    low: float | None
    """Limits of its interval; None while there are too few actions."""
    high: float | None


class BandEvidence(NamedTuple):
    """How a model's bands did."""

    sums: BandSums
    blocks: int
    """Blocks of time with scored targets."""
    inside: float | None
    loss: float | None
    """In those of the simple rule."""

    def is_enough(self, settings: ForesightSettings) -> bool:
        """Say whether so much was compared that it decides."""
        return self.sums.compared >= settings.least_targets and self.blocks >= settings.least_blocks


def judge(
    tally: DemandTally, now_seconds: float, settings: ForesightSettings
) -> tuple[DemandTally, ForesightJudgement | None]:
    """Return the tally after an observation, and the judgement where a block has ended and there is anything to judge.

    Args:
        tally: of everything scored so far.
        now_seconds: cluster time of the observation.
        settings: window, blocks and bounds.
    """
    block = int(now_seconds // settings.block_seconds)
    if tally.judged_block == block:
        return tally, None
    first, before = tally.judged_block is None, tally.shadows
    tally = tally.within(now_seconds, settings).model_copy(update={"judged_block": block})
    if first or not tally.models:
        return tally, None
    evidence = []
    for model in tally.models:
        after, said = _judged(model, now_seconds, settings)
        tally = tally.with_model(after)
        evidence.append(said)
    return tally, ForesightJudgement(before, tally.shadows, tuple(evidence))


def _judged(
    model: DemandModel, now: float, settings: ForesightSettings
) -> tuple[DemandModel, DemandModelEvidence]:
    seen = model.since(model.since_seconds, settings.block_seconds)
    worth, bands = worth_of(seen, settings), bands_of(seen)
    cause = _cause(model.state, worth, bands, settings)
    active = model.state is ModelState.ACTIVE
    speaks_for_other = cause in AGAINST if active else cause is DemotionCause.BETTER
    judgements = model.judgements + 1 if speaks_for_other else 0
    after = model.model_copy(update={"cause": cause, "judgements": judgements})
    if active and judgements >= settings.judgements:
        after = _demoted(after, now, settings)
    elif (
        not active and judgements >= settings.return_judgements and now >= model.held_until_seconds
    ):
        update = {"state": ModelState.ACTIVE, "since_seconds": now, "judgements": 0}
        after = after.model_copy(update=update)
    return after, _evidence(after, seen, worth, bands, now)


def _demoted(model: DemandModel, now: float, settings: ForesightSettings) -> DemandModel:
    doubled = settings.hold_seconds * 2.0 ** min(model.demotions, 30)
    return model.model_copy(
        update={
            "state": ModelState.SHADOW,
            "since_seconds": now,
            "judgements": 0,
            "demotions": model.demotions + 1,
            "held_until_seconds": now + min(doubled, settings.most_hold_seconds),
        }
    )


def _cause(
    state: ModelState, worth: WorthInterval, bands: BandEvidence, settings: ForesightSettings
) -> DemotionCause:
    """Return what speaks for or against a model, by what was seen since it came into its state."""
    if state is ModelState.ACTIVE and worth.high is not None and worth.high < 0.0:
        return DemotionCause.LOSES
    if bands.is_enough(settings) and bands.inside is not None and bands.loss is not None:
        near = settings.least_inside_ratio <= bands.inside <= settings.most_inside_ratio
        if not near and bands.loss > 1.0:
            return DemotionCause.MISSES
        if near and bands.loss < 1.0:
            return DemotionCause.BETTER
        return DemotionCause.HOLDS
    return DemotionCause.SCARCE if bands.sums.targets or worth.high is None else DemotionCause.HOLDS


def worth_of(model: DemandModel, settings: ForesightSettings) -> WorthInterval:
    """Return what a model's actions were worth in all, with an interval by Student's t.

    The standard error is clustered by block of time (Liang and Zeger, 1986, Biometrika 73): actions of one block share
    what came, so what they miss the mean by is added up before it is squared.
    """
    priced = [(one.time_seconds, one.value) for one in model.raises if one.value is not None]
    total = math.fsum(value for _, value in priced)
    blocks: dict[int, list[float]] = {}
    for time_seconds, value in priced:
        blocks.setdefault(int(time_seconds // settings.block_seconds), []).append(value)
    count = len(blocks)
    if len(priced) < settings.least_actions or count < settings.least_action_blocks:
        return WorthInterval(total, None, None)
    mean = total / len(priced)
    misses = (math.fsum(value - mean for value in blocks[block]) for block in sorted(blocks))
    error = math.sqrt(count / (count - 1) * math.fsum(miss * miss for miss in misses))
    reach = error * student_quantile((1.0 + settings.confidence_ratio) / 2.0, count - 1)
    return WorthInterval(total, rounded(total - reach), rounded(total + reach))


def bands_of(model: DemandModel) -> BandEvidence:
    """Return how a model's bands did."""
    sums = BandSums()
    for one in model.blocks:
        sums = sums.plus(one.sums)
    inside = sums.inside / sums.targets if sums.targets else None
    loss = None
    if sums.last_value_loss_sum > 0.0:
        loss = sums.loss_sum / sums.last_value_loss_sum
    return BandEvidence(sums, len(model.blocks), inside, loss)


def _evidence(
    after: DemandModel, seen: DemandModel, worth: WorthInterval, bands: BandEvidence, now: float
) -> DemandModelEvidence:
    leads = [one.lead_seconds for one in seen.raises if one.lead_seconds is not None]
    sums = bands.sums
    held = after.held_until_seconds if after.state is ModelState.SHADOW else 0.0
    evidence = DemandModelEvidence(
        model_id=after.model_id,
        state=after.state,
        cause=after.cause,
        since_seconds=after.since_seconds,
        held_until_seconds=held if held > now else 0.0,
        judgements=after.judgements,
        actions=len(seen.raises),
        right=sum(one.right for one in seen.raises),
        median_lead_seconds=statistics.median(leads) if leads else None,
        value=worth.value,
        value_low=worth.low,
        value_high=worth.high,
        currency=next((one.currency for one in reversed(seen.raises)), ""),
        targets=sums.targets,
        blocks=bands.blocks,
        inside_ratio=bands.inside,
        inside_outermost_ratio=(sums.inside_outermost / sums.outermost if sums.outermost else None),
        loss_to_last_value=bands.loss,
        text="",
    )
    return evidence.model_copy(update={"text": evidence_text(evidence)})
