"""How refusals come about where another executor acts on the cluster, or a person has not approved."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

from bus.clock import ManualClock
from schemas.actions import ActionKind
from schemas.approval import Answer, ControlApproval, OutcomeApproval
from schemas.reasons import Reason
from services.executor.leading import Leadership
from services.executor.lease import Candidate, held_spec, lease_path, read_record
from tests.builders import cycle_time
from tests.explain.theatre import Theatre

START_NS = 1_767_225_600_000_000_000
OURS, THEIRS = Candidate("ours", "pod"), Candidate("theirs", "pod")
ASKING = {"approval": True, "approval_seconds": 30.0}


async def _sleep(theatre: Theatre) -> None:
    await theatre.order("efficiency", ActionKind.POWER_STATE, "node-0", power_state="sleep")


async def _lead(theatre: Theatre, clock: ManualClock) -> None:
    """Let the executor stand for the Lease, and look at it or take it."""
    leadership = Leadership(
        theatre.transport, clock, OURS, namespace="kube-system", duration_seconds=15.0
    )
    leadership.want()
    await leadership._step()
    theatre.leadership = leadership
    theatre.restart()


async def another_stack_acts(theatre: Theatre) -> None:
    """Play a decision while another stack holds the Lease."""
    spec = held_spec(read_record({}), THEIRS, 15.0, START_NS / 1e9)
    body = {"metadata": {"name": "foresail-executor"}, "spec": spec}
    theatre.request("POST", lease_path("kube-system"), json.dumps(body).encode())
    await _lead(theatre, ManualClock(START_NS))
    await _sleep(theatre)


async def the_lease_ran_out(theatre: Theatre) -> None:
    """Play a decision after ten seconds without a renewal."""
    clock = ManualClock(START_NS)
    await _lead(theatre, clock)
    clock.advance(11.0)
    await _sleep(theatre)


async def an_earlier_wish_waits(theatre: Theatre) -> None:
    """Play the same wish twice; nobody answers."""
    await _sleep(theatre)
    await _sleep(theatre)


async def nobody_approves(theatre: Theatre) -> None:
    """Play a wish, and let its time run out."""
    await _sleep(theatre)
    for _ in range(4):
        theatre.observe()
        await theatre.execute()
    theatre.cycle = 1


async def a_person_says_no(theatre: Theatre) -> None:
    """Play a wish that is denied."""
    await _sleep(theatre)
    (asked,) = [one for one in theatre.events if isinstance(one.data, OutcomeApproval)]
    said = ControlApproval(
        answer=Answer.DENY,
        request_id=asked.id,
        cycle=theatre.cycle,
        nonce="1",
        wall_time_seconds=cycle_time(1),
        text="not before the weekend",
    )
    theatre.tell(said, theatre.cycle, "approver")
    await theatre.execute()


NOT_ALLOWED: dict[Reason, tuple[Callable[[Theatre], Awaitable[None]], dict[str, Any]]] = {
    Reason.NOT_LEADER: (another_stack_acts, {}),
    Reason.LEASE_LOST: (the_lease_ran_out, {}),
    Reason.AWAITING_APPROVAL: (an_earlier_wish_waits, ASKING),
    Reason.APPROVAL_EXPIRED: (nobody_approves, ASKING),
    Reason.APPROVAL_DENIED: (a_person_says_no, ASKING),
}
"""By reason: how it comes about, and the executor's settings for it."""
