"""Trained models in the running system: what they say, when they cannot, and who acts upon it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from schemas.actions import ActionKind
from schemas.envelope import Event
from schemas.prediction import PredictionRisk, PredictionShadow
from schemas.proposal import Proposal
from schemas.reasons import Reason
from services.agents.service import build as build_agent
from services.agents.settings import AgentSettings
from services.inference.service import InferenceHandler, build
from services.inference.settings import InferenceSettings
from services.inference.state import InferenceState
from tests.builders import ORIGIN, stamp_event
from tests.forecast.live.world import World, newest_unpublished, state_after

LOW_RISK, HIGH_RISK = 0.017986, 0.731059


def active(folder: Path, **fields: Any) -> InferenceHandler:
    """Return inference with one trained risk model."""
    return build(InferenceSettings(model=str(folder), shadow_models=(), **fields), ORIGIN)


def one_failure() -> list[Event[Any]]:
    """Return three cycles: a pod starts on n1, then its container fails once and is restarted."""
    world = World()
    events = world.next_cycle()
    world.start("a")
    events += world.next_cycle()
    world.change("a", restarts=1)
    return events + world.next_cycle()


def safety_proposal(folder: Path, events: list[Event[Any]]) -> tuple[Proposal, PredictionRisk]:
    """Return what the safety agent wants under a model's own thresholds, and why."""
    handler = active(folder)
    told = newest_unpublished(handler, state_after(handler, events))["prediction.risk"]
    settings = AgentSettings.model_validate({"profile": "forecast", "risk_model": str(folder)})
    agent = build_agent(settings, ORIGIN, "safety")
    state = agent.initial()
    for event in (*events, stamp_event(told)):
        state = agent.evolve(state, event)
    new_event = agent.decide(state, overdue=False)[-1]
    assert isinstance(new_event.data, Proposal)
    return new_event.data, told


def test_two_models_that_differ_in_one_split_act_differently(make_model: Any) -> None:
    """The same recorded cycle, two models: one migrates, one does nothing; each names its model."""
    events = one_failure()

    acts, because = safety_proposal(make_model("once", 0.5), events)
    waits, why_not = safety_proposal(make_model("twice", 1.5), events)

    assert (acts.action.kind, acts.action.target.name) == (ActionKind.MIGRATE, "n1")
    assert waits.action.kind is ActionKind.NOOP
    assert because.model_id.startswith("once/")
    assert why_not.model_id.startswith("twice/")
    assert acts.profile == waits.profile == "forecast"


def test_a_prediction_says_what_it_is_and_what_it_read(make_model: Any) -> None:
    """Model, horizon, threshold, meaning, ages and the weightiest features travel with it."""
    handler = active(make_model())

    told = newest_unpublished(handler, state_after(handler, one_failure()))["prediction.risk"]

    assert dict(zip(told.nodes.ids, told.nodes.risk_ratio, strict=True)) == {
        "n1": HIGH_RISK,
        "n2": 0.0,
    }
    assert (told.horizon_seconds, told.calibrated, told.failure) == (900.0, True, "attempt_failed")
    assert told.alarm_ratio == 0.1
    assert {source.name for source in told.feature_sources} == {"attempts", "nodes"}
    assert all(source.age_seconds == 0.0 for source in told.feature_sources)
    first = told.contributions[0]
    assert (first.target, first.feature) == ("n1|default/Job/report-1", "job_fails_60m")
    assert first.value == 1.0
    assert told.contributions_unit == "log_odds"


def test_the_risk_of_a_node_grows_with_its_pods(make_model: Any) -> None:
    """risk = 1 - prod(1 - p) over the node's pods."""
    world = World()
    events = world.next_cycle()
    for number in range(3):
        world.start(f"p{number}")
    handler = active(make_model())

    told = newest_unpublished(handler, state_after(handler, events + world.next_cycle()))[
        "prediction.risk"
    ]

    assert told.nodes.risk_ratio[0] == pytest.approx(1 - (1 - LOW_RISK) ** 3, abs=2e-6)


def test_only_targets_above_the_lowest_threshold_are_explained(make_model: Any) -> None:
    """A calm node costs no explanation."""
    world = World()
    events = world.next_cycle()
    world.start("a")
    handler = active(make_model())

    assert (
        newest_unpublished(handler, state_after(handler, events + world.next_cycle()))[
            "prediction.risk"
        ].contributions
        == ()
    )


def test_features_of_a_stale_source_are_missing(make_model: Any) -> None:
    """The model gets no number that is too old, and the prediction says how old it was."""
    events = one_failure()
    world_events, observation = events[:-1], events[-1]
    signals = tuple(
        signal.model_copy(update={"status": "stale", "age_seconds": 99.0})
        if signal.name == "pods"
        else signal
        for signal in observation.data.signals
    )
    late = stamp_event(
        observation.data.model_copy(update={"signals": signals}), cycle=observation.cycle
    )
    handler = active(make_model())

    told = newest_unpublished(handler, state_after(handler, [*world_events, late]))[
        "prediction.risk"
    ]

    assert told.nodes.risk_ratio[0] == LOW_RISK
    assert {source.name: source.age_seconds for source in told.feature_sources}["attempts"] == 99.0


def test_without_snapshots_it_says_that_it_cannot(make_model: Any) -> None:
    """An observation alone is no history of attempts."""
    observation = one_failure()[-1]
    handler = active(make_model())

    data_by_subject = newest_unpublished(handler, state_after(handler, [observation]))

    assert data_by_subject["prediction.risk"].reason is Reason.MISSING_SIGNAL
    assert data_by_subject["prediction.demand"].status == "result"


