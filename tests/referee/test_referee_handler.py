"""The referee as a handler: how each cycle closes, exactly once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from schemas.actions import ActionKind, AgentName
from schemas.decision import ClosedBy, Decision
from schemas.envelope import Event
from schemas.reasons import Reason
from schemas.view import OPEN_LIMIT
from services.referee.service import RefereeHandler, build
from services.referee.settings import RefereeSettings
from services.referee.state import RefereeState
from tests.builders import ORIGIN, make_observation, make_proposal, stamp_event

A, B, C = "safety", "efficiency", "admission"
HANDLER = build(RefereeSettings(), ORIGIN)


def observation_event(cycle: int, expected: Sequence[AgentName] = (A, B, C)) -> Event[Any]:
    """Return a stamped observation."""
    return stamp_event(make_observation(1, cycle=cycle, expected_agents=expected))


def proposal_events(cycle: int, *agents: AgentName) -> list[Event[Any]]:
    """Return stamped proposals: A replicates, B sleeps a node, C admits."""
    made = {
        A: make_proposal(A, ActionKind.REPLICATE, cycle=cycle, score=0.9),
        B: make_proposal(
            B, ActionKind.POWER_STATE, cycle=cycle, parameters={"power_state": "sleep"}
        ),
        C: make_proposal(C, ActionKind.ADMISSION, cycle=cycle, parameters={"admission": "admit"}),
    }
    return [stamp_event(made[agent]) for agent in agents]


def state_after(*events: Event[Any], state: RefereeState | None = None) -> RefereeState:
    """Return the state after some events."""
    after = HANDLER.initial() if state is None else state
    for event in events:
        after = HANDLER.evolve(after, event)
    return after


def decisions(state: RefereeState, *, overdue: bool = False) -> list[Decision]:
    """Return what the referee decides now."""
    made = [new_event.data for new_event in HANDLER.decide(state, overdue=overdue)]
    assert all(isinstance(data, Decision) for data in made)
    return made  # type: ignore[return-value]


def closings(state: RefereeState, *, overdue: bool = False) -> list[tuple[int, ClosedBy]]:
    """Return cycle and closing of each decision."""
    return [(decision.cycle, decision.closed_by) for decision in decisions(state, overdue=overdue)]


def test_a_cycle_closes_when_all_expected_agents_have_proposed() -> None:
    """Not before, and without waiting for the deadline."""
    partial = state_after(observation_event(1), *proposal_events(1, A, C))
    whole = state_after(*proposal_events(1, B), state=partial)

    assert decisions(partial) == []
    assert closings(whole) == [(1, ClosedBy.ALL)]


def test_only_expected_agents_are_waited_for() -> None:
    """The observation names whom to expect."""
    assert closings(state_after(observation_event(1, (C,)), *proposal_events(1, C))) == [
        (1, ClosedBy.ALL)
    ]


def test_the_deadline_closes_a_cycle_and_names_who_is_missing() -> None:
    """With agent B dead, A and C still decide."""
    (made,) = decisions(state_after(observation_event(1), *proposal_events(1, A, C)), overdue=True)

    assert made.closed_by is ClosedBy.DEADLINE
    assert made.missing == (B,)
    assert made.action.agent is A
    assert "missing: efficiency" in made.rationale


def test_without_any_proposal_the_referee_says_noop_itself() -> None:
    """No proposals by the deadline: noop, everybody missing, in the order A, C, B."""
    (made,) = decisions(state_after(observation_event(1)), overdue=True)

    assert (made.action.agent, made.action.kind) == (None, ActionKind.NOOP)
    assert (made.reason, made.missing) == (Reason.NO_PROPOSALS, (A, C, B))


def test_the_decision_names_everything_it_rests_on() -> None:
    """Causes are the observation and the considered proposals in canonical order."""
    observation, proposals = observation_event(1), proposal_events(1, B, C, A)

    (new_event,) = HANDLER.decide(state_after(observation, *proposals), overdue=False)

    by_agent = {event.data.agent: event.id for event in proposals}
    assert new_event.causes == (observation.id, by_agent[A], by_agent[C], by_agent[B])
    assert new_event.data.observation_id == observation.id  # type: ignore[attr-defined]
    assert new_event.data.key() == ""


def test_a_newer_observation_supersedes_an_incomplete_cycle() -> None:
    """The old cycle gets a noop that lists what had been proposed; the new one stays open."""
    (made,) = decisions(
        state_after(observation_event(1), *proposal_events(1, A, C), observation_event(2))
    )

    assert (made.cycle, made.closed_by) == (1, ClosedBy.SUPERSEDED)
    assert (made.action.kind, made.reason) == (ActionKind.NOOP, Reason.SUPERSEDED)
    assert sorted(made.overridden) == ["admission", "safety"]
    assert made.missing == (B,)


def test_a_complete_cycle_is_ruled_on_although_a_newer_observation_came() -> None:
    """All its proposals are there and nothing newer can be decided yet."""
    (made,) = decisions(
        state_after(observation_event(1), *proposal_events(1, A, B, C), observation_event(2))
    )

    assert (made.cycle, made.closed_by, made.action.agent) == (1, ClosedBy.ALL, A)


def test_after_an_outage_only_the_newest_complete_cycle_is_ruled_on() -> None:
    """Older cycles are superseded even when complete; the newest closes as restart."""
    events = [
        event
        for cycle in (1, 2, 3)
        for event in (observation_event(cycle), *proposal_events(cycle, A, B, C))
    ]

    made = decisions(state_after(*events))

    assert [(decision.cycle, decision.closed_by) for decision in made] == [
        (1, ClosedBy.SUPERSEDED),
        (2, ClosedBy.SUPERSEDED),
        (3, ClosedBy.RESTART),
    ]
    assert [one.action.kind for one in made][:2] == [ActionKind.NOOP, ActionKind.NOOP]
    assert made[2].action.kind is ActionKind.REPLICATE


def test_the_referee_is_silent_about_cycles_that_hold_its_decision() -> None:
    """After a restart nothing is decided twice."""
    state = state_after(observation_event(1), *proposal_events(1, A, B, C))
    (made,) = decisions(state)

    state = state_after(stamp_event(made), state=state)

    assert decisions(state, overdue=True) == []
    assert HANDLER.open_cycle(state) is None


def test_a_late_proposal_changes_nothing() -> None:
    """A proposal stored after the decision stays late."""
    state = state_after(observation_event(1), *proposal_events(1, A, C))
    (made,) = decisions(state, overdue=True)

    late = state_after(stamp_event(made), *proposal_events(1, B), state=state)

    assert decisions(late, overdue=True) == []


def test_a_second_proposal_of_the_same_agent_is_ignored() -> None:
    """One proposal per agent and cycle counts: the first stored."""
    state = state_after(observation_event(1), *proposal_events(1, C))

    assert state_after(*proposal_events(1, C), state=state) == state


def test_equal_decisions_are_counted() -> None:
    """repeat_count counts the row of equal actions on equal targets."""
    state = HANDLER.initial()
    counts = []
    for cycle, agents in enumerate([(A, B, C), (A, B, C), (B, C), (A, B, C)], start=1):
        state = state_after(
            observation_event(cycle, agents), *proposal_events(cycle, *agents), state=state
        )
        (made,) = decisions(state)
        counts.append(made.repeat_count)
        state = state_after(stamp_event(made), state=state)

    assert counts == [1, 2, 1, 1]
    backlog = state_after(*(observation_event(cycle) for cycle in (5, 6, 7)), state=state)
    assert [decision.repeat_count for decision in decisions(backlog, overdue=True)] == [1, 2, 3]


def test_another_target_begins_a_new_row() -> None:
    """The same kind of action on another node is not the same decision again."""
    state, counts = HANDLER.initial(), []
    for cycle, target in enumerate(["n1", "n1", "n2", "n2", "n2"], start=1):
        proposal = stamp_event(make_proposal(A, ActionKind.MIGRATE, cycle=cycle, target=target))
        state = state_after(observation_event(cycle, (A,)), proposal, state=state)
        (made,) = decisions(state)
        counts.append(made.repeat_count)
        state = state_after(stamp_event(made), state=state)

    assert counts == [1, 2, 1, 2, 3]


def test_a_decision_closes_its_own_cycle_only() -> None:
    """Older cycles that the log holds no decision for are still owed one."""
    state = state_after(observation_event(1), observation_event(2), observation_event(3))
    made = decisions(state_after(observation_event(2), *proposal_events(2, A, B, C)))

    left = state_after(stamp_event(made[0]), state=state)

    assert [cycle.cycle for cycle in left.open] == [1, 3]


def test_a_number_that_comes_again_stands_for_the_newest_observation() -> None:
    """A collector that begins anew from an older log repeats numbers: what was open there is void."""
    state = state_after(
        observation_event(1),
        observation_event(2),
        *proposal_events(2, A),
        observation_event(3),
        observation_event(2),
    )

    assert [cycle.cycle for cycle in state.open] == [1, 2]
    assert state.open[-1].proposals == ()


def test_the_newest_open_cycles_are_kept() -> None:
    """However long nobody decides, the state stays small and holds the newest."""
    state = state_after(*(observation_event(cycle) for cycle in range(1, OPEN_LIMIT + 4)))

    assert [cycle.cycle for cycle in state.open] == list(range(4, OPEN_LIMIT + 4))


def test_the_referee_waits_longer_than_the_agents() -> None:
    """The referee's deadline is 0.6 of the wall interval."""
    assert build(RefereeSettings(wall_interval_seconds=10.0), ORIGIN).deadline_seconds == 6.0


