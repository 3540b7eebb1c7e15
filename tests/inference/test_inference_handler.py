"""Inference as a handler: what it says of which cycle."""

from __future__ import annotations

import math
from typing import Any

import pytest

from bus.errors import ConfigError
from bus.item_errors import ItemErrors
from schemas.envelope import Event, NewEvent
from schemas.frames import apply_frame
from schemas.reasons import Reason
from schemas.signals import SignalStatus
from services.inference.models import load
from services.inference.prediction import PredictionBuilder
from services.inference.service import InferenceHandler, build
from services.inference.settings import InferenceSettings
from services.inference.state import InferenceState
from tests.builders import ORIGIN, make_observation, stamp_event


@pytest.fixture
def handler() -> InferenceHandler:
    """Inference with the baseline formula, and nothing beside it."""
    return build(InferenceSettings(shadow_models=()), ORIGIN)


def state_after(handler: InferenceHandler, *events: Event[Any]) -> InferenceState:
    """Return the state after some events."""
    state = handler.initial()
    for event in events:
        state = handler.evolve(state, event)
    return state


def data_of(new_event: NewEvent) -> Any:
    """Return the data of a new event."""
    return new_event.data


def summaries(new_events: tuple[NewEvent, ...]) -> list[tuple[int, str, str, Reason | None]]:
    """Return cycle, subject token, status and reason of each new event."""
    return [
        (
            new_event.cycle,
            new_event.data.tokens()[1],
            data_of(new_event).status,
            data_of(new_event).reason,
        )
        for new_event in new_events
    ]


def test_an_observation_gives_both_predictions_of_its_cycle(handler: InferenceHandler) -> None:
    """One result of each kind, caused by the observation."""
    observation = stamp_event(make_observation(2, cycle=5))

    new_events = handler.decide(state_after(handler, observation), overdue=False)

    assert summaries(new_events) == [(5, "risk", "result", None), (5, "demand", "result", None)]
    assert {new_event.causes for new_event in new_events} == {(observation.id,)}
    assert data_of(new_events[0]).nodes.ids == ("node-0", "node-1")


def test_older_open_cycles_are_superseded(handler: InferenceHandler) -> None:
    """After an outage only the newest observation is predicted."""
    events = [stamp_event(make_observation(1, cycle=cycle)) for cycle in (1, 2, 3)]

    new_events = handler.decide(state_after(handler, *events), overdue=False)

    assert summaries(new_events) == [
        (1, "risk", "skipped", Reason.SUPERSEDED),
        (1, "demand", "skipped", Reason.SUPERSEDED),
        (2, "risk", "skipped", Reason.SUPERSEDED),
        (2, "demand", "skipped", Reason.SUPERSEDED),
        (3, "risk", "result", None),
        (3, "demand", "result", None),
    ]


def test_nothing_is_owed_for_a_cycle_whose_predictions_are_in_the_log(
    handler: InferenceHandler,
) -> None:
    """After a restart inference is silent about cycles that hold its own output."""
    state = state_after(handler, stamp_event(make_observation(1, cycle=1)))
    said = [stamp_event(new_event.data) for new_event in handler.decide(state, overdue=False)]

    for event in said:
        state = handler.evolve(state, event)

    assert handler.decide(state, overdue=False) == ()
    assert handler.open_cycle(state) is None


def test_only_the_lost_half_of_a_cycle_is_said_again(handler: InferenceHandler) -> None:
    """A log that holds one prediction of two gets the other."""
    state = state_after(handler, stamp_event(make_observation(1, cycle=1)))
    risk, _ = handler.decide(state, overdue=False)

    state = handler.evolve(state, stamp_event(risk.data))

    assert summaries(handler.decide(state, overdue=False)) == [(1, "demand", "result", None)]


@pytest.mark.parametrize("name", ["node_requests", "pods"])
@pytest.mark.parametrize("change", [None, {"status": SignalStatus.MISSING}])
def test_a_missing_signal_skips_both_predictions(
    handler: InferenceHandler, name: str, change: dict[str, Any] | None
) -> None:
    """Without requests or pods nothing is predicted, and the reason says so."""
    observation = make_observation(1, signals={name: change})

    new_events = handler.decide(state_after(handler, stamp_event(observation)), overdue=False)

    assert summaries(new_events) == [
        (1, "risk", "skipped", Reason.MISSING_SIGNAL),
        (1, "demand", "skipped", Reason.MISSING_SIGNAL),
    ]


def test_an_empty_cluster_is_skipped_as_such(handler: InferenceHandler) -> None:
    """No nodes is a reason of its own."""
    new_events = handler.decide(
        state_after(handler, stamp_event(make_observation(0))), overdue=False
    )

    assert {reason for *_, reason in summaries(new_events)} == {Reason.NO_NODES}


