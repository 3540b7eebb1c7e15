"""Which models of demand drive: one that loses money or misses its band goes back, and returns by its bands."""

from __future__ import annotations

from typing import Any

import pytest

from projections.demotion.band_sums import BandSums
from projections.demotion.judging import ForesightJudgement, judge, worth_of
from projections.demotion.settings import ForesightSettings
from projections.demotion.tally import DemandModel, DemandTally
from schemas.foresight import MOST_MODELS, DemandModelEvidence, DemotionCause
from schemas.foresight_score import AheadScore
from schemas.promotion import ModelState

SETTINGS = ForesightSettings()
BLOCK = SETTINGS.block_seconds
BEGIN_SECONDS = 1_800_000.0
MODEL = "rates-ahead/1"
GOOD, WIDE, WRONG = (0.8, 0.7), (0.99, 1.3), (0.4, 1.3)
"""Share inside, and loss in those of the simple rule."""


def sums(inside: float, loss: float, targets: int = 60) -> BandSums:
    """Return scored targets of one block."""
    return BandSums(
        targets=targets, inside=round(inside * targets), outermost=targets, inside_outermost=targets,
        compared=targets, loss_sum=loss * 0.1 * targets, last_value_loss_sum=0.1 * targets,
    )  # fmt: skip


def score(at: float, value: float | None, lead: float | None = 60.0) -> AheadScore:
    """Return one action that is over."""
    return AheadScore(
        service="shop/web", replicas_before=4, replicas_after=7, replicas_without=4, level=40.0, executed_seconds=at,
        until_seconds=at + 900.0, rise_seconds=None, ready_seconds=None, lead_seconds=lead, right=lead is not None,
        spared_seconds=0.0, extra_replica_seconds=0.0, value=value, currency="USD",
    )  # fmt: skip


class Blocks:
    """Plays blocks of time to the judge."""

    def __init__(self, **settings: Any) -> None:
        """Begin with nothing known."""
        self.settings = ForesightSettings(**settings)
        self.tally, self.block = DemandTally(), 0
        self.judged: list[ForesightJudgement] = []
        self.end()

    @property
    def now(self) -> float:
        """Cluster time: the begin of the block that is not over."""
        return BEGIN_SECONDS + self.block * BLOCK

    def end(self) -> None:
        """End a block, at whose end models are judged."""
        self.block += 1
        self.tally, judgement = judge(self.tally, self.now, self.settings)
        if judgement is not None:
            self.judged.append(judgement)

    def bands(self, of: tuple[float, float], blocks: int, model: str = MODEL) -> None:
        """Score bands for so many blocks."""
        for _ in range(blocks):
            known = self.tally.model(model)
            self.tally = self.tally.with_model(known.with_targets(self.now, sums(*of), BLOCK))
            self.end()

    def actions(self, *values: float | None, blocks: int = 1, model: str = MODEL) -> None:
        """End the same actions in each of so many blocks."""
        for _ in range(blocks):
            known = self.tally.model(model)
            for value in values:
                known = known.with_raise(score(self.now, value))
            self.tally = self.tally.with_model(known)
            self.end()

    @property
    def newest(self) -> DemandModelEvidence:
        """What was said last of the model."""
        return next(one for one in self.judged[-1].models if one.model_id == MODEL)


def test_a_model_whose_actions_lose_money_goes_back_after_two_judgements() -> None:
    """Three losing actions a quarter of an hour: at the sixth its interval is known, at the seventh it is left out."""
    blocks = Blocks()
    blocks.actions(-0.1, -0.08, -0.12, blocks=5)
    assert (blocks.newest.cause, blocks.newest.state) == (DemotionCause.SCARCE, ModelState.ACTIVE)
    blocks.actions(-0.1, -0.05, -0.12)
    assert (blocks.newest.cause, blocks.newest.judgements) == (DemotionCause.LOSES, 1)
    assert blocks.judged[-1].shadows == ()
    blocks.actions(-0.1, -0.08, -0.12)

    assert (blocks.judged[-1].before, blocks.judged[-1].shadows) == ((), (MODEL,))
    assert blocks.newest.state is ModelState.SHADOW
    assert blocks.newest.held_until_seconds == blocks.now + SETTINGS.hold_seconds
    assert blocks.newest.value == pytest.approx(-2.07)
    assert blocks.newest.value_high is not None
    assert blocks.newest.value_high < 0.0
    assert "left out (acting on it lost money)" in blocks.newest.text
    assert "21 actions, ready 60 s before it (median), worth -2.07 (" in blocks.newest.text


@pytest.mark.parametrize(
    "values", [(-0.5,), (0.3, -0.35, 0.2), (0.1, 0.1, 0.1)], ids=["few", "scattered", "gains"]
)
def test_chance_does_not_decide(values: tuple[float, ...]) -> None:
    """Seven actions, gains and losses that weigh up nearly, or gains: it drives on."""
    blocks = Blocks()
    blocks.actions(*values, blocks=7)

    assert blocks.judged[-1].shadows == ()
    assert blocks.newest.cause is not DemotionCause.LOSES


def test_one_bad_morning_does_not_decide() -> None:
    """Forty actions in two quarters of an hour are too few to tell, since all Services rise at once."""
    blocks = Blocks()
    blocks.actions(*[-0.1] * 20, blocks=2)
    blocks.bands(GOOD, 3)

    assert blocks.judged[-1].shadows == ()
    assert (blocks.newest.value, blocks.newest.value_high) == (pytest.approx(-4.0), None)


