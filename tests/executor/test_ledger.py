"""The executor's ledger as it is applied from events: what each event adds, changes or closes."""

from __future__ import annotations

from typing import Any

import pytest

from schemas.actions import ActionKind
from schemas.control import Command
from schemas.identity import Origin
from schemas.model import EventData
from schemas.outcome import (
    ExecutionPhase,
    Mode,
    Operation,
    OutcomeExecution,
    Verb,
    VerificationStatus,
)
from services.executor.ledger import Ledger
from services.executor.ledger.handler import evolve
from tests.builders import (
    make_action,
    make_control,
    make_decision,
    make_execution,
    make_observation,
    make_verification,
    stamp_event,
)

STARTED, FINISHED, REFUSED = ExecutionPhase
PODS = Operation(verb=Verb.EVICT, resource="pods", namespace="shop", name="p", text="")
NODE = Operation(verb=Verb.PATCH, resource="nodes", name="n", text="")


def ledger(*events: EventData, state: Ledger | None = None) -> Ledger:
    """Return the ledger after events."""
    found = state or Ledger()
    for data in events:
        found = evolve(found, stamp_event(data))
    return found


def sleep_decision(cycle: int = 1, score: float = 0.7) -> EventData:
    """Return the decision to put a node to sleep."""
    return make_decision(make_action(kind=ActionKind.POWER_STATE), cycle=cycle, score=score)


def execution(phase: ExecutionPhase, cycle: int = 1, **fields: Any) -> OutcomeExecution:
    """Return an event about the execution of that decision."""
    given = {"direction": "off", "operations": (NODE, PODS, PODS), "workloads": ("shop/Job/j",)}
    action = make_action(kind=ActionKind.POWER_STATE)
    return make_execution(action, cycle=cycle, phase=phase, **{**given, **fields})


def totals_observation(cycle: int = 1, **totals: Any) -> EventData:
    """Return an observation with these totals."""
    return make_observation(3, cycle=cycle, totals=totals)


def test_a_node_counts_as_available_when_it_is_ready_and_open() -> None:
    """Of ready and schedulable nodes the smaller number counts."""
    assert ledger(totals_observation(nodes_ready=2, nodes_schedulable=3)).seen.nodes_available == 2
    assert ledger(totals_observation(nodes_ready=3, nodes_schedulable=1)).seen.nodes_available == 1


def test_only_pods_without_room_are_pressure() -> None:
    """Pods that wait for an image or a volume are none that more nodes would help."""
    waiting = {"insufficient_cpu": 2, "insufficient_memory": 1, "image": 7, "volume": 4}

    assert ledger(totals_observation(pending_by_class=waiting)).seen.pressure == 3


@pytest.mark.parametrize(("cluster", "replayed"), [("replay-1", True), ("my-replay-1", False)])
def test_a_replayed_log_is_known_by_its_name(cluster: str, *, replayed: bool) -> None:
    """Only a cluster called replay-* is a replay."""
    event = stamp_event(totals_observation(), origin=Origin(cluster, "1"))

    assert evolve(Ledger(), event).replayed is replayed


@pytest.mark.parametrize(
    ("commands", "killed", "paused"),
    [
        ((Command.KILL,), True, False),
        ((Command.PAUSE,), False, True),
        ((Command.KILL, Command.PAUSE), True, True),
        ((Command.KILL, Command.RESUME), False, False),
        ((Command.PAUSE, Command.RESUME), False, False),
        ((Command.RESUME, Command.KILL), True, False),
    ],
)
def test_the_operators_switches(
    commands: tuple[Command, ...], *, killed: bool, paused: bool
) -> None:
    """Kill and pause are two switches, resume opens both, and the newest command counts."""
    state = ledger(*(make_control(command, nonce=str(at)) for at, command in enumerate(commands)))

    assert (state.killed, state.paused) == (killed, paused)


