"""An agent as a handler: when it speaks, when it waits, and why it wants nothing."""

from __future__ import annotations

from typing import Any

import pytest

from schemas.actions import ActionKind, AgentName
from schemas.agents import agent_names
from schemas.envelope import Event
from schemas.frames import apply_frame
from schemas.proposal import Proposal, ProposalStatus
from schemas.reasons import Reason
from schemas.signals import SignalStatus
from services.agents.service import AgentHandler, build
from services.agents.settings import AgentSettings
from services.agents.state import AgentState
from tests.builders import ORIGIN, make_demand, make_observation, make_risk, stamp_event

MAKERS = {"safety": make_risk, "efficiency": make_demand}
READERS = list(MAKERS)
"""Agents that wait for a prediction."""


def handler_of(agent: AgentName, **settings: Any) -> AgentHandler:
    """Return one agent's handler."""
    return build(AgentSettings(profile="baseline-rules", **settings), ORIGIN, agent)


def state_after(handler: AgentHandler, *events: Event[Any]) -> AgentState:
    """Return the state after some events."""
    state = handler.initial()
    for event in events:
        state = handler.evolve(state, event)
    return state


def proposals(handler: AgentHandler, state: AgentState, *, overdue: bool = False) -> list[Proposal]:
    """Return what the agent proposes now."""
    made = [new_event.data for new_event in handler.decide(state, overdue=overdue)]
    assert all(isinstance(data, Proposal) for data in made)
    return made  # type: ignore[return-value]


def observation_event(cycle: int = 1, **options: Any) -> Event[Any]:
    """Return a stamped observation of one node."""
    return stamp_event(make_observation(1, cycle=cycle, **options))


@pytest.mark.parametrize("agent", READERS)
def test_an_agent_waits_for_its_prediction(agent: AgentName) -> None:
    """Before the prediction and before the deadline nothing is said."""
    handler = handler_of(agent)

    assert proposals(handler, state_after(handler, observation_event())) == []


@pytest.mark.parametrize("agent", READERS)
def test_an_agent_proposes_when_its_prediction_is_there(agent: AgentName) -> None:
    """The proposal rests on the observation and the prediction, and names both as causes."""
    handler = handler_of(agent)
    observation, prediction = observation_event(), stamp_event(MAKERS[agent]({"node-0": 0.2}))

    (new_event,) = handler.decide(state_after(handler, observation, prediction), overdue=False)

    assert new_event.causes == (observation.id, prediction.id)
    assert new_event.data.key() == agent


@pytest.mark.parametrize("agent", READERS)
def test_a_missing_prediction_is_a_noop_with_the_reason(agent: AgentName) -> None:
    """At the deadline an agent without its prediction says so instead of guessing."""
    handler = handler_of(agent)

    (made,) = proposals(handler, state_after(handler, observation_event()), overdue=True)

    assert (made.status, made.reason) == (ProposalStatus.NOOP, Reason.PREDICTION_MISSING)
    assert made.action.kind is ActionKind.NOOP


@pytest.mark.parametrize("agent", READERS)
def test_a_prediction_of_an_older_cycle_does_not_count(agent: AgentName) -> None:
    """Only the prediction of the judged cycle is used."""
    handler = handler_of(agent)
    state = state_after(
        handler,
        observation_event(1),
        stamp_event(MAKERS[agent]({"node-0": 0.99}, cycle=1)),
        observation_event(2),
    )

    made = proposals(handler, state, overdue=True)

    assert [(one.cycle, one.reason) for one in made] == [
        (1, Reason.SUPERSEDED),
        (2, Reason.PREDICTION_MISSING),
    ]


@pytest.mark.parametrize("agent", READERS)
def test_a_skipped_prediction_is_a_noop_with_the_reason(agent: AgentName) -> None:
    """When inference skipped, the agent names that."""
    handler = handler_of(agent)
    skipped = MAKERS[agent]({}, status="skipped", reason=Reason.MISSING_SIGNAL)

    (made,) = proposals(handler, state_after(handler, observation_event(), stamp_event(skipped)))

    assert (made.status, made.reason) == (ProposalStatus.NOOP, Reason.PREDICTION_SKIPPED)
    assert "missing_signal" in made.text


def test_admission_does_not_wait_for_inference() -> None:
    """Agent C judges the observation alone and never reads predictions."""
    handler = handler_of("admission")

    (made,) = proposals(
        handler, state_after(handler, observation_event(totals={"queue_length": 9}))
    )

    assert made.action.parameters == {"admission": "queue"}
    assert all("prediction" not in pattern for pattern in handler.reads)


