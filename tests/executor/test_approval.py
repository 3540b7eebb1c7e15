"""A person approves each action: nothing is written before, after the time is over, or when the answer is no."""

from __future__ import annotations

from typing import Any

import pytest

from schemas.actions import ActionKind
from schemas.approval import Answer, ControlApproval, OutcomeApproval
from schemas.control import Command
from schemas.outcome import ExecutionPhase, Mode, OutcomeExecution
from schemas.reasons import Reason
from services.executor.approvals import shows_the_same
from services.executor.ledger import evolve
from services.executor.pending import MOST_WAITING
from services.executor.settings import ExecutorSettings
from tests.builders import INTERVAL_SECONDS, make_action, make_control, stamp_event
from tests.executor.plant import Plant
from tests.executor.test_writes import SCALE

SECONDS = 60.0
LAST = 1 + int(SECONDS / INTERVAL_SECONDS)
"""Cycle by whose observation the time of what was asked in cycle 1 is over."""


class Office:
    """A plant whose every action waits for a person, and whoever answers."""

    def __init__(self, mode: Mode = Mode.ACTIVE, **policy: Any) -> None:
        """Ask for each action."""
        given = {"approval": True, "approval_seconds": SECONDS, **policy}
        self.plant = Plant(mode, policy=given)
        self.said = 0

    async def wish(self, cycle: int, node: str = "") -> None:
        """Decide to put a node to sleep."""
        self.plant.see(cycle)
        action = self.plant.sleep()
        if node:
            target = action.target.model_copy(update={"name": node})
            action = action.model_copy(update={"target": target})
        self.plant.decide(action, cycle)
        await self.plant.act()

    async def see(self, cycle: int) -> None:
        """Observe."""
        self.plant.see(cycle)
        await self.plant.act()

    async def say(self, answer: Answer, request: str | None = None) -> None:
        """Answer what waits, or a request by its id."""
        self.said += 1
        waiting = self.plant.state.waiting
        data = ControlApproval(
            answer=answer,
            request_id=waiting[0].request_id if request is None else request,
            cycle=1,
            nonce=str(self.said),
            wall_time_seconds=1.0,
            text="agreed" if answer is Answer.APPROVE else "not today",
        )
        self.plant.state = evolve(self.plant.state, stamp_event(data, cycle=1))
        await self.plant.act()

    @property
    def requests(self) -> list[OutcomeApproval]:
        """What a person was asked."""
        events = (event.data for event in self.plant.all_events())
        return [data for data in events if isinstance(data, OutcomeApproval)]

    @property
    def newest(self) -> OutcomeExecution:
        """The newest execution."""
        return self.plant.executions()[-1]

    @property
    def untouched(self) -> bool:
        """Whether the node is as it was."""
        return not self.plant.shown()["spec"].get("unschedulable")


async def test_an_action_waits_and_is_done_once_it_is_approved() -> None:
    """What was asked says what would be written; nothing is before the answer, and exactly that after it."""
    office = Office()
    await office.wish(1)
    (asked,) = office.requests
    assert asked.reason is Reason.AWAITING_APPROVAL
    assert [one.name for one in asked.operations] == [office.plant.node]
    assert asked.expires_time_seconds == asked.cluster_time_seconds + SECONDS
    assert office.untouched
    assert office.plant.executions() == []

    for cycle in (2, 3, 4, 5):
        await office.see(cycle)
    assert office.untouched

    await office.say(Answer.APPROVE)
    started, finished = office.plant.executions()
    assert (started.phase, finished.succeeded) == (ExecutionPhase.STARTED, True)
    assert started.approved_cycle == 5
    assert not office.untouched
    assert office.plant.state.waiting == ()


async def test_a_no_is_kept_and_nothing_is_written() -> None:
    """The event says that a person denied it, and what was said with it."""
    office = Office()
    await office.wish(1)
    await office.say(Answer.DENY)
    assert (office.newest.phase, office.newest.reason) == (
        ExecutionPhase.REFUSED,
        Reason.APPROVAL_DENIED,
    )
    assert office.newest.text == "a person denied it: not today"
    assert office.untouched
    assert office.plant.state.waiting == ()


async def test_what_nobody_approves_in_time_is_refused() -> None:
    """Also where the answer comes after the end; the refusal says how long it had waited."""
    office = Office()
    await office.wish(1)
    request = office.plant.state.waiting[0].request_id
    await office.see(LAST - 1)
    assert office.plant.executions() == []
    await office.see(LAST)
    assert office.newest.reason is Reason.APPROVAL_EXPIRED
    assert "within 60 s" in office.newest.text
    await office.say(Answer.APPROVE, request)
    assert len(office.plant.executions()) == 1
    assert office.untouched


async def test_an_answer_after_the_end_does_not_count() -> None:
    """The observation that ends the time and the approval come together: it is refused."""
    office = Office()
    await office.wish(1)
    office.plant.see(LAST)
    await office.say(Answer.APPROVE)
    assert office.newest.reason is Reason.APPROVAL_EXPIRED
    assert office.untouched


async def test_the_same_wish_is_asked_once() -> None:
    """A later decision of the kind on the target is refused, and names the one that waits."""
    office = Office()
    await office.wish(1)
    await office.wish(2)
    assert len(office.requests) == 1
    assert office.newest.reason is Reason.AWAITING_APPROVAL
    assert "cycle 1 waits for `foresail approve 1`" in office.newest.text
    assert office.untouched