def test_a_band_far_off_that_loses_more_than_the_simple_rule_goes_back() -> None:
    """Too narrow or too wide, once six blocks are there and twice in a row; with a smaller loss it may stay."""
    for of, cause in ((WRONG, DemotionCause.MISSES), (WIDE, DemotionCause.MISSES)):
        blocks = Blocks()
        blocks.bands(of, 5)
        assert blocks.newest.cause is DemotionCause.SCARCE
        blocks.bands(of, 1)
        assert (blocks.newest.cause, blocks.judged[-1].shadows) == (cause, ())
        blocks.bands(of, 1)
        assert blocks.judged[-1].shadows == (MODEL,)
    for of in ((0.4, 0.9), (0.8, 1.3)):  # far off and still better, or near and worse
        blocks = Blocks()
        blocks.bands(of, 20)
        assert (blocks.newest.cause, blocks.judged[-1].shadows) == (DemotionCause.HOLDS, ())


def demoted(**settings: Any) -> Blocks:
    """Return a model that has just gone back."""
    blocks = Blocks(**settings)
    blocks.bands(WRONG, 7)
    assert blocks.judged[-1].shadows == (MODEL,)
    return blocks


def test_a_shadow_drives_again_once_its_bands_were_better_for_long_enough() -> None:
    """Six new blocks of good bands, then four judgements in a row; what was before it went back counts no more."""
    blocks = demoted(hold_seconds=3_600.0)
    blocks.bands(GOOD, 6 + SETTINGS.return_judgements - 2)
    assert blocks.judged[-1].shadows == (MODEL,)
    assert blocks.newest.cause is DemotionCause.BETTER
    blocks.bands(GOOD, 1)
    assert (blocks.judged[-1].before, blocks.judged[-1].shadows) == ((MODEL,), ())
    blocks.bands(GOOD, 3)
    assert blocks.newest.blocks == 3  # it begins anew
    assert blocks.newest.actions == 0


def test_a_shadow_is_held_for_as_long_as_the_settings_say() -> None:
    """Four hours, however good its bands are before that."""
    blocks = demoted()
    blocks.bands(GOOD, 15)
    assert blocks.judged[-1].shadows == (MODEL,)
    blocks.bands(GOOD, 1)
    assert blocks.judged[-1].shadows == ()


def test_a_shadow_that_is_not_better_stays() -> None:
    """Bands as good as the simple rule's are no reason to act on them."""
    blocks = demoted()
    blocks.bands((0.8, 1.05), 30)

    assert blocks.judged[-1].shadows == (MODEL,)
    assert "not better than the simple rule yet" in blocks.newest.text


def test_each_further_time_in_shadow_is_twice_as_long() -> None:
    """The second hold is two hours, up to a day."""
    blocks = demoted(hold_seconds=7_200.0, most_hold_seconds=10_000.0)
    blocks.bands(GOOD, 20)
    assert blocks.judged[-1].shadows == ()
    blocks.bands(WRONG, 20)
    went = next(one for one in reversed(blocks.judged) if one.before == () and one.shadows)
    (evidence,) = went.models
    assert evidence.held_until_seconds == evidence.since_seconds + 10_000.0


def test_models_are_judged_by_themselves() -> None:
    """One model's losses are not another one's; of too many models those that drive and are silent are forgotten."""
    blocks = Blocks()
    for _ in range(9):
        known = blocks.tally.model("other/1").with_targets(blocks.now, sums(*GOOD), BLOCK)
        blocks.tally = blocks.tally.with_model(known)
        blocks.bands(WRONG, 1)
    assert blocks.judged[-1].shadows == (MODEL,)
    for number in range(MOST_MODELS + 5):
        blocks.tally = blocks.tally.with_model(DemandModel(model_id=f"old/{number}"))
    assert len(blocks.tally.models) == MOST_MODELS
    assert blocks.tally.shadows == (MODEL,)


def test_an_interval_does_not_widen_with_the_number_of_actions_in_a_block() -> None:
    """Twenty actions in one block, one in another, all in vain: what differs is the count, not what one is worth."""
    model = DemandModel(model_id=MODEL)
    for block, count in enumerate((20, 20, 5, 4, 2, 1)):
        for number in range(count):
            model = model.with_raise(
                score(BEGIN_SECONDS + block * BLOCK, -0.04 - 0.001 * (number % 2))
            )
    value, low, high = worth_of(model, SETTINGS)

    assert value == pytest.approx(-2.105)
    assert low is not None
    assert high is not None
    assert -2.2 < low < high < -2.0


def test_actions_of_a_block_are_hardly_more_than_one() -> None:
    """Ten of a good block and ten of a bad one scatter as two do, not as twenty."""
    few, many = DemandModel(model_id=MODEL), DemandModel(model_id=MODEL)
    for block, value in enumerate((-0.5, 0.3, -0.4, 0.2, 0.1, -0.2)):
        few = few.with_raise(score(BEGIN_SECONDS + block * BLOCK, value))
        for _ in range(10):
            many = many.with_raise(score(BEGIN_SECONDS + block * BLOCK, value))
    small = worth_of(few, ForesightSettings(least_actions=4))
    large = worth_of(many, SETTINGS)

    assert small.high is not None
    assert large.high is not None
    assert large.high - large.value == pytest.approx(10.0 * (small.high - small.value), rel=1e-4)


def test_an_interval_needs_actions_with_a_price() -> None:
    """Where nothing is priced no action loses anything."""
    model = DemandModel(model_id=MODEL)
    for number in range(20):
        model = model.with_raise(score(BEGIN_SECONDS + number * BLOCK, None))

    assert worth_of(model, SETTINGS) == (0.0, None, None)


def test_blocks_that_do_not_fit_the_window_are_refused() -> None:
    """By name, with what would do."""
    with pytest.raises(ValueError, match="set block_seconds so that window_seconds holds 6 to 96"):
        ForesightSettings(window_seconds=3_600.0)
