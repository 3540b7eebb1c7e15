"""The check that every proof over real faults relies on: it passes a good log and finds each planted
defect.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from bus.port import StoredMessage
from bus.recording import open_recording
from foresail.settings import resolve
from foresail.stack.virtual import run_virtual_stack
from proofs.faults.log_check import LogCheck, LogDefect, check
from proofs.faults.log_watch import lost_messages
from schemas.envelope import MESSAGE_ID, attributes_of
from schemas.registry import decode

Log = list[StoredMessage]


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Log:
    """Record one undisturbed run in which plans are executed."""
    path = tmp_path_factory.mktemp("run") / "run.fslog"
    given: dict[str, Any] = {
        "run.virtual_time": True,
        "run.for_seconds": 150.0,
        "run.nodes": 20,
        "run.exercise": True,
        "run.record": str(path),
    }
    run_virtual_stack(resolve(None, {}, given), quiet=True)
    return list(open_recording(path))


def where(log: Sequence[StoredMessage], kind: str, number: int = 0, **data: Any) -> int:
    """Return the index of a message by type (without prefix and version) and data fields."""
    found = [
        index
        for index, message in enumerate(log)
        if attributes_of(message.headers)["type"].removeprefix("foresail.").startswith(kind)
        and all(_data(message)[name] == value for name, value in data.items())
    ]
    return found[number]


def _data(message: StoredMessage) -> dict[str, Any]:
    event = decode(message.subject, message.headers, message.data)
    return event.data.model_dump(mode="json")


def renumber(log: Sequence[StoredMessage]) -> Log:
    """Return the messages with contiguous positions, as a log would hold them."""
    return [replace(one, seq=seq) for seq, one in enumerate(log, start=1)]


def without(log: Log, index: int) -> Log:
    """Return the log without one message, no hole left."""
    return renumber([*log[:index], *log[index + 1 :]])


def move_message(log: Log, index: int, to: int) -> Log:
    """Return the log with one message elsewhere."""
    rest = [*log[:index], *log[index + 1 :]]
    return renumber([*rest[:to], log[index], *rest[to:]])


def with_other_id(message: StoredMessage) -> StoredMessage:
    """Return the message under another id, as a producer would that draws ids."""
    headers = {**message.headers, "ce-id": "drawn", MESSAGE_ID: "drawn"}
    return replace(message, headers=headers)


def edit_decision(log: Log, edit: Callable[[dict[str, Any]], None]) -> Log:
    """Return the log with one decision's data edited that overrode somebody."""
    index = next(
        index
        for index, message in enumerate(log)
        if message.subject.endswith(".decision") and _data(message)["overridden"]
    )
    data = json.loads(log[index].data)
    edit(data)
    edited = replace(log[index], data=json.dumps(data).encode())
    return [*log[:index], edited, *log[index + 1 :]]


def _forget_loser(data: dict[str, Any]) -> None:
    data["overridden"].pop(min(data["overridden"]))


def _forget_considered(data: dict[str, Any]) -> None:
    loser = min(data["overridden"])
    data["considered"] = [one for one in data["considered"] if one["agent"] != loser]


