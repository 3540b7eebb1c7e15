"""Promotion as a fold: what lets a model of risk drive, what takes it back, and what says nothing."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from projections.promotion.judging import PromotionJudgement, judge
from projections.promotion.settings import PromotionSettings
from projections.promotion.sums import ScoredTarget
from projections.promotion.tally import PromotionTally
from schemas.promotion import (
    ModelEvidence,
    ModelState,
    OutcomeModels,
    PromotionCause,
    judgement_texts,
)
from tests.builders import START_SECONDS

SETTINGS = PromotionSettings(when="on")
BLOCK = SETTINGS.block_seconds
BEGIN = START_SECONDS - START_SECONDS % BLOCK
NODES = tuple(f"node-{number}" for number in range(40))
MODEL, OTHER = "good/1", "other/1"


class Bench:
    """Plays blocks of time in each of which some nodes fail, and judges after each."""

    def __init__(self, **settings: Any) -> None:
        """Begin with nothing seen."""
        self.settings = SETTINGS.model_copy(update=settings)
        self.tally = PromotionTally()
        self.block = 0
        self.judgements: list[PromotionJudgement] = []
        self.look()

    def look(self) -> None:
        """Judge at an observation that begins the next block."""
        now = BEGIN + self.block * BLOCK
        self.tally, judgement = judge(self.tally, now, self.settings)
        self.judgements += [] if judgement is None else [judgement]

    def play(
        self, blocks: int, *, known: float = 0.8, other: float = 0.05, slot: int = 1, **fields: Any
    ) -> None:
        """Play blocks in which four nodes, others each time, fail: `known` is said of them, `other` of the rest."""
        for _ in range(blocks):
            self.score(known, other, slot=slot, **fields)
            self.block += 1
            self.look()

    def score(
        self,
        known: float,
        other: float,
        *,
        slot: int = 1,
        model: str = MODEL,
        failing: int = 4,
        alarm: float = 0.5,
        same: bool = False,
    ) -> None:
        """Add the scored predictions of one block."""
        first = 0 if same else self.block * failing
        fail = {NODES[(first + number) % len(NODES)] for number in range(failing)}
        rows = [(name, known if name in fail else other, name in fail) for name in NODES]
        scored = [ScoredTarget(name, ratio, bad, ratio >= alarm) for name, ratio, bad in rows]
        at = BEGIN + (self.block + 0.5) * BLOCK
        self.tally = self.tally.after_scored(slot, model, at, scored, 0, self.settings)

    @property
    def driving(self) -> list[str]:
        """Which model drove after each judgement."""
        return [one.driving for one in self.judgements]

    @property
    def newest(self) -> ModelEvidence:
        """How the first model stood at the newest judgement."""
        return self.judgements[-1].models[0]


def test_a_model_that_shows_skill_drives_after_two_judgements_in_a_row() -> None:
    """Six blocks are the fewest with failures enough; the seventh judgement is the second that speaks for it."""
    bench = Bench()
    bench.play(8)
    assert bench.driving == [""] * 6 + [MODEL] * 2
    (before,) = [one.before for one in bench.judgements if one.before != one.driving]
    assert before == ""
    newest = bench.newest
    assert (newest.state, newest.cause, newest.slot) == (ModelState.ACTIVE, "shown", 1)
    assert newest.skill is not None
    assert newest.skill_low is not None
    assert 0.0 < newest.skill_low <= newest.skill
    assert newest.lift_low is not None
    assert newest.lift_low > 1.0


def test_it_goes_back_by_itself_once_the_skill_is_gone() -> None:
    """Nobody asks: two judgements that no longer speak for it are enough, and it waits before it may drive again."""
    bench = Bench(window_seconds=6 * BLOCK)
    bench.play(8)
    bench.play(12, known=0.1, other=0.1, alarm=0.05)
    assert bench.driving[-1] == ""
    back = next(
        place for place, one in enumerate(bench.judgements) if one.before and not one.driving
    )
    evidence = bench.judgements[back].models[0]
    assert evidence.cause in {PromotionCause.NO_SKILL, PromotionCause.NO_LIFT}
    assert evidence.held_until_seconds == BEGIN + (back + 1) * BLOCK + SETTINGS.hold_seconds


def test_it_waits_longer_each_time_it_has_gone_back() -> None:
    """A model that keeps its skill for an hour at a time does not drive every other hour."""
    bench = Bench(window_seconds=6 * BLOCK)
    for _ in range(2):
        bench.play(12)
        bench.play(8, known=0.1, other=0.1)
    turns = [
        one.models[0].held_until_seconds - (BEGIN + (place + 1) * BLOCK)
        for place, one in enumerate(bench.judgements)
        if one.before and not one.driving
    ]
    assert turns == [SETTINGS.hold_seconds, 2 * SETTINGS.hold_seconds]


def test_a_skill_that_may_be_chance_does_not_drive() -> None:
    """Good in every other block, bad in between: above 0 on the whole, and an interval that holds 0."""
    bench = Bench()
    for _ in range(6):
        bench.play(1, known=0.9)
        bench.play(1, known=0.05, other=0.3, alarm=0.04)
    newest = bench.newest
    assert newest.skill is not None
    assert newest.skill_low is not None
    assert newest.skill_low < 0.0 < newest.skill
    assert newest.cause is PromotionCause.NO_SKILL
    assert set(bench.driving) == {""}


def test_what_went_back_waits_before_it_drives_again() -> None:
    """However good it is meanwhile."""
    bench = Bench(window_seconds=6 * BLOCK, hold_seconds=20 * BLOCK)
    bench.play(8)
    bench.play(4, known=0.1, other=0.1)
    back = bench.driving.index("", bench.driving.index(MODEL))
    bench.play(30)
    again = bench.driving.index(MODEL, back)
    assert again - back == 20


def test_one_worse_than_a_constant_goes_back_at_once() -> None:
    """When the whole interval lies below 0 the first judgement is enough."""
    bench = Bench(window_seconds=6 * BLOCK, judgements=10)
    bench.play(16)
    assert bench.driving[-1] == MODEL
    bench.play(8, known=0.02, other=0.9)
    back = next(one for one in bench.judgements if one.before and not one.driving)
    assert back.models[0].cause is PromotionCause.HARMFUL


def test_too_few_failures_say_nothing() -> None:
    """Nineteen are fewer than twenty, however well they were foreseen."""
    bench = Bench(least_positives=33)
    bench.play(8)
    assert set(bench.driving) == {""}
    assert (bench.newest.cause, bench.newest.positives) == (PromotionCause.SCARCE, 32)


def test_failures_of_a_few_nodes_say_nothing() -> None:
    """The same four nodes fail in every block: one crash loop is no skill."""
    bench = Bench()
    bench.play(12, same=True)
    assert set(bench.driving) == {""}
    assert bench.newest.cause is PromotionCause.SCARCE
    assert bench.newest.failing_blocks == 12
    assert bench.newest.failing_groups <= 4


def test_alarms_at_random_do_not_drive() -> None:
    """Skill without lift: everything is an alarm, so acting upon alarms would be acting upon all."""
    bench = Bench()
    bench.play(10, alarm=0.0)
    assert set(bench.driving) == {""}
    assert (bench.newest.cause, bench.newest.lift) == (PromotionCause.NO_LIFT, 1.0)


def test_without_alarms_nothing_is_known_of_lift() -> None:
    """A model that never reaches its threshold has nobody act on it, so it stays a shadow."""
    bench = Bench()
    bench.play(10, alarm=0.95)
    assert set(bench.driving) == {""}
    assert (bench.newest.cause, bench.newest.lift) == (PromotionCause.SCARCE, None)


def test_of_two_the_better_one_drives_and_the_driver_stays() -> None:
    """One at a time: the higher lower limit is chosen, and a better one that comes later waits."""
    bench = Bench()
    for _ in range(8):
        bench.score(0.8, 0.05, slot=2, model=MODEL)
        bench.play(1, known=0.6, model=OTHER)
    assert bench.driving[-1] == MODEL

    late = Bench()
    late.play(8, known=0.6, model=OTHER)
    for _ in range(14):
        late.score(0.8, 0.05, slot=2, model=MODEL)
        late.play(1, known=0.6, model=OTHER)
    assert late.driving[-1] == OTHER


def test_a_model_that_the_settings_name_is_only_watched() -> None:
    """What an operator chose is not taken away, nor replaced by a shadow."""
    bench = Bench()
    for _ in range(8):
        bench.score(0.8, 0.05, slot=2, model=OTHER)
        bench.play(1, slot=0)
    assert set(bench.driving) == {""}
    assert (bench.newest.state, bench.newest.cause) == (ModelState.ACTIVE, "named")
    assert bench.newest.skill is not None


def test_a_breaker_that_trips_for_its_lack_of_skill_takes_it_back() -> None:
    """At the next judgement; a trip from before it drove says nothing of it."""
    bench = Bench()
    earlier = {"skill_tripped_seconds": BEGIN}
    bench.tally = bench.tally.model_copy(update=earlier)
    bench.play(8)
    assert bench.driving[-1] == MODEL
    tripped = {"skill_tripped_seconds": BEGIN + bench.block * BLOCK}
    bench.tally = bench.tally.model_copy(update=tripped)
    bench.play(1)
    assert (bench.driving[-1], bench.newest.cause) == ("", PromotionCause.BREAKER)


def test_a_model_that_no_longer_predicts_drives_no_longer() -> None:
    """Once the window holds nothing of it; the change is published although nothing is left to judge."""
    bench = Bench(window_seconds=6 * BLOCK)
    bench.play(8)
    bench.block += 8
    bench.look()
    assert (bench.judgements[-1].before, bench.driving[-1]) == (MODEL, "")
    assert bench.judgements[-1].models == ()


def test_another_model_in_the_same_place_begins_anew() -> None:
    """What its predecessor showed is not its own."""
    bench = Bench()
    bench.play(8)
    bench.play(1, model=OTHER)
    assert bench.newest.model_id == OTHER
    assert (bench.newest.state, bench.newest.targets) == (ModelState.SHADOW, len(NODES))
    assert bench.driving[-1] == ""


def test_it_is_judged_once_a_block() -> None:
    """Observations within a block change nothing."""
    bench = Bench()
    bench.play(3)
    for _ in range(5):
        bench.look()
    assert len(bench.judgements) == 3


def test_the_lines_for_people_hold_the_numbers() -> None:
    """Which model drives, since when that is so, and the figures of each."""
    bench = Bench()
    bench.play(7)
    newest = bench.judgements[-1]
    event = OutcomeModels(
        cycle=1, cluster_time_seconds=BEGIN, window_seconds=1.0, confidence_ratio=0.95,
        driving=newest.driving, before=newest.before, models=newest.models, text="",
    )  # fmt: skip
    head, line = judgement_texts(event)
    assert head == (
        f"risk is predicted by {MODEL} from the next observation on, no longer by what the settings name"
    )
    assert line.startswith(f"{MODEL} is active (skill shown): 28 of 280 targets failed, ")
    assert "28 of 28 alarms hit, lift 10 (" in line


@pytest.mark.parametrize(("window", "block"), [(7200.0, 3600.0), (86_400.0, 300.0)])
def test_a_window_of_too_few_or_too_many_blocks_is_refused(window: float, block: float) -> None:
    """Too few make no interval, too many do not fit a checkpoint."""
    with pytest.raises(ValidationError, match="set block_seconds so that window_seconds holds"):
        PromotionSettings(window_seconds=window, block_seconds=block)
