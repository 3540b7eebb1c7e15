"""Bands of demand in the profile `foresail`: replicas before they are needed, and a reserve for what is foreseen."""

from __future__ import annotations

from dataclasses import replace

import pytest

from features.live.demand_series import DemandSeries, demand_after
from lab.rerun.changes import read_settings
from lab.rerun.settings import agent_settings
from schemas.actions import ReplicateAction
from schemas.capacity import CapacityTable, PredictionCapacity
from schemas.config import Config
from schemas.prediction import BandTable, DemandBands
from schemas.view import ObservationView
from services.agents.appraisal import Band, PolicyInput, bands_of
from services.agents.effects import chance_above
from services.agents.efficiency.value import capacity_of
from services.agents.foreseen import Foreseen, foreseen_after
from services.agents.leads import Leads, leads_after
from services.agents.safety.foresight import Foresight, foresight_of
from services.agents.value_settings import ValueSettings
from tests.agents.test_value_efficiency import machines
from tests.agents.value_world import ScriptedService, ValueWorld
from tests.builders import stamp_event


def first_raise(*, forecast: bool) -> tuple[float, float]:
    """Return the rate at which more replicas were first asked for on a slow rise, and the bad requests then."""
    web, demand = ScriptedService(rate=30.0), Demand()
    foretells = demand.bands if forecast else None
    world = ValueWorld("safety", {"web": web}, value={"forecast": forecast}, foretells=foretells)
    world.play(140)
    web.rate = 46.0  # what four replicas do not bear is seen once
    world.play(3)
    web.rate = 24.0
    world.play(90)
    for _ in range(80):
        web.rate += 0.3
        if isinstance(world.play().action, ReplicateAction):
            break
    assert world.state.memory is not None
    return web.rate, world.state.memory.services["shop/web"].bad_ratio


class Demand:
    """Bands as inference makes them of what observations show."""

    def __init__(self) -> None:
        """Begin without any."""
        self.series: DemandSeries | None = None

    def bands(self, view: ObservationView) -> tuple[DemandBands, ...]:
        """Return the bands of a minute that is over with this observation; none in other cycles."""
        self.series = demand_after(self.series, view)
        return self.series.bands if self.series.is_new else ()


def test_bands_raise_replicas_earlier_on_a_rise() -> None:
    """With bands it asks before a request is bad, at a rate that is at least three requests/s lower."""
    with_bands, bad = first_raise(forecast=True)
    without, _ = first_raise(forecast=False)

    assert bad == 0.0
    assert with_bands <= without - 3.0


def steady_world(high: float, *, late: bool = False) -> ValueWorld:
    """Return a Service of 36 requests/s on four pods of which each bears ten, and what is foreseen in ten minutes."""
    foretold = [(band("service/shop/web", 600, 25.0),)]
    world = ValueWorld(
        "safety", {"web": ScriptedService(rate=36.0)}, value={"forecast": True},
        foretells=lambda _view: foretold[0], late=late,
    )  # fmt: skip
    assert world.play(20).action.kind == "noop"
    foretold[0] = (band("service/shop/web", 300, 26.0), band("service/shop/web", 600, high))
    return world


def test_a_proposal_names_the_forecast_it_rests_on() -> None:
    """Before anything is bad it asks for what a rise needs; who spoke, when, what, and what would be wanted without."""
    proposal = steady_world(high=62.0).play()

    assert isinstance(proposal.action, ReplicateAction)
    assert proposal.action.replicas == 7
    ground = proposal.forecast
    assert ground is not None
    assert (ground.model, ground.series, ground.horizon_seconds) == (
        "trend",
        "service/shop/web",
        600,
    )
    assert (ground.low, ground.middle, ground.high) == (58.0, 60.0, 62.0)
    assert ground.made_seconds == proposal.cluster_time_seconds
    assert ground.chance_before == pytest.approx(0.5, abs=0.01)  # of two bands one passes it
    assert ground.without_replicas is None
    assert ground.chance_after < 0.2  # at most twice the replicas in one step
    assert "without the forecast 4" in proposal.text
    assert not proposal.prediction_overdue


def test_outermost_quantiles_count_where_they_are_told() -> None:
    """One chance in twenty of a far higher rate asks for more replicas than the same band with its ends stretched."""
    world, told = steady_world(high=62.0), steady_world(high=62.0)
    plain = band("service/shop/web", 600, 39.0)
    ends = {"lowest": (34.0,), "highest": (90.0,)}
    wide = plain.model_copy(update={"series": plain.series.model_copy(update=ends)})
    world.foretells, told.foretells = lambda _view: (plain,), lambda _view: (wide,)

    assert [getattr(one.play().action, "replicas", None) for one in (world, told)] == [5, 8]


