"""A proposal that was made before its cycle's prediction was read is judged again without it."""

from __future__ import annotations

from typing import Any

from lab.rerun.answering import AnsweringStage
from lab.rerun.settings import NO_CHANGES, agent_settings
from lab.rerun.stage import Pair
from schemas.config import Config
from schemas.envelope import Event
from schemas.prediction import PredictionDemand
from schemas.proposal import Proposal
from services.agents.service import AgentHandler, build
from tests.agents.test_value_bands import steady_world
from tests.builders import ORIGIN, make_config, make_prediction, stamp_event
from tests.rerun.conftest import recorded_of

SETTINGS = {
    "profile": "foresail", "thresholds": {}, "signal_limit_intervals": 3.0, "value": {"forecast": True},
}  # fmt: skip


def log_of_late_reading() -> list[Event[Any]]:
    """Return a log in whose last cycle a rise was foreseen and stored, and the agent answered before it had read so."""
    world = steady_world(high=62.0)
    world.late = True
    world.play()
    assert world.foretells is not None
    assert world.state.view is not None
    prediction = make_prediction(
        PredictionDemand, cycle=world.cycle, bands=world.foretells(world.state.view),
        cluster_time_seconds=world.state.view.cluster_time_seconds,
    )  # fmt: skip
    *before, proposal = world.log
    return [*before, stamp_event(prediction), proposal]


def judged_again(log: list[Event[Any]]) -> list[Pair]:
    """Return every proposal of a log beside what is proposed again."""
    stage = AnsweringStage(
        "agent-safety", "proposal", (("proposal", "safety"),), _agent, ORIGIN, from_start=True
    )
    stage.configure(make_config("agent-safety", **SETTINGS))
    pairs: list[Pair] = []
    for event in log:
        if isinstance(event.data, Proposal):
            pairs += stage.answer(recorded_of(event))
        else:
            stage.take(event)
    return [*pairs, *stage.finish()]


def _agent(config: Config) -> AgentHandler:
    return build(agent_settings("safety", config, NO_CHANGES), ORIGIN, "safety")


def test_the_prediction_of_an_overdue_proposal_is_hidden() -> None:
    """It is in the log before the proposal, would have asked for more replicas, and the same noop comes out again."""
    log = log_of_late_reading()
    assert log[-1].data.prediction_overdue
    assert log[-1].data.action.kind == "noop"

    pairs = judged_again(log)

    assert len(pairs) == 21
    assert all(pair.equal for pair in pairs)


def test_what_was_read_in_time_is_not_hidden() -> None:
    """The same log whose last proposal does not say that it came too early is another one."""
    log = log_of_late_reading()
    read = log[-1].data.model_copy(update={"prediction_overdue": False})
    log[-1] = stamp_event(read, causes=log[-1].causation_ids, seq=log[-1].seq)

    *before, last = judged_again(log)

    assert all(pair.equal for pair in before)
    assert not last.equal
    assert last.computed is not None
    assert isinstance(last.computed.data, Proposal)
    assert last.computed.data.forecast is not None
    assert last.computed.data.action.kind == "replicate"