def test_mode_and_undo_take_only_what_they_understand() -> None:
    """A mode that is none and a cycle that is no number change nothing."""
    wrong = [make_control(Command.MODE, value="wild"), make_control(Command.UNDO, value="-1")]
    right = [make_control(Command.MODE, value="active"), make_control(Command.UNDO, value="7")]

    assert ledger(*wrong) == Ledger()
    state = ledger(*right)
    assert (state.mode, state.undo) == (Mode.ACTIVE, (7,))


def test_a_decision_waits_until_it_is_answered() -> None:
    """Started, finished or refused: each takes the decision of its cycle, and no other."""
    waiting = ledger(sleep_decision(1), sleep_decision(2))

    assert [one.cycle for one in waiting.due] == [1, 2]
    for phase in (STARTED, FINISHED, REFUSED):
        left = ledger(execution(phase, cycle=1), state=waiting)
        assert [one.cycle for one in left.due] == [2]
    assert ledger(execution(REFUSED), state=waiting).executions == ()


def test_what_was_started_is_remembered_with_its_circumstances() -> None:
    """Score of its decision, pressure of that moment, namespaces once each, and who is concerned."""
    pressed = totals_observation(pending_by_class={"insufficient_cpu": 4})

    (one,) = ledger(pressed, sleep_decision(score=0.7), execution(STARTED)).executions

    assert (one.score, one.pressure, one.namespaces) == (0.7, 4, ("shop",))
    assert (one.phase, one.direction, one.workloads) == (STARTED, "off", ("shop/Job/j",))
    assert one.time_seconds == execution(STARTED).cluster_time_seconds
    assert one.succeeded is None


@pytest.mark.parametrize("succeeded", [True, False])
def test_a_finished_execution_keeps_its_place_and_its_outcome(succeeded: bool) -> None:
    """Also a failed one stays: what it wrote before it failed counts."""
    end = execution(FINISHED, succeeded=succeeded)
    state = ledger(
        sleep_decision(1), execution(STARTED), sleep_decision(2), execution(STARTED, cycle=2), end
    )

    first, second = state.executions
    assert (first.cycle, first.phase, first.succeeded) == (1, FINISHED, succeeded)
    assert first.execution_id == stamp_event(end).id
    assert (second.phase, second.succeeded) == (STARTED, None)


@pytest.mark.parametrize(
    ("status", "worse"), [(VerificationStatus.WORSE, True), (VerificationStatus.FAILED, False)]
)
def test_a_verification_settles_its_execution(status: VerificationStatus, *, worse: bool) -> None:
    """It is verified once, and remembered as worse only when it is."""
    state = ledger(execution(STARTED), execution(FINISHED), make_verification(status=status))

    assert [(execution.verified, execution.worse) for execution in state.executions] == [
        (True, worse)
    ]


def test_a_rollback_belongs_to_its_execution() -> None:
    """Its plan is remembered when it is stored; its end closes the operator's wish for that cycle."""
    undo = [make_control(Command.UNDO, value=str(cycle), nonce=str(cycle)) for cycle in (1, 2)]
    before = ledger(execution(STARTED), execution(FINISHED), *undo)
    begun = ledger(execution(STARTED, rollback_of="e"), state=before)
    ended = ledger(execution(FINISHED, rollback_of="e"), state=begun)

    assert [(execution.rollback_id, execution.rolled_back) for execution in begun.executions] == [
        (stamp_event(execution(STARTED, rollback_of="e")).id, False)
    ]
    assert begun.undo == (1, 2)
    assert [execution.rolled_back for execution in ended.executions] == [True]
    assert ended.undo == (2,)


def test_the_newest_250_executions_are_remembered() -> None:
    """More than any window of the guard rails asks for; older ones make room."""
    state = ledger(*(execution(STARTED, cycle=cycle) for cycle in range(1, 261)))

    assert [execution.cycle for execution in state.executions] == list(range(11, 261))


def test_many_decisions_may_wait() -> None:
    """A long outage of the executor loses none of a thousand decisions."""
    state = ledger(*(sleep_decision(cycle) for cycle in range(1, 1_003)))

    assert [one.cycle for one in state.due] == list(range(3, 1_003))
