"""Bands of a trained model are scored against the mean of their own step, and beside a simple rule with a band."""

from __future__ import annotations

import math
from typing import Any

import pytest

from projections.demotion.band_sums import FEWEST_ERRORS, simple_quantiles
from projections.run_totals import RunTotals
from schemas.band_score import BandScore
from schemas.prediction import BandTable, DemandBands
from schemas.work import ServiceCounters, WorkCounters
from services.scoreboard.service import build
from services.scoreboard.settings import ScoreboardSettings
from services.scoreboard.state import ScoreboardState
from tests.builders import ORIGIN, make_demand, make_observation, stamp_event

LOOK_SECONDS, STEP_SECONDS = 15.0, 300.0
LOOKS = int(STEP_SECONDS / LOOK_SECONDS)
BEGIN_SECONDS = 1_200_000.0
MODEL = "rates-ahead/1"


class Steps:
    """Plays observations of one Service, and forecasts of its steps, to a scoreboard."""

    def __init__(self, offset_seconds: float = 0.0) -> None:
        """Begin with nothing known; the looks lie so long after the begin of steps."""
        self.handler = build(ScoreboardSettings(), ORIGIN)
        self.state: ScoreboardState = self.handler.initial()
        self.served, self.cycle, self.offset_seconds = 0.0, 0, offset_seconds
        self.said: list[Any] = []
        self.see(100.0, 1)
        self.foresee(*[100.0] * 5, newest=100.0)  # of a step that was not seen from its begin
        self.see(100.0, LOOKS - 1)

    def see(self, rate: float, looks: int, *, counted: bool = True) -> None:
        """Show so many looks at a rate in requests/s; not `counted`: the Service is not in them."""
        for _ in range(looks):
            self.cycle += 1
            self.served += rate * LOOK_SECONDS
            web = ServiceCounters(service="shop/web", served=self.served, failed=0.0, lost=0.0)
            self._take(
                make_observation(
                    1,
                    cycle=self.cycle,
                    cluster_time_seconds=BEGIN_SECONDS + self.offset_seconds + self.cycle * LOOK_SECONDS,
                    interval_seconds=LOOK_SECONDS,
                    work=WorkCounters(services=(web,) if counted else ()),
                )
            )  # fmt: skip
            for new_event in self.handler.decide(self.state, overdue=False):
                if getattr(new_event.data, "part", "") == "bands":
                    self.said.append(new_event)
                self._take(new_event.data)

    def foresee(self, *quantiles: float, newest: float, rule: str = MODEL) -> None:
        """Foresee, by five quantiles, the step that ends five minutes after the newest one."""
        lowest, low, middle, high, highest = quantiles
        table = BandTable(
            ids=("service/shop/web",), newest=(newest,), low=(low,), middle=(middle,), high=(high,),
            lowest=(lowest,), highest=(highest,), rule=(rule,), basis=("own",),
        )  # fmt: skip
        now = BEGIN_SECONDS + self.offset_seconds + self.cycle * LOOK_SECONDS
        end = now // STEP_SECONDS * STEP_SECONDS + STEP_SECONDS
        bands = DemandBands(
            horizon_seconds=300.0, end_time_seconds=end, step_seconds=STEP_SECONDS, series=table
        )
        self._take(make_demand(cycle=self.cycle, bands=(bands,)))

    def _take(self, data: Any) -> None:
        self.state = self.handler.evolve(self.state, stamp_event(data))

    @property
    def newest(self) -> BandScore:
        """The newest step's score."""
        score = self.said[-1].data.bands
        assert isinstance(score, BandScore)
        return score


def test_a_band_is_held_against_the_mean_of_its_step() -> None:
    """100 for four minutes, then 160: the mean of 112 lies within 110 to 115, which the last minute would not."""
    steps = Steps()
    steps.foresee(90.0, 110.0, 112.0, 115.0, 120.0, newest=100.0)
    steps.see(100.0, 16)
    steps.see(160.0, 3)
    assert not steps.said
    steps.see(160.0, 1)

    (event,) = steps.said
    assert (event.data.model_id, event.data.horizon_seconds) == (MODEL, 300.0)
    assert event.data.key() == f"bands-300-{MODEL}"
    assert (steps.newest.targets, steps.newest.inside, steps.newest.inside_outermost) == (1, 1, 1)
    assert steps.newest.error_ratio == pytest.approx(0.0, abs=1e-6)
    assert steps.newest.last_value_error_ratio == pytest.approx(12.0 / 112.0, abs=1e-6)
    assert steps.newest.loss_ratio is None  # the simple rule has no band yet