@st.composite
def any_log(draw: st.DrawFn) -> list[Event[Any]]:
    """Draw a log of up to four cycles with some proposals and some decisions."""
    events: list[Event[Any]] = []
    for cycle in range(1, draw(st.integers(1, 4)) + 1):
        events.append(observation_event(cycle))
        events += proposal_events(cycle, *draw(st.lists(st.sampled_from([A, B, C]), unique=True)))
        if draw(st.booleans()):
            made = decisions(state_after(*events), overdue=True)
            events += [stamp_event(one) for one in made]
    return events


@given(any_log(), st.booleans())
def test_fold_and_decisions_are_deterministic_and_survive_a_checkpoint(
    log: list[Event[Any]], overdue: bool
) -> None:
    """Applying the events again, or going on from a checkpoint, decides exactly the same."""
    state = state_after(*log)
    restored = RefereeState.model_validate(state.model_dump(mode="json"))

    assert state_after(*log) == state == restored
    assert HANDLER.decide(state, overdue=overdue) == HANDLER.decide(restored, overdue=overdue)


@given(any_log())
def test_every_cycle_gets_exactly_one_decision(log: list[Event[Any]]) -> None:
    """Decisions in the log and those owed now cover every observed cycle once."""
    logged = [event.cycle for event in log if isinstance(event.data, Decision)]
    owed = [decision.cycle for decision in decisions(state_after(*log), overdue=True)]

    observed_cycles = {event.cycle for event in log}
    assert sorted(logged + owed) == sorted(observed_cycles)


def test_a_handler_starts_without_anything_to_say() -> None:
    """Nothing is owed before the first observation."""
    handler: RefereeHandler = HANDLER

    assert handler.decide(handler.initial(), overdue=True) == ()