@pytest.mark.parametrize(("most", "replicas"), [(0, 4), (6, 6), (40, 7)])
def test_an_autoscaler_s_maximum_bounds_a_raise_ahead_and_our_own_cap_does_not(
    most: int, replicas: int
) -> None:
    """Its owner said how far the workload may grow; without one (0) the cap on what we add holds, here none."""
    world = ValueWorld(
        "safety", {"web": ScriptedService(rate=36.0, least=1, most=most)},
        value={"forecast": True, "most_surge": 1.01},
        foretells=lambda _view: (band("service/shop/web", 600, 62.0),),
    )  # fmt: skip
    assert max(getattr(world.play().action, "replicas", 4) for _ in range(20)) == replicas


def test_what_needs_no_more_is_left_alone() -> None:
    """A forecast that the replicas of now bear asks for nothing."""
    proposal = steady_world(high=25.0).play()

    assert (proposal.action.kind, proposal.forecast) == ("noop", None)


def test_reacting_does_not_wait_for_a_forecast() -> None:
    """Without the cycle's prediction it judges at the deadline by what is seen, and says that it did."""
    world = steady_world(high=62.0, late=True)
    assert world.play().action.kind == "noop"
    world.services["web"].rate = 90.0
    proposal = world.play(4)

    assert isinstance(proposal.action, ReplicateAction)
    assert (proposal.forecast, proposal.prediction_overdue) == (None, True)


def test_only_who_acts_on_forecasts_reads_them() -> None:
    """Demand and capacity are read with the setting, and nothing of prediction without."""

    def predictions(*, forecast: bool) -> list[tuple[str, ...]]:
        handler = ValueWorld("safety", value={"forecast": forecast}).handler
        return [pattern for pattern in handler.reads if pattern[0] == "prediction"]

    assert predictions(forecast=True) == [("prediction", "demand"), ("prediction", "capacity")]
    assert predictions(forecast=False) == []


def test_what_is_said_of_a_replica_counts_from_the_next_cycle_on() -> None:
    """One of the same cycle may be read before the answer or after it, so a re-run could not tell."""
    foreseen: Foreseen | None = None
    for cycle in (4, 6):
        said = PredictionCapacity(
            cycle=cycle, cluster_time_seconds=float(cycle), latency_seconds=0.5, bad_ratio=0.01,
            workloads=CapacityTable(),
        )  # fmt: skip
        foreseen = foreseen_after(foreseen, stamp_event(said))
    assert foreseen is not None
    stated = [foreseen.capacity(cycle) for cycle in (4, 5, 6, 7)]
    assert [None if one is None else one.cycle for one in stated] == [None, 4, 4, 6]


def test_the_longest_lead_seen_and_the_age_of_the_forecast_shift_what_can_be_served() -> None:
    """The usual lead before any was seen; bands that end before new pods are ready do not count."""
    world = steady_world(high=62.0)
    world.play()
    assert world.state.view is not None
    assert world.state.memory is not None
    assert world.state.foreseen is not None
    seen = PolicyInput(world.state.view, world.state.memory, ValueSettings(), world.state.foreseen)
    service = world.state.memory.services["shop/web"]

    def foresight(*leads: float) -> Foresight:
        slow = service.model_copy(update={"leads": leads})
        found = foresight_of(seen, "shop/web", slow, 0.05)
        assert found is not None
        return found

    assert [foresight().lead_seconds, foresight(90.0, 310.0, 200.0).lead_seconds] == [120.0, 310.0]
    young, old = foresight(), replace(foresight(), age_seconds=200.0)
    both, later = young.wanted(4, 40, 900.0), old.wanted(4, 40, 900.0)
    assert both is not None
    assert later is not None
    assert both.chance_before == pytest.approx(0.5, abs=0.01)
    assert later.chance_before == pytest.approx(1.0, abs=0.01)


def test_a_lead_ends_when_the_last_pod_is_ready() -> None:
    """With the step in which the number was changed before it was seen; the newest eight are kept."""
    begun = leads_after(Leads((9.0,)), 0.0, 15.0, raised=True, ready=False)
    assert begun == Leads((9.0,), awaited=True)
    assert leads_after(begun, 60.0, 15.0, raised=False, ready=False) == begun
    over = leads_after(begun, 60.0, 15.0, raised=False, ready=True)
    assert over == Leads((9.0, 75.0))
    assert leads_after(over, 9_000.0, 15.0, raised=False, ready=True) == over
    full = tuple(float(each) for each in range(8))
    newest = leads_after(Leads(full, awaited=True), 60.0, 15.0, raised=False, ready=True)
    assert newest.seconds == (*full[1:], 75.0)


