"""The scoreboard takes a model of demand that loses money back to shadow, in the log, and a re-run says the same."""

from __future__ import annotations

from typing import Any

from lab.rerun.scoring import ScoringStage
from lab.rerun.settings import NO_CHANGES
from schemas.foresight import DemotionCause, OutcomeForesight
from schemas.promotion import ModelState
from services.scoreboard.settings import ScoreboardSettings
from services.scoreboard.state import ScoreboardState
from tests.builders import ORIGIN, make_config, stamp_event
from tests.rerun.conftest import recorded_of
from tests.scoreboard.foresight_world import LOOK_SECONDS, MODEL, ForesightWorld

SMALL = {"window_seconds": 7_200.0, "least_actions": 4, "least_action_blocks": 4}
"""Settings by which a model is judged within two hours."""


def false_alarms(world: ForesightWorld, times: int) -> None:
    """Raise for a rise that does not come, and give back, once in twenty minutes."""
    for _ in range(times):
        world.foresee(60.0)
        world.raise_ahead(7)
        world.ready = 7
        world.see(36.0, 1_200.0 - LOOK_SECONDS)
        world.wanted = world.ready = 4
        world.see(36.0, LOOK_SECONDS)


def judgements(world: ForesightWorld) -> list[OutcomeForesight]:
    """Return every judgement."""
    return [new.data for new in world.said if isinstance(new.data, OutcomeForesight)]


def test_a_model_that_raises_in_vain_stops_driving() -> None:
    """Five raises that only cost: the log says from which observation on nobody acts on it, with the numbers."""
    world = ForesightWorld(**SMALL)
    false_alarms(world, 7)

    (went,) = [one for one in judgements(world) if one.shadows and not one.before]
    (evidence,) = went.models
    assert (evidence.model_id, evidence.state) == (MODEL, ModelState.SHADOW)
    assert evidence.cause is DemotionCause.LOSES
    assert (evidence.right, evidence.actions >= 4) == (0, True)
    assert evidence.value_high is not None
    assert evidence.value_high < 0.0
    assert f"{MODEL} goes back to shadow from the next observation on" in went.line()
    assert judgements(world)[-1].before == (MODEL,)


def test_a_model_is_judged_by_its_bands_too() -> None:
    """What it foretells of steps is in the judgement, with its coverage."""
    world = ForesightWorld()
    for _ in range(8):
        world.foresee(36.0, horizon_seconds=300.0)
        world.see(36.0, 300.0)

    (evidence,) = judgements(world)[-1].models
    assert (evidence.cause, evidence.inside_ratio) == (DemotionCause.SCARCE, 1.0)
    assert evidence.targets >= 3


def test_switched_off_nothing_is_judged() -> None:
    """Bands are scored all the same."""
    world = ForesightWorld(enabled=False)
    false_alarms(world, 4)
    world.foresee(36.0, horizon_seconds=300.0)
    world.see(36.0, 600.0)

    assert judgements(world) == []
    assert world.of_part("action") == []
    assert len(world.of_part("bands")) > 0
    assert (
        "foresight"
        not in ScoreboardSettings.model_validate({"foresight": {"enabled": False}}).announcement()
    )


def test_a_re_run_says_the_same() -> None:
    """Every score and judgement is computed again from the log, from the beginning."""
    world = ForesightWorld(**SMALL)
    log = recorded(world)
    settings = ScoreboardSettings.model_validate({"foresight": SMALL}).announcement()
    stage = ScoringStage(NO_CHANGES, ORIGIN, from_start=True)
    stage.configure(make_config("scoreboard", **settings))
    pairs = []
    for event in log:
        if event.producer == "scoreboard":
            pairs += stage.answer(recorded_of(event))
        else:
            stage.take(event)

    assert any(isinstance(event.data, OutcomeForesight) and event.data.shadows for event in log)
    assert len(pairs) > 100
    assert all(pair.equal for pair in pairs)


def test_a_restart_judges_as_before() -> None:
    """State as text and back after each raise: the same judgements."""
    plain, again = ForesightWorld(**SMALL), ForesightWorld(**SMALL)
    for _ in range(6):
        false_alarms(plain, 1)
        false_alarms(again, 1)
        again.state = ScoreboardState.model_validate_json(again.state.model_dump_json())

    assert judgements(plain) == judgements(again)
    assert judgements(plain)[-1].shadows == (MODEL,)


def recorded(world: ForesightWorld) -> list[Any]:
    """Play false alarms; return the log."""
    log: list[Any] = []
    fold = world.take

    def take(data: Any, causes: tuple[str, ...] = ()) -> None:
        event = stamp_event(data, causes=causes, seq=len(log) + 1)
        log.append(event)
        fold(data, causes)

    world.take = take  # type: ignore[method-assign]
    false_alarms(world, 7)
    return log