@pytest.mark.parametrize("unseen", [1, 10])
def test_a_step_of_which_a_part_was_not_seen_is_not_scored(unseen: int) -> None:
    """One look without the Service leaves a gap: nothing is said of that step, and the next one is scored again."""
    steps = Steps()
    steps.foresee(90.0, 95.0, 100.0, 105.0, 110.0, newest=100.0)
    steps.see(100.0, 5)
    steps.see(100.0, unseen, counted=False)
    steps.see(100.0, LOOKS - 5 - unseen)
    assert not steps.said
    steps.foresee(90.0, 95.0, 100.0, 105.0, 110.0, newest=100.0)
    steps.see(100.0, LOOKS)

    assert [event.data.bands_so_far.targets for event in steps.said] == [1]


def test_looks_that_cross_a_step_are_shared_out() -> None:
    """Looks lie 7 s after the begin of a step: 8 s of the look at 200 are of the scored step, 7 s of the next."""
    steps = Steps(offset_seconds=7.0)
    steps.foresee(95.0, 98.0, 100.0, 101.0, 105.0, newest=100.0)
    steps.see(100.0, LOOKS - 1)
    steps.see(200.0, 1)

    came = 100.0 + 100.0 * 8.0 / STEP_SECONDS
    assert steps.newest.error_ratio == pytest.approx((came - 100.0) / 100.0, rel=1e-4)
    assert (steps.newest.inside, steps.newest.inside_outermost) == (0, 1)


def test_the_loss_is_held_against_a_simple_rule_with_a_band() -> None:
    """Of a rate that swings by ten: one who knows it loses a small share of what the rule loses, a wide band more."""

    def ratio(spread: float) -> float:
        steps = Steps()
        for number in range(2 * FEWEST_ERRORS):
            newest, came = (100.0, 110.0) if number % 2 else (110.0, 100.0)
            wrong = newest if spread > 1.0 else came
            steps.foresee(*(wrong + spread * each for each in (-2, -1, 0, 1, 2)), newest=newest)
            steps.see(came, LOOKS)
        so_far = steps.said[-1].data.bands_so_far
        assert so_far.targets == 2 * FEWEST_ERRORS
        assert so_far.compared == FEWEST_ERRORS  # the rule has a band once it knows so many errors
        return float(so_far.loss_to_last_value)

    assert ratio(0.5) < 0.2
    assert ratio(30.0) > 1.0


def test_the_simple_rule_has_the_ranks_of_split_conformal_prediction() -> None:
    """Of 39 errors the fourth smallest is the tenth percentile, in roots of the value."""
    errors = [float(error) for error in range(-19, 20)]

    low, middle, high = simple_quantiles(100.0, errors, (0.1, 0.5, 0.9))

    root = math.sqrt(100.0)
    assert (low, middle, high) == (max(0.0, 100.0 - 16.0 * root), 100.0, 100.0 + 16.0 * root)
    assert simple_quantiles(100.0, errors[: FEWEST_ERRORS - 1], (0.5,)) == ()


def test_who_spoke_is_told_apart() -> None:
    """A simple rule that speaks in the model's place is scored by its own name, in the summary, too."""
    steps = Steps()
    totals = RunTotals()
    for rule in (MODEL, MODEL, "last_value"):
        steps.foresee(90.0, 95.0, 100.0, 105.0, 110.0, newest=100.0, rule=rule)
        steps.see(100.0, LOOKS)
    for event in steps.said:
        totals.add(stamp_event(event.data))

    assert [event.data.bands_so_far.targets for event in steps.said] == [1, 2, 1]
    text = totals.summary()["bands_text"]
    assert text.index(f"{MODEL}: 300 s ahead 100% of 2 inside") < text.index("last_value: 300 s")


def test_a_restart_scores_what_waited() -> None:
    """State as text and back in between: the same score."""
    steps = Steps()
    steps.foresee(90.0, 110.0, 112.0, 115.0, 120.0, newest=100.0)
    steps.see(100.0, 16)
    steps.state = ScoreboardState.model_validate_json(steps.state.model_dump_json())
    steps.see(160.0, 4)

    assert (steps.newest.targets, steps.newest.inside) == (1, 1)
