"""Actions that rest on a forecast, and what came of them, read from the events of a real run."""

from __future__ import annotations

from typing import Any

import pytest

from projections.foresight.action import RISE_RATIO
from projections.foresight.log import ForesightLog, Settled
from projections.foresight.rise import rise_json
from schemas.envelope import Event
from schemas.observation import Observation
from schemas.outcome import OutcomeExecution
from schemas.prediction import PredictionDemand
from schemas.untouched import UntouchedObservation
from tests.foresight.opening import events_of, foresight, opening

TEN = 1_767_348_000.0
"""2026-01-02T10:00:00Z."""


def events(*subjects: str) -> list[Event[Any]]:
    """Return the run's events of some subjects."""
    return events_of(opening(), *subjects)


def counted(kind: type[Any], service: str, until: float) -> dict[float, tuple[float, float]]:
    """Return offered and failed requests of a Service by cluster time, as the world's own counters have them."""
    found = {}
    for event in events("observation", "untouched.observation"):
        if type(event.data) is kind and event.data.cluster_time_seconds <= until:
            one = next(each for each in event.data.work.services if each.service == service)
            failed = one.failed + one.lost
            found[event.data.cluster_time_seconds] = (one.served + failed, failed)
    return found


def first() -> Settled:
    """Return the first rise of a Service that loses requests in the untouched world."""
    return next(one for one in foresight() if (one.outcome.spared or 0.0) > 1e4)


def test_every_executed_change_of_replicas_before_ten_rests_on_a_forecast() -> None:
    """Before the site opens nothing asks for replicas but the forecast, and each action is in one rise."""
    executed = {
        (event.cycle, event.data.part)
        for event in events("outcome.execution")
        if isinstance(event.data, OutcomeExecution)
        and event.data.phase == "finished"
        and event.data.cluster_time_seconds < TEN - 300.0
    }
    found = [(one.cycle, one.part) for rise in foresight() for one in rise.rise.actions]
    assert executed
    assert executed <= set(found)
    assert len(found) == len(set(found)) > len(foresight())


def test_the_bands_are_those_of_the_prediction_that_the_proposal_names() -> None:
    """All horizons come from the event, and the one that decided is among them with the ground's numbers."""
    action = first().rise.first
    (prediction,) = (
        event for event in events("prediction.demand") if event.id in action.ground.prediction_ids
    )
    data = prediction.data
    assert isinstance(data, PredictionDemand)
    row = data.bands[0].series.ids.index(f"service/{action.service}")
    assert [band.middle for band in action.bands] == [
        bands.series.middle[row] for bands in data.bands
    ]
    ground = action.ground
    (decisive,) = (b for b in action.bands if b.horizon_seconds == ground.horizon_seconds)
    assert (decisive.low, decisive.middle, decisive.high) == (
        ground.low,
        ground.middle,
        ground.high,
    )


def test_it_spoke_before_the_rise_and_acted_before_it() -> None:
    """The order of the morning: foreseen, asked, ready, then the rise, then requests fail without us."""
    one = first()
    action, outcome = one.rise.first, one.outcome
    assert outcome.there is not None
    assert outcome.there.fails_seconds is not None
    moments = [
        action.spoke_seconds,
        action.executed_seconds,
        action.ready_seconds,
        outcome.rise_seconds,
    ]
    assert None not in moments
    assert moments == sorted(moments, key=float)  # type: ignore[arg-type]
    assert outcome.rise_seconds == pytest.approx(TEN, abs=180.0)
    assert outcome.there.fails_seconds >= outcome.rise_seconds
    assert (lead := outcome.lead_seconds(one.rise)) is not None
    assert lead > 300.0


def test_the_rise_begins_where_the_counters_pass_the_level() -> None:
    """The minute that is called the rise is the first whose requests a second pass the stated level."""
    one = first()
    action = one.rise.first
    counts = counted(Observation, action.service, TEN + 600.0)
    made = action.ground.made_seconds
    rates = {
        at - 60.0: (counts[at][0] - counts[at - 60.0][0]) / 60.0
        for at in counts
        if at % 60.0 == 0.0 and at - 60.0 >= made
    }
    assert one.outcome.rise_seconds == next(at for at in rates if rates[at] > action.level)
    foreseen = action.foreseen
    assert foreseen is not None
    reach = [b.middle for b in foreseen.bands if b.end_seconds <= action.due_seconds]
    floor = min(foreseen.newest, *reach)
    way = RISE_RATIO * (max(reach) - floor)
    assert action.level == max(action.bears_before, floor + way)


def test_failed_requests_are_those_of_both_worlds_counters() -> None:
    """From the minute of the decision to the end of the log, here and in the world without us."""
    one = first()
    minute = one.rise.first.decided_seconds // 60.0 * 60.0
    for kind, said in ((Observation, one.outcome.here), (UntouchedObservation, one.outcome.there)):
        counts = counted(kind, one.rise.service, one.rise.due_seconds)
        begin, end = counts[minute], counts[max(counts)]
        assert said is not None
        assert said.failed == pytest.approx(end[1] - begin[1], abs=0.01)
        assert said.offered == pytest.approx(end[0] - begin[0], abs=0.01)
    assert one.outcome.there is not None
    assert one.outcome.there.failed > one.outcome.here.failed


def test_what_came_is_the_mean_over_each_step_that_is_over() -> None:
    """Of a model's bands the steps are five minutes long; what is not over has nothing."""
    one = first()
    action, came = one.rise.first, one.outcome.came[one.rise.actions.index(one.rise.first)]
    counts = counted(Observation, action.service, TEN + 3_600.0)
    last = max(counts)
    assert {band.step_seconds for band in action.bands} == {300.0}
    for band, value in zip(action.bands, came, strict=True):
        if band.end_seconds > last:
            assert value is None
        else:
            begin = band.end_seconds - band.step_seconds
            mean = (counts[band.end_seconds][0] - counts[begin][0]) / band.step_seconds
            assert value == pytest.approx(mean, rel=1e-6)
    assert came[0] is not None
    assert came[-1] is None


def test_without_an_untouched_world_nothing_is_said_of_it() -> None:
    """The same morning without its twin: the actions are the same, their worth is not known."""
    alone = foresight("off")
    assert [one.rise.service for one in alone] == [one.rise.service for one in foresight()]
    assert {one.outcome.there for one in alone} == {None}
    assert {one.outcome.worth for one in alone} == {None}
    assert rise_json(alone[0].rise, alone[0].outcome)["untouched_failed"] is None


def test_a_log_without_forecasts_has_no_foresight() -> None:
    """Events that say nothing of foresight leave the log empty."""
    log = ForesightLog()
    for event in events("outcome.verification", "reaction"):
        assert log.after(event) is log


def test_the_moment_it_spoke_is_the_first_forecast_of_the_rise() -> None:
    """Of the forecasts up to the one it rests on, the first from which on each one's middle passes the level."""
    earlier = 0
    for one in foresight():
        action = one.rise.first
        passes = {}
        for event in events("prediction.demand"):
            at = event.data.cluster_time_seconds
            rows = [(bands.series, bands.series.index()) for bands in event.data.bands]
            name = f"service/{action.service}"
            middles = [table.middle[index[name]] for table, index in rows if name in index]
            if middles and at < action.ground.made_seconds:
                passes[at] = max(middles) > action.level
        expected = action.ground.made_seconds
        for at in sorted(passes, reverse=True):
            if not passes[at]:
                break
            expected = at
        assert action.spoke_seconds == expected
        earlier += expected < action.ground.made_seconds
    assert earlier