PLANTED: dict[str, tuple[LogDefect, Callable[[Log], Log]]] = {
    "a message is gone": (LogDefect.HOLE, lambda log: [*log[:40], *log[41:]]),
    "a message is no event": (
        LogDefect.UNREADABLE,
        lambda log: [*log[:40], replace(log[40], data=b"{"), *log[41:]],
    ),
    "an event is stored twice": (
        LogDefect.STORED_TWICE,
        lambda log: renumber([*log, log[where(log, "observation", 2)]]),
    ),
    "a cycle has two decisions": (
        LogDefect.SAID_TWICE,
        lambda log: renumber([*log, with_other_id(log[where(log, "decision", 2)])]),
    ),
    "a proposal is said twice under two ids": (
        LogDefect.SAID_TWICE,
        lambda log: renumber([*log, with_other_id(log[where(log, "proposal", 7)])]),
    ),
    "cycles go backwards": (
        LogDefect.CYCLE_ORDER,
        lambda log: move_message(log, where(log, "reaction", 3), len(log) - 1),
    ),
    "a cause is nowhere": (
        LogDefect.CAUSE_MISSING,
        lambda log: without(log, where(log, "prediction.risk", 4)),
    ),
    "an effect comes before its cause": (
        LogDefect.CAUSE_LATER,
        lambda log: move_message(log, where(log, "decision", 5), where(log, "observation", 5)),
    ),
    "an observed cycle is not decided": (
        LogDefect.UNDECIDED,
        lambda log: without(log, where(log, "decision", 4)),
    ),
    "a loser is not named": (
        LogDefect.PROPOSAL_LOST,
        lambda log: edit_decision(log, _forget_loser),
    ),
    "a proposal is not considered": (
        LogDefect.PROPOSAL_LOST,
        lambda log: edit_decision(log, _forget_considered),
    ),
    "finished before it started": (
        LogDefect.NOT_STARTED,
        lambda log: move_message(
            log,
            where(log, "outcome.execution", phase="finished"),
            where(log, "outcome.execution", phase="started"),
        ),
    ),
    "finished and never started": (
        LogDefect.NOT_STARTED,
        lambda log: without(log, where(log, "outcome.execution", phase="started")),
    ),
    "started and never finished": (
        LogDefect.UNFINISHED,
        lambda log: without(log, where(log, "outcome.execution", phase="finished")),
    ),
    "a decision without outcome": (
        LogDefect.UNANSWERED,
        lambda log: without(log, where(log, "outcome.execution", phase="refused")),
    ),
}


def test_an_undisturbed_log_has_no_problem(log: Log) -> None:
    """A good log passes, and the check has really looked at it."""
    log_check = check(log)

    assert [] == log_check.problems
    assert len(log) == log_check.events
    assert log_check.decided == log_check.observed > 20
    assert log_check.executed > 0


@pytest.mark.parametrize("planted", PLANTED)
def test_a_planted_defect_is_found(log: Log, planted: str) -> None:
    """Each defect, planted alone, is named."""
    defect, plant = PLANTED[planted]

    log_check = check(plant(log))

    assert defect in {problem.defect for problem in log_check.problems}, log_check.problems[:5]


def test_holes_are_allowed_only_where_asked(log: Log) -> None:
    """A log whose server lost its end may have a hole, and is checked for all the rest."""
    last = log[-1]

    with_hole = [*log[:-1], replace(last, seq=last.seq + 10)]

    assert [LogDefect.HOLE] == [problem.defect for problem in check(with_hole).problems]
    assert [] == check(with_hole, holes=True).problems


def test_the_newest_cycles_may_still_be_open(log: Log) -> None:
    """A log that ends in the middle of a cycle is no defect; one that ends long before is."""
    newest = where(log, "decision", -1)

    assert [] == check(log[:newest]).problems
    assert LogDefect.UNDECIDED in {
        problem.defect for problem in check(log[:newest], open_cycles=0).problems
    }


def test_a_problem_says_where_it_is() -> None:
    """An empty log is sound and holds nothing; the text of a problem begins with its position."""
    assert "" == LogCheck().first()
    assert "" == check([]).first()
    junk = StoredMessage(seq=7, time_ns=0, subject="foresail.test.decision", headers={}, data=b"")
    assert check([junk]).first().startswith("seq 7: unreadable: ")


def test_what_an_outside_reader_saw_must_be_stored(log: Log) -> None:
    """A message that is gone or has other bytes at its place is found; what came later is no defect."""
    seen = log[:20]
    other = replace(log[5], data=log[6].data)

    assert [] == lost_messages(seen, log)
    assert [seen[3]] == lost_messages(seen, [*log[:3], *log[4:]])
    assert [seen[5]] == lost_messages(seen, [*log[:5], other, *log[6:]])
