"""The scoreboard's promotion of risk models: judged from the log alone, published once, and obeyed by nobody here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from projections.promotion.settings import PromotionSettings
from schemas.actions import ActionKind
from schemas.breaker import BreakerCause
from schemas.effect import Effect
from schemas.envelope import Event
from schemas.prediction import PredictionShadow, RiskTable
from schemas.promotion import OutcomeModels, PromotionCause
from schemas.proposal import LeftUntouched, UntouchedDraw
from schemas.tables import table_of
from services.scoreboard.service import build
from services.scoreboard.settings import ScoreboardSettings
from services.scoreboard.state import ScoreboardState
from tests.builders import (
    ORIGIN,
    START_SECONDS,
    make_action,
    make_execution,
    make_observation,
    make_proposal,
    make_risk,
    stamp_event,
)
from tests.score_events import make_breaker, make_breaker_change

SETTINGS = PromotionSettings(
    when="on", window_seconds=1_800.0, block_seconds=60.0, least_positives=6, least_failing=3
)
INTERVAL = 20.0
BEGIN = START_SECONDS - START_SECONDS % SETTINGS.block_seconds
NODES = tuple(f"node-{number}" for number in range(12))
MODEL = "tiny/000000000000"
WORTH = Effect(
    horizon_seconds=60.0, terms={}, net=1.0, low=0.0, high=2.0, per_hour=60.0, currency="USD"
)


def handler_of(promotion: PromotionSettings = SETTINGS) -> Any:
    """Return a scoreboard with such a promotion."""
    return build(ScoreboardSettings(promotion=promotion), ORIGIN)


def at(cycle: int) -> float:
    """Return the cluster time of a cycle."""
    return BEGIN + cycle * INTERVAL


def observation(cycle: int, failed: Sequence[str] = (), nodes: Sequence[str] = NODES) -> Event[Any]:
    """Return an observation in which each of some nodes shows another restart than the cycle before."""
    pods = {
        f"default/{name}": {"node": name, "restarts": cycle if name in failed else 0}
        for name in nodes
    }
    fields = {"cluster_time_seconds": at(cycle), "interval_seconds": INTERVAL}
    data = make_observation({name: {} for name in nodes}, cycle=cycle, pods=pods, **fields)
    return stamp_event(data)


def shadow(cycle: int, ratios: dict[str, float], **fields: Any) -> Event[Any]:
    """Return what a shadow model predicts for the 20 s after a cycle."""
    rows = {name: {"risk_ratio": value} for name, value in ratios.items()}
    given: dict[str, Any] = {
        "cycle": cycle, "cluster_time_seconds": at(cycle), "status": "result", "model_id": MODEL,
        "features_hash": "0" * 64, "calibrated": True, "slot": 1, "nodes": len(ratios),
        "risk_table": table_of(RiskTable, rows), "failure": "attempt_failed", "alarm_ratio": 0.5,
        "horizon_seconds": INTERVAL,
    }  # fmt: skip
    return stamp_event(PredictionShadow(**{**given, **fields}))


def skilful(cycles: int, first: int = 0, **fields: Any) -> list[Event[Any]]:
    """Return cycles in each of which one node, the next each time, fails and was foreseen."""
    events = []
    for cycle in range(first, first + cycles):
        failed, fails = NODES[cycle % len(NODES)], NODES[(cycle + 1) % len(NODES)]
        events.append(observation(cycle, [failed] if cycle > first else []))
        events.append(
            shadow(cycle, {name: 0.9 if name == fails else 0.02 for name in NODES}, **fields)
        )
    return events


def played(
    handler: Any, events: Sequence[Event[Any]], state: ScoreboardState | None = None
) -> tuple[ScoreboardState, list[OutcomeModels]]:
    """Return the state after some events, and every judgement, each stored as soon as it is owed."""
    state = handler.initial() if state is None else state
    judgements = []
    for event in events:
        state = handler.evolve(state, event)
        for new_event in handler.decide(state, overdue=False):
            if isinstance(new_event.data, OutcomeModels):
                judgements.append(new_event.data)
                state = handler.evolve(state, stamp_event(new_event.data))
    assert state is not None
    return state, judgements


def newest(events: Sequence[Event[Any]]) -> Any:
    """Return what the newest judgement says of the only model."""
    _, judgements = played(handler_of(), events)
    (model,) = judgements[-1].models
    return model


def test_a_shadow_that_shows_skill_is_made_the_driver_once() -> None:
    """The event names both models and the numbers, and each judgement comes once."""
    _, judgements = played(handler_of(), skilful(30))
    assert len({one.cycle for one in judgements}) == len(judgements) > 5
    turned = [one for one in judgements if one.driving != one.before]
    assert [(one.before, one.driving) for one in turned] == [("", MODEL)]
    (model,) = turned[0].models
    assert (model.state, model.cause, model.slot) == ("active", "shown", 1)
    assert model.hits == model.alarms == model.positives


def test_a_restart_goes_on_where_the_checkpoint_left_it() -> None:
    """The state as JSON is the state: the same judgements follow, and none twice."""
    events = skilful(24)
    _, whole = played(handler_of(), events)
    for place in range(0, len(events), 5):
        state, before = played(handler_of(), events[:place])
        restored = ScoreboardState.model_validate_json(state.model_dump_json())
        _, after = played(handler_of(), events[place:], restored)
        assert before + after == whole


def test_switched_off_neither_checkpoint_nor_announcement_mentions_it() -> None:
    """Recordings of a run without promotion are what they were before there was any."""
    for off in (PromotionSettings(), PromotionSettings(when="off")):
        settings = ScoreboardSettings(promotion=off)
        state, judgements = played(build(settings, ORIGIN), skilful(30))
        assert judgements == []
        assert "promotion" not in state.model_dump(mode="json")
        assert "promotion" not in settings.announcement()


def test_what_the_driver_says_as_the_driver_is_not_scored_twice() -> None:
    """It goes on predicting as a shadow, of the same nodes in the same cycles, and that is what it is judged by."""
    twice = [*skilful(20)]
    for cycle in range(20):
        drives = make_risk(
            dict.fromkeys(NODES, 0.5), cycle=cycle, cluster_time_seconds=at(cycle), model_id=MODEL,
            failure="attempt_failed", calibrated=True, horizon_seconds=INTERVAL,
        )  # fmt: skip
        twice.insert(3 * cycle + 2, stamp_event(drives))
    assert newest(twice) == newest(skilful(20))


def test_nodes_that_were_acted_upon_are_left_out_and_those_left_on_purpose_stand_for_them() -> None:
    """An execution makes an outcome unknown; a draw that leaves one node in twenty makes it count twenty times."""
    events = skilful(20)
    place = 2 * 10 + 2
    drawn = UntouchedDraw(
        seed=1, ratio=0.05, epoch=1, ends_seconds=at(1_000),
        left=(
            LeftUntouched(
                action=make_action("efficiency", ActionKind.POWER_STATE, "node-4", power_state="sleep"),
                effect=WORTH,
                text="left",
            ),
        ),
    )  # fmt: skip
    proposal = make_proposal("efficiency", cycle=10, untouched=drawn, cluster_time_seconds=at(10))
    left = newest([*events[:place], stamp_event(proposal), *events[place:]])
    plain = newest(events)
    assert (left.targets, left.left) == (plain.targets, 2)  # until a horizon later

    execution = make_execution(
        make_action("efficiency", ActionKind.POWER_STATE, "node-5", power_state="sleep"),
        cycle=10, cluster_time_seconds=at(10),
    )  # fmt: skip
    acted = newest([*events[:place], stamp_event(execution), *events[place:]])
    assert acted.unseen > plain.unseen
    assert acted.targets + acted.unseen == plain.targets + plain.unseen


def test_what_a_model_says_without_any_ground_is_no_alarm() -> None:
    """It abstains there: the number counts in the skill, and nobody is called for it."""
    plain, abstains = newest(skilful(12)), newest(skilful(12, grounds="-" * len(NODES)))
    assert plain.alarms == plain.positives == 8
    assert (abstains.alarms, abstains.hits) == (0, 0)
    assert abstains.skill == plain.skill


def test_a_node_that_went_counts_as_it_was_seen() -> None:
    """It ended what ran on it, which is another end than a failure; to leave it out would hide what did not fail."""
    events = skilful(12)
    gone = [name for name in NODES if name != "node-9"]
    events += [
        observation(12, ["node-0"], gone),
        observation(13, (), gone),
        observation(15, (), gone),
    ]
    assert newest(events).targets == 11 * len(NODES)  # a prediction of cycle 0 is never scored


def test_where_nobody_looked_nothing_is_known() -> None:
    """After lost frames the failures in between were not seen: what waited is left out."""
    handler = handler_of()
    events = skilful(12)
    state, _ = played(handler, events)
    blind = state.model_copy(update={"view": None})
    later = [observation(12, ["node-0"]), observation(15)]
    _, seen = played(handler, later, state)
    _, unseen = played(handler, later, blind)
    assert seen[-1].models[0].unseen == 0
    assert unseen[-1].models[0].unseen == len(NODES)


def test_a_breaker_for_lack_of_skill_sends_the_driver_back() -> None:
    """What was decided by its forecasts was worse than a constant, so it drives no longer."""
    events = skilful(30)
    change = make_breaker_change(make_breaker("migrate", cause=BreakerCause.SKILL))
    tripped = change.model_copy(
        update={"cluster_time_seconds": at(29), "cause": BreakerCause.SKILL}
    )
    _, judgements = played(handler_of(), [*events, stamp_event(tripped), *skilful(3, first=30)])
    assert judgements[-1].models[0].cause is PromotionCause.BREAKER
    assert (judgements[-1].before, judgements[-1].driving) == (MODEL, "")
