"""Bands of demand are scored when their minute is over: what lay within, and did the middle beat the simple rule."""

from __future__ import annotations

from typing import Any

import pytest

from projections.run_totals import RunTotals
from schemas.band_score import BandScore
from schemas.outcome import OutcomeForecast
from schemas.prediction import BandTable, DemandBands
from schemas.work import ServiceCounters, WorkCounters
from services.scoreboard.service import ScoreboardHandler, build
from services.scoreboard.settings import ScoreboardSettings
from services.scoreboard.state import ScoreboardState
from tests.builders import ORIGIN, make_demand, make_observation, stamp_event

STEP_SECONDS = 15.0
BEGIN_SECONDS = 1_200_000.0


class World:
    """Plays observations and bands of one Service to a scoreboard, and keeps what it says of bands."""

    def __init__(self) -> None:
        """Begin with nothing known."""
        self.handler: ScoreboardHandler = build(ScoreboardSettings(), ORIGIN)
        self.state: ScoreboardState = self.handler.initial()
        self.served, self.cycle = 0.0, 0
        self.said: list[Any] = []

    def see(self, rate: float, steps: int, *, counted: bool = True) -> None:
        """Show so many steps at a rate in requests/s; not `counted`: the Service is not in them."""
        for _ in range(steps):
            self.cycle += 1
            self.served += rate * STEP_SECONDS
            web = ServiceCounters(service="shop/web", served=self.served, failed=0.0, lost=0.0)
            self._take(
                make_observation(
                    1,
                    cycle=self.cycle,
                    cluster_time_seconds=BEGIN_SECONDS + self.cycle * STEP_SECONDS,
                    interval_seconds=STEP_SECONDS,
                    work=WorkCounters(services=(web,) if counted else ()),
                )
            )
            for new_event in self.handler.decide(self.state, overdue=False):
                if getattr(new_event.data, "part", "") == "bands":
                    self.said.append(new_event)
                self._take(new_event.data)

    def foresee(self, low: float, middle: float, high: float, newest: float) -> None:
        """Publish a band for the minute that ends five minutes after the newest whole one."""
        minutes = self.cycle * STEP_SECONDS // 60.0
        table = BandTable(
            ids=("service/shop/web",), newest=(newest,), low=(low,), middle=(middle,), high=(high,),
            rule=("trend",), basis=("own",),
        )  # fmt: skip
        end = BEGIN_SECONDS + 60.0 * minutes + 300.0
        bands = DemandBands(horizon_seconds=300.0, end_time_seconds=end, series=table)
        self._take(make_demand(cycle=self.cycle, bands=(bands,)))

    def _take(self, data: Any) -> None:
        self.state = self.handler.evolve(self.state, stamp_event(data))


def test_a_band_is_scored_in_its_minute_against_the_simple_rule() -> None:
    """100 became 150 where 140 to 160 with 145 was foreseen: inside, an error of 5 for 50; then a miss adds up."""
    world = World()
    world.see(100.0, 5)
    world.foresee(140.0, 145.0, 160.0, newest=100.0)
    world.see(150.0, 19)
    assert not world.said
    world.see(150.0, 1)

    (first,) = world.said
    assert first.data.bands == first.data.bands_so_far
    assert first.data.bands.inside == first.data.bands.targets == 1
    assert first.data.bands.skill == pytest.approx(1.0 - 5.0 / 50.0, abs=1e-4)
    assert (first.data.key(), first.cycle) == ("bands-300", 5)
    assert len(first.causes) == 2

    world.foresee(90.0, 100.0, 110.0, newest=150.0)
    world.see(150.0, 30)
    second = world.said[-1].data
    assert (second.bands.inside, second.bands_so_far.inside, second.bands_so_far.targets) == (
        0,
        1,
        2,
    )


def test_a_minute_that_nobody_saw_is_not_scored() -> None:
    """The Service was not counted when its minute came: nothing is said, and nothing waits any more."""
    world = World()
    world.see(100.0, 5)
    world.foresee(90.0, 100.0, 110.0, newest=100.0)
    world.see(100.0, 30, counted=False)

    assert world.said == []
    assert world.state.bands is not None
    assert world.state.bands.waiting == ()


def test_a_scoreboard_without_bands_keeps_nothing_of_them() -> None:
    """Its checkpoint is as before."""
    world = World()
    world.see(100.0, 30)

    assert "bands" not in world.state.model_dump(mode="json")


def test_a_restart_scores_what_waited() -> None:
    """State as text and back in between: the same score."""
    world = World()
    world.see(100.0, 5)
    world.foresee(140.0, 145.0, 160.0, newest=100.0)
    world.see(150.0, 10)
    world.state = ScoreboardState.model_validate_json(world.state.model_dump_json())
    world.see(150.0, 10)

    assert [event.data.bands.inside for event in world.said] == [1]


def test_the_score_is_told_in_words() -> None:
    """`tap` and the summary of a run name horizon, share inside and skill."""
    score = BandScore(targets=10, inside=8, error_ratio=0.09, last_value_error_ratio=0.1)
    data = OutcomeForecast(
        cycle=5, cluster_time_seconds=BEGIN_SECONDS, observed_cycle=25, model_id="demand-bands/1",
        horizon_seconds=300.0, risk=None, demand=None, part="bands", bands=score, bands_so_far=score,
    )  # fmt: skip
    words = "300 s ahead 80% of 10 inside, skill +0.10 against last_value"
    totals = RunTotals()
    event = stamp_event(data)
    totals.add(event)

    assert words in event.data.line()
    assert words in totals.summary()["bands_text"]