def test_a_reader_that_starts_inside_a_chain_waits_for_the_keyframe(
    handler: InferenceHandler,
) -> None:
    """A delta without its keyframe is skipped as missing; the next keyframe is predicted."""
    first = make_observation(2, cycle=1)
    delta = make_observation(2, cycle=2, previous=apply_frame(None, first))
    assert delta.frame.frame == "delta"

    state = state_after(handler, stamp_event(delta))
    assert {reason for *_, reason in summaries(handler.decide(state, overdue=False))} == {
        Reason.MISSING_SIGNAL
    }

    state = handler.evolve(state, stamp_event(make_observation(2, cycle=3)))
    assert (3, "risk", "result", None) in summaries(handler.decide(state, overdue=False))


def test_deltas_are_predicted_like_keyframes(handler: InferenceHandler) -> None:
    """The prediction reads the full state whichever way it travelled."""
    first = make_observation({"node-0": {}, "node-1": {}, "node-2": {}}, cycle=1)
    changed = {"node-0": {"cpu_requested_ratio": 1.0}, "node-1": {}, "node-2": {}}
    delta = make_observation(changed, cycle=2, previous=apply_frame(None, first))
    whole = make_observation(changed, cycle=2)

    by_delta = handler.decide(
        state_after(handler, stamp_event(first), stamp_event(delta)), overdue=False
    )[-2:]
    by_keyframe = handler.decide(state_after(handler, stamp_event(whole)), overdue=False)

    assert delta.frame.frame == "delta"
    assert [new_event.data for new_event in by_delta] == [
        new_event.data for new_event in by_keyframe
    ]


def test_nodes_for_which_the_signal_does_not_hold_are_left_out(handler: InferenceHandler) -> None:
    """An excepted node gets no number instead of a made-up one."""
    observation = make_observation(2, signals={"node_requests": {"exceptions": ("node-0",)}})

    risk, demand = handler.decide(state_after(handler, stamp_event(observation)), overdue=False)

    assert data_of(risk).nodes.ids == ("node-1",)
    assert data_of(demand).nodes.ids == ("node-1",)


def test_contributions_explain_the_most_urgent_targets_and_add_up(
    handler: InferenceHandler,
) -> None:
    """At most 20 targets above the action threshold are explained by terms that add up."""
    rows = {
        f"node-{number:02}": {"cpu_requested_ratio": number / 30, "memory_requested_ratio": 1.0}
        for number in range(30)
    }

    risk, _ = handler.decide(
        state_after(handler, stamp_event(make_observation(rows))), overdue=False
    )
    data = data_of(risk)
    said = dict(zip(data.nodes.ids, data.nodes.risk_ratio, strict=True))
    targets = list(dict.fromkeys(item.target for item in data.contributions))

    assert targets == [f"node-{number:02}" for number in range(29, 9, -1)]
    for target in targets:
        terms = [item.contribution for item in data.contributions if item.target == target]
        assert math.fsum(terms) == pytest.approx(said[target], abs=2e-6)


def test_the_features_hash_names_the_numbers_that_were_read(handler: InferenceHandler) -> None:
    """A changed feature changes the hash; a signal the formula does not read does not."""

    def hash_of(row: dict[str, Any]) -> str:
        state = state_after(handler, stamp_event(make_observation({"node-0": row})))
        return str(data_of(handler.decide(state, overdue=False)[0]).features_hash)

    assert hash_of({"cpu_requested_ratio": 0.51}) != hash_of({})
    assert hash_of({"cpu_used_ratio": 0.51}) == hash_of({})


def test_an_unknown_model_is_one_clear_line() -> None:
    """Field, value and remedy are named."""
    with pytest.raises(ConfigError, match=r"inference\.model = borg/9: use one of: seed-formula/1"):
        load(InferenceSettings(model="borg/9"))


def test_the_state_survives_a_checkpoint(handler: InferenceHandler) -> None:
    """State through JSON and back decides the same."""
    state = state_after(handler, stamp_event(make_observation(3, cycle=1, pods=2)))

    restored = InferenceState.model_validate(state.model_dump(mode="json"))

    assert handler.decide(restored, overdue=False) == handler.decide(state, overdue=False)
    assert restored.model_dump(mode="json") == state.model_dump(mode="json")


def test_a_model_that_fails_costs_its_own_output(
    handler: InferenceHandler, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other predictions of the cycle are made; by the next cycle, the one that is missing is superseded."""
    errors = ItemErrors("inference")
    handler.item = errors.item

    def poisoned(_builder: PredictionBuilder) -> Any:
        raise FloatingPointError("poison")

    state = state_after(handler, stamp_event(make_observation(1, cycle=1)))
    with monkeypatch.context() as patched:
        patched.setattr(PredictionBuilder, "_formula_demand", poisoned)
        first = handler.decide(state, overdue=False)
    for new_event in first:
        state = handler.evolve(state, stamp_event(data_of(new_event)))
    state = handler.evolve(state, stamp_event(make_observation(1, cycle=2)))
    second = handler.decide(state, overdue=False)

    assert summaries(first) == [(1, "risk", "result", None)]
    assert summaries(second)[0] == (1, "demand", "skipped", Reason.SUPERSEDED)
    assert {"predict demand": 1} == errors.counts