async def test_no_more_wait_than_a_person_can_read() -> None:
    """Beyond a number the next ones are refused."""
    office = Office()
    await office.wish(1)
    (one,) = office.plant.state.waiting
    other = make_action(kind=ActionKind.DVFS, target="elsewhere", clock_scale_ratio=0.5)
    many = [one.model_copy(update={"cycle": 100 + n, "action": other}) for n in range(MOST_WAITING)]
    office.plant.state = office.plant.state.model_copy(update={"waiting": tuple(many)})
    await office.wish(2)
    assert office.newest.reason is Reason.AWAITING_APPROVAL
    assert "too many" in office.newest.text


async def test_what_has_changed_meanwhile_is_not_written() -> None:
    """A person approved something else: it is refused, and may be asked for again."""
    office = Office()
    await office.wish(1)
    (one,) = office.plant.state.waiting
    seen = one.operations[0].model_copy(update={"uid": "another"})
    changed = one.model_copy(update={"operations": (seen,)})
    office.plant.state = office.plant.state.model_copy(update={"waiting": (changed,)})
    await office.say(Answer.APPROVE)
    assert office.newest.reason is Reason.TARGET_CHANGED
    assert "no longer what was approved" in office.newest.text
    assert office.untouched


async def test_guards_are_asked_again_after_the_approval() -> None:
    """The kill switch came on while it waited."""
    office = Office()
    await office.wish(1)
    kill = stamp_event(make_control(Command.KILL), cycle=0)
    office.plant.state = evolve(office.plant.state, kill)
    await office.say(Answer.APPROVE)
    assert office.newest.reason is Reason.KILL_SWITCH
    assert office.untouched


async def test_an_approval_grows_stale_like_a_decision() -> None:
    """The executor was away when it came: cycles later nothing is done by it."""
    office = Office()
    await office.wish(1)
    waiting = office.plant.state.waiting[0]
    data = ControlApproval(
        answer=Answer.APPROVE,
        request_id=waiting.request_id,
        cycle=1,
        nonce="1",
        wall_time_seconds=1.0,
    )
    office.plant.state = evolve(office.plant.state, stamp_event(data, cycle=1))
    office.plant.see(4)
    await office.plant.act()
    assert office.newest.reason is Reason.STALE_DECISION
    assert "approved 3 cycles ago" in office.newest.text
    assert office.untouched


async def test_what_waits_survives_a_restart() -> None:
    """A new process knows it from the log, and carries out what is approved then."""
    office = Office()
    await office.wish(1)
    office.plant.restart()
    await office.see(2)
    assert office.untouched
    await office.say(Answer.APPROVE)
    assert office.newest.succeeded


async def test_taking_back_waits_for_nobody() -> None:
    """The operator's undo is carried out at once."""
    office = Office()
    await office.wish(1)
    await office.say(Answer.APPROVE)
    undo = stamp_event(make_control(Command.UNDO, value="all"), cycle=0)
    office.plant.state = evolve(office.plant.state, undo)
    await office.plant.act()
    assert office.newest.rollback_of
    assert office.newest.succeeded
    assert office.untouched


@pytest.mark.parametrize(
    ("mode", "approval"), [(Mode.SHADOW, True), (Mode.ACTIVE, False)], ids=["shadow", "active"]
)
async def test_nobody_is_asked_where_nothing_needs_it(mode: Mode, approval: bool) -> None:
    """Dry runs write nothing, and active mode asks nobody."""
    office = Office(mode, approval=approval)
    await office.wish(1)
    assert office.requests == []
    assert office.newest.succeeded


def test_the_mode_of_a_run_is_a_word() -> None:
    """`approve` is active with approvals; what changes nothing is not announced."""
    settings = ExecutorSettings.model_validate({"mode": "approve", "approval": False})
    assert (settings.mode, settings.approval) == (Mode.ACTIVE, True)
    assert settings.announcement()["approval"] is True
    assert not {"approval", "approval_seconds"} & set(ExecutorSettings().announcement())


@pytest.mark.parametrize(
    ("field", "value", "same"),
    [
        ("resource_version", "99", True),
        ("text", "in other words", True),
        ("name", "other", False),
        ("uid", "other", False),
        ("replicas", 99, False),
        ("verb", "patch", False),
        ("patch", '{"spec":{"replicas":9}}', False),
    ],
)
def test_what_counts_as_the_same(field: str, value: Any, same: bool) -> None:
    """Objects, verbs and values do; versions and words do not."""
    assert shows_the_same((SCALE,), (SCALE.model_copy(update={field: value}),)) is same
    assert not shows_the_same((SCALE,), (SCALE, SCALE))
    noted = '{"metadata":{"annotations":{"a":"1"},"labels":{"l":"1"}}}'
    first = SCALE.model_copy(update={"patch": noted})
    later = SCALE.model_copy(update={"patch": noted.replace('"a":"1"', '"a":"2"')})
    assert shows_the_same((first,), (later,))
    other = SCALE.model_copy(update={"patch": noted.replace('"l":"1"', '"l":"2"')})
    assert not shows_the_same((first,), (other,))