@pytest.mark.parametrize("agent", agent_names())
@pytest.mark.parametrize("name", ["node_requests", "pods"])
@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (None, Reason.MISSING_SIGNAL),
        ({"status": SignalStatus.MISSING, "age_seconds": None}, Reason.MISSING_SIGNAL),
        ({"status": SignalStatus.ASSUMED, "age_seconds": None}, Reason.MISSING_SIGNAL),
        ({"status": SignalStatus.STALE, "age_seconds": 1.0}, Reason.STALE_SIGNAL),
        ({"age_seconds": 30.000001}, Reason.STALE_SIGNAL),
        ({"age_seconds": 5.1, "limit_seconds": 5.0}, Reason.STALE_SIGNAL),
        ({"age_seconds": 60.0, "limit_seconds": 120.0}, Reason.STALE_SIGNAL),
        ({"age_seconds": 120.1, "limit_seconds": 120.0, "watched": True}, Reason.STALE_SIGNAL),
    ],
)
def test_no_agent_proposes_on_stale_or_missing_signals(
    agent: AgentName, name: str, change: dict[str, Any] | None, reason: Reason
) -> None:
    """A signal that is too old, marked stale or not there makes a noop with the reason."""
    handler = handler_of(agent)

    (made,) = proposals(handler, state_after(handler, observation_event(signals={name: change})))

    assert (made.status, made.reason) == (ProposalStatus.NOOP, reason)
    assert name in made.text


@pytest.mark.parametrize(
    "change",
    [
        {"age_seconds": 30.0},
        {"age_seconds": 5.0, "limit_seconds": 5.0},
        {"age_seconds": 120.0, "limit_seconds": 120.0, "watched": True},  # a quiet cluster
    ],
)
def test_a_signal_exactly_at_its_limit_is_still_used(change: dict[str, Any]) -> None:
    """Stale begins above the limit."""
    handler = handler_of("admission")

    (made,) = proposals(handler, state_after(handler, observation_event(signals={"pods": change})))

    assert made.status is ProposalStatus.PROPOSED


def test_older_cycles_are_skipped_and_the_newest_is_judged() -> None:
    """After an outage only the newest observation gets a judgement."""
    handler = handler_of("admission")

    made = proposals(
        handler, state_after(handler, *(observation_event(cycle) for cycle in (1, 2, 3)))
    )

    assert [(one.cycle, one.status) for one in made] == [
        (1, ProposalStatus.SKIPPED),
        (2, ProposalStatus.SKIPPED),
        (3, ProposalStatus.PROPOSED),
    ]
    assert {one.reason for one in made[:2]} == {Reason.SUPERSEDED}


@pytest.mark.parametrize("agent", agent_names())
def test_an_agent_is_silent_about_cycles_that_hold_its_proposal(agent: AgentName) -> None:
    """After a restart nothing is said twice."""
    handler = handler_of(agent)
    state = state_after(handler, observation_event(1))
    (made,) = proposals(handler, state, overdue=True)

    state = handler.evolve(state, stamp_event(made))

    assert proposals(handler, state, overdue=True) == []
    assert handler.open_cycle(state) is None


def test_an_agent_that_starts_inside_a_chain_waits_for_the_keyframe() -> None:
    """Without the full state an agent says that it is missing."""
    handler = handler_of("admission")
    delta = make_observation(1, cycle=2, previous=apply_frame(None, make_observation(1, cycle=1)))
    assert delta.frame.frame == "delta"

    (made,) = proposals(handler, state_after(handler, stamp_event(delta)))

    assert (made.status, made.reason) == (ProposalStatus.NOOP, Reason.MISSING_SIGNAL)


@pytest.mark.parametrize("agent", agent_names())
def test_the_state_survives_a_checkpoint(agent: AgentName) -> None:
    """State through JSON and back proposes the same."""
    handler = handler_of(agent)
    events = [observation_event()]
    if agent in MAKERS:
        events.append(stamp_event(MAKERS[agent]({"node-0": 0.2})))
    state = state_after(handler, *events)

    restored = AgentState.model_validate(state.model_dump(mode="json"))

    assert restored == state
    assert handler.decide(restored, overdue=False) == handler.decide(state, overdue=False)


def test_agents_give_up_waiting_before_the_referee_does() -> None:
    """The agents' deadline is 0.35 of the wall interval."""
    assert handler_of("safety", wall_interval_seconds=10.0).deadline_seconds == 3.5


@pytest.mark.parametrize("agent", READERS)
def test_an_answered_prediction_is_forgotten_and_a_newer_one_kept(agent: AgentName) -> None:
    """Nobody asks for it again, and checkpoints stay small."""
    handler = handler_of(agent)
    waiting = state_after(
        handler, observation_event(1), stamp_event(MAKERS[agent]({"node-0": 0.2}))
    )
    (made,) = proposals(handler, waiting)
    newer = stamp_event(MAKERS[agent]({"node-0": 0.2}, cycle=2))

    assert handler.evolve(waiting, stamp_event(made)).prediction is None
    kept = handler.evolve(handler.evolve(waiting, newer), stamp_event(made)).prediction
    assert kept is not None
    assert kept.cycle == 2


def test_admission_passes_over_nodes_for_which_a_signal_does_not_hold() -> None:
    """The fullest node is not capped by numbers that are not its own."""
    rows = {"node-0": {"cpu_requested_ratio": 0.99}, "node-1": {"cpu_requested_ratio": 0.5}}
    handler = handler_of("admission")
    full = {"queue_length": 500}

    for exceptions, target in (((), "node-0"), (("node-0",), "node-1")):
        data = make_observation(
            rows, totals=full, signals={"node_requests": {"exceptions": exceptions}}
        )
        (made,) = proposals(handler, state_after(handler, stamp_event(data)))
        assert (made.action.kind, made.action.target.name) == (ActionKind.RESOURCE_CAP, target)
