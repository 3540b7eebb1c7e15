"""What waits for a person, as lists and pages show it: age, end, expected effect, and when it is settled."""

from __future__ import annotations

from projections.cycle_record import CycleRecord
from projections.event_text import event_text
from projections.operating import OperatingState, operating_after
from projections.waiting import Waiting
from schemas.approval import Answer, ControlApproval, OutcomeApproval
from schemas.config import Config
from schemas.envelope import Event
from schemas.model import EventData
from schemas.outcome import ExecutionPhase, OutcomeExecution
from tests.builders import (
    cycle_time,
    make_action,
    make_decision,
    make_execution,
    make_observation,
    stamp_event,
)


def asked(part: int = 0) -> OutcomeApproval:
    """Return what was asked in cycle 1, for ten minutes."""
    return OutcomeApproval(
        cycle=1,
        part=part,
        cluster_time_seconds=cycle_time(1),
        decision_id="d",
        action=make_action(),
        operations=(),
        expires_time_seconds=cycle_time(1) + 600.0,
        text="move two pods",
    )


def answer(said: Answer, request: Event[EventData]) -> ControlApproval:
    """Return a person's answer."""
    return ControlApproval(
        answer=said,
        request_id=request.id,
        cycle=1,
        nonce="n",
        wall_time_seconds=0.0,
        text="agreed",
    )


def test_a_line_says_how_long_it_waits_and_may_wait() -> None:
    """By cluster time; after its end it says so."""
    waiting = Waiting().after(stamp_event(asked()))
    assert waiting.lines() == ["1 move two pods (waits 0 s, expires in 600 s)"]
    later = make_observation(3, cycle=4)
    waiting = waiting.after(stamp_event(later))
    gone = later.cluster_time_seconds - cycle_time(1)
    assert waiting.lines() == [f"1 move two pods (waits {gone:g} s, expires in {600 - gone:g} s)"]
    over = make_observation(3, cycle=1_000)
    assert waiting.after(stamp_event(over)).lines() == ["1 move two pods (its time is over)"]


def test_an_answer_stands_until_the_executor_has_acted() -> None:
    """The first counts; what was executed or refused waits no more, other parts do."""
    first, second = stamp_event(asked()), stamp_event(asked(1))
    waiting = Waiting().after(first).after(second)
    yes = stamp_event(answer(Answer.APPROVE, first))
    no = stamp_event(answer(Answer.DENY, first))
    waiting = waiting.after(yes).after(no)
    assert [one.answer for one in waiting.actions] == [Answer.APPROVE, None]
    refused = make_execution(cycle=1, phase=ExecutionPhase.REFUSED)
    waiting = waiting.after(stamp_event(refused))
    assert [one.name for one in waiting.actions] == ["1.1"]


def test_what_it_is_expected_to_change_comes_from_the_decision() -> None:
    """A decision without expectations says nothing."""
    decided = stamp_event(make_decision(make_action(), cycle=1))
    request = stamp_event(asked().model_copy(update={"decision_id": decided.id}))
    (one,) = Waiting().after(decided).after(request).actions
    assert one.effect is None
    assert one.expected_text() == ""


def test_a_cycle_tells_of_it() -> None:
    """The record holds question and answer, and its result is `waiting` until something came of it."""
    request = stamp_event(asked())
    record = CycleRecord(1).after(request)
    assert record.result == "waiting"
    said = stamp_event(answer(Answer.DENY, request))
    record = record.after(said)
    assert [len(record.parts[0].requests), len(record.parts[0].answers)] == [1, 1]
    assert event_text(request) == "cycle 1: waits for `foresail approve`: move two pods"
    assert event_text(said) == "cycle 1: deny (agreed)"
    refused = make_execution(cycle=1, phase=ExecutionPhase.REFUSED)
    assert isinstance(refused, OutcomeExecution)
    assert record.after(stamp_event(refused)).result == "refused"


def test_the_mode_says_that_a_person_approves() -> None:
    """As the executor announces it."""
    config = Config(
        process="executor",
        config_hash="h",
        settings={"mode": "active", "approval": True},
        model_ids=(),
        code_version="",
    )
    assert operating_after(OperatingState(), config).mode == "approve"