def test_a_shadow_speaks_on_a_subject_of_its_own_and_changes_nothing(make_model: Any) -> None:
    """What the active models say is the same with and without shadows beside them."""
    shadows = (str(make_model("once", 0.5)), str(make_model("twice", 1.5)))
    settings = InferenceSettings(shadow_models=shadows, shadow_cycles=1, demand_bands=False)
    with_shadows = build(settings, ORIGIN)
    alone = build(InferenceSettings(shadow_models=()), ORIGIN)
    events = one_failure()

    data_by_subject = newest_unpublished(with_shadows, state_after(with_shadows, events))
    active_only = newest_unpublished(alone, state_after(alone, events))

    assert set(data_by_subject) - set(active_only) == {"prediction.shadow.1", "prediction.shadow.2"}
    assert {name: data_by_subject[name] for name in active_only} == active_only
    one, two = data_by_subject["prediction.shadow.1"], data_by_subject["prediction.shadow.2"]
    assert isinstance(one, PredictionShadow)
    assert one.risk_table is not None
    assert two.risk_table is not None
    assert (one.risk_table.risk_ratio[0], two.risk_table.risk_ratio[0]) == (HIGH_RISK, LOW_RISK)
    assert with_shadows.model_ids[1:] == (one.model_id, two.model_id)


def test_a_shadow_predicts_every_few_cycles_from_the_whole_history(make_model: Any) -> None:
    """In between nothing is owed, and nothing that happened in between is lost."""
    settings = InferenceSettings(shadow_models=(str(make_model()),), shadow_cycles=5)
    handler = build(settings, ORIGIN)
    world, events = World(), one_failure()
    world.cycle = 3
    state = state_after(handler, events)
    assert "prediction.shadow.1" not in newest_unpublished(handler, state)
    world.pods = {}
    world.frames = {}
    world.start("b")
    state = state_after(handler, world.next_cycle() + world.next_cycle(), state)

    shadow = newest_unpublished(handler, state)["prediction.shadow.1"]

    assert shadow.cycle == 5
    assert shadow.risk_table.risk_ratio[0] == HIGH_RISK


def test_a_large_cluster_lists_a_sample(make_model: Any) -> None:
    """A shadow's table holds evenly spaced nodes, and says how many it predicted."""
    settings = InferenceSettings(
        shadow_models=(str(make_model()),), shadow_cycles=1, shadow_targets=1
    )
    handler = build(settings, ORIGIN)

    shadow = newest_unpublished(handler, state_after(handler, one_failure()))["prediction.shadow.1"]

    assert (shadow.nodes, shadow.risk_table.ids) == (2, ("n1",))


def test_the_state_of_a_trained_model_survives_a_checkpoint(make_model: Any) -> None:
    """State through JSON and back says the same, now and after more cycles."""
    handler = active(make_model())
    world = World()
    events = world.next_cycle()
    world.start("a")
    state = state_after(handler, events + world.next_cycle())

    restored = InferenceState.model_validate(state.model_dump(mode="json"))

    assert newest_unpublished(handler, restored) == newest_unpublished(handler, state)
    world.change("a", restarts=1)
    more = world.next_cycle()
    assert newest_unpublished(handler, state_after(handler, more, restored)) == newest_unpublished(
        handler, state_after(handler, more, state)
    )


def test_a_history_too_large_for_a_checkpoint_is_left_out(
    make_model: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rest of the state is stored; after a restart the next snapshots begin the history anew."""
    handler = active(make_model())
    world = World()
    state = state_after(handler, world.next_cycle() + world.next_cycle())
    monkeypatch.setattr("services.inference.state.CHECKPOINT_BYTES", 1_000)

    restored = InferenceState.model_validate(state.model_dump(mode="json"))

    assert (restored.live, restored.view) == (None, state.view)
    monkeypatch.undo()
    world.frames.clear()
    again = state_after(handler, world.next_cycle(), restored)
    assert newest_unpublished(handler, again)["prediction.risk"].status == "result"


def test_the_announcement_names_models_by_id_and_never_by_folder(make_model: Any) -> None:
    """What goes into the log holds no path."""
    folder = make_model()
    settings = InferenceSettings(model=str(folder), shadow_models=(str(folder),))

    announced = settings.announcement()

    assert announced["model"].startswith("tiny/")
    assert str(folder.parent) not in str(announced)


def test_the_shipped_model_loads_and_can_be_named_by_its_id() -> None:
    """The default shadow fits this code's features, is small, and its id finds it again."""
    settings = InferenceSettings()
    (name,) = settings.shadow_models
    handler = build(settings, ORIGIN)
    again = build(InferenceSettings(shadow_models=(handler.model_ids[-1],)), ORIGIN)

    assert handler.model_ids[-1].startswith(f"{name}/")
    assert again.model_ids == handler.model_ids


def test_live_risk_is_kept_where_it_is_greater(make_model: Any) -> None:
    """p_fail = max(live, predicted), node by node, and the model's name says so; off, the model alone speaks."""
    events, folder = one_failure(), make_model("once", 0.5)
    found = {
        (keep, model): newest_unpublished(handler, state_after(handler, events))["prediction.risk"]
        for keep, model in ((False, str(folder)), (True, str(folder)), (False, "seed-formula/1"))
        for handler in [
            build(InferenceSettings(model=model, shadow_models=(), keep_live_risk=keep), ORIGIN)
        ]
    }
    alone, kept, live = found.values()
    by_model, by_formula = alone.nodes.risk_ratio, live.nodes.risk_ratio
    assert alone.nodes.ids == live.nodes.ids
    assert kept.nodes.risk_ratio == tuple(map(max, by_model, by_formula))
    assert kept.nodes.risk_ratio not in (by_model, by_formula)
    assert kept.model_id == f"{alone.model_id}+live"
    assert kept.line() != alone.line()