def test_the_cause_of_a_raise_ahead_is_the_prediction() -> None:
    """The events of the bands and of what a replica bears are among its causes, so that `explain` finds them."""
    world = steady_world(high=62.0)
    proposal = world.play()
    assert proposal.forecast is not None
    assert world.log[-1].causation_ids[1:] == proposal.forecast.prediction_ids
    assert len(proposal.forecast.prediction_ids) == 2


def test_a_replica_is_not_given_back_before_a_rise() -> None:
    """After a raise of ours and a quiet quarter of an hour the owner's number comes back, unless a rise is foreseen."""

    def change(high: float) -> int:
        web = ScriptedService(rate=36.0)
        foretold = [(band("service/shop/web", 600, 62.0),)]
        world = ValueWorld(
            "safety", {"web": web}, value={"forecast": True}, obeys=True,
            foretells=lambda _view: foretold[0],
        )  # fmt: skip
        world.play(24)
        raised = web.wanted
        foretold[0] = (band("service/shop/web", 600, high),)
        world.play(80)
        assert raised >= 7
        return web.wanted - raised

    assert change(62.0) >= 0
    assert change(25.0) < 0


def band(name: str, seconds: float, high: float, basis: str = "own") -> DemandBands:
    """Return one series' band at one horizon."""
    table = BandTable(
        ids=(name,), newest=(high - 2.0,), low=(high - 4.0,), middle=(high - 2.0,), high=(high,),
        rule=("trend",), basis=(basis,),
    )  # fmt: skip
    return DemandBands(horizon_seconds=seconds, end_time_seconds=seconds, series=table)


def situation() -> PolicyInput:
    """Return what agent B sees of four busy and four empty machines, 16 cores requested."""
    world = ValueWorld("efficiency", nodes=machines(4, 4))
    world.play(4)
    assert world.state.view is not None
    assert world.state.memory is not None
    return PolicyInput(world.state.view, world.state.memory, ValueSettings())


def test_the_reserve_is_what_demand_may_grow_by_within_a_horizon() -> None:
    """The upper band at 5 minutes counts, that of half an hour does not, and a guess counts as nothing."""
    seen = situation()
    cores = seen.memory.demand[-1].cores

    both = (band("nodes/all", 300, cores + 7.0), band("nodes/all", 1_800, 99.0))
    foreseen = replace(seen, foreseen=Foreseen(bands=both))
    assert capacity_of(foreseen).reserve_cores == pytest.approx(7.0)
    guess = (band("nodes/all", 300, cores + 7.0, "assumed"),)
    guessed = replace(seen, foreseen=Foreseen(bands=guess))
    assert capacity_of(guessed).reserve_cores == capacity_of(seen).reserve_cores < 7.0


def test_the_chance_to_exceed_follows_the_band() -> None:
    """One in ten above the upper end, half above the middle, and nine in ten above the lower end."""
    known = Band(low=16.0, middle=18.0, high=20.0, rule="trend", basis="own")
    chances = [chance_above(known, value) for value in (16.0, 18.0, 20.0)]
    assert chances == pytest.approx([0.9, 0.5, 0.1], abs=1e-4)


def test_a_re_run_has_the_announced_value_settings() -> None:
    """An arm with bands is judged again with bands, a changed field alone changed; an older recording without."""
    announced = {
        "profile": "foresail", "thresholds": {}, "signal_limit_intervals": 3.0,
        "value": ValueSettings(forecast=True, headroom_ratio=0.2).model_dump(mode="json"),
    }  # fmt: skip
    older = {name: value for name, value in announced.items() if name != "value"}

    def value_of(settings: dict[str, object], *changes: str) -> ValueSettings:
        config = Config.model_construct(process="agent-safety", settings=settings)
        return agent_settings("safety", config, read_settings(changes)).value

    changed = value_of(announced, "agents.value.eviction=0.07")
    assert value_of(announced) == ValueSettings(forecast=True, headroom_ratio=0.2)
    assert (changed.headroom_ratio, changed.eviction) == (0.2, 0.07)
    assert value_of(older).forecast is False


def test_a_rule_that_speaks_in_a_models_place_is_not_acted_on() -> None:
    """Of five minutes' bands only those of a model count; it names its version."""
    world = steady_world(high=62.0)
    foreseen = world.state.foreseen
    assert foreseen is not None
    assert world.state.view is not None
    assert world.state.memory is not None
    assert foreseen.bands

    def known(rule: str) -> bool:
        bands = foreseen.bands[0]
        table = bands.series.model_copy(update={"rule": (rule,) * len(bands.series)})
        told = bands.model_copy(update={"series": table, "step_seconds": 300.0})
        seen = PolicyInput(
            world.state.view,
            world.state.memory,
            ValueSettings(),
            foreseen.model_copy(update={"bands": (told,)}),
        )
        return bool(bands_of(seen, "service/shop/web"))

    assert (known("rates-ahead/1"), known("last_value")) == (True, False)
