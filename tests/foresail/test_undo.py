"""`foresail undo`: what it refuses, what it asks for, and what a run's end says of what it left."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import pytest

from bus.errors import InputError
from bus.follow import Publisher
from bus.memory_adapter import MemoryBus, MemoryLog
from bus.port import Bus
from foresail.__main__ import main
from foresail.settings import resolve
from foresail.stack.state_folder import StackFile
from foresail.stack.undo_at_end import UndoneAtEnd, summary_of, why_kept
from foresail.undo import undo
from projections.overview import Overview
from projections.standing_actions import StandingActions
from schemas.control import EVERYTHING, Command, Control
from schemas.envelope import NewEvent
from schemas.outcome import ExecutionPhase, OperationResult
from schemas.registry import decode
from tests.builders import ORIGIN, make_config, make_control, make_execution, stamp_event
from tests.executor.test_writes import CAP

STARTED, FINISHED, _ = ExecutionPhase
STACK = StackFile(
    ORIGIN.cluster, ORIGIN.incarnation, "s", "nats://127.0.0.1:1", embedded=False, pid=0
)


def asked(*words: str) -> argparse.Namespace:
    """Return the arguments of a verb that waits for nobody."""
    parser = argparse.ArgumentParser()
    from foresail import undo as verb

    verb.add_arguments(parser)
    return parser.parse_args([*words, "--wait", "0", "--json"])


async def log_with(*said: Control) -> tuple[Bus, MemoryLog]:
    """Return a log in which two parts of cycle 7 were executed, and what else was said."""
    log = MemoryLog()
    bus = MemoryBus(log, ORIGIN.cluster)
    executor = Publisher(bus, ORIGIN, "executor")
    await executor.publish_config(make_config("executor", mode="active"), 0.0)
    for part in (0, 1):
        for phase in (STARTED, FINISHED):
            results = (OperationResult(status="applied"),) if phase is FINISHED else ()
            data = make_execution(
                cycle=7,
                part=part,
                phase=phase,
                operations=(CAP,),
                results=results,
                decision_id="decided",
            )
            await executor.publish([NewEvent(data, 7, 0.0)])
    for control in said:
        await Publisher(bus, ORIGIN, "operator").publish([NewEvent(control, 7, 0.0)])
    return bus, log


def wishes(log: MemoryLog) -> list[str]:
    """Return what the operator asked to be taken back."""
    found = [decode(one.subject, one.headers, one.data).data for one in log.messages]
    return [one.value for one in found if isinstance(one, Control) and one.command is Command.UNDO]


@pytest.mark.parametrize(
    ("words", "values"),
    [
        (("7",), ["7.0", "7.1"]),
        (("7.1",), ["7.1"]),
        (("decided",), ["7.0", "7.1"]),
        (("--all",), [EVERYTHING]),
    ],
)
async def test_a_decision_is_named_in_four_ways(
    words: tuple[str, ...], values: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Each part is asked for by itself, everything by one word; what has no answer yet waits."""
    bus, log = await log_with()

    assert await undo(bus, STACK, asked(*words)) == 1
    assert wishes(log) == values
    statuses = {one["status"] for one in json.loads(capsys.readouterr().out)["results"]}
    assert statuses == {"waiting"}


@pytest.mark.parametrize(
    ("wanted", "said", "words"),
    [
        ("8", (), ("DECISION", "8", "nothing of it stands", "7, 7.1")),
        ("7", (make_control(Command.KILL),), ("kill switch", "foresail resume")),
        ("7", (make_control(Command.MODE, value="shadow"),), ("mode", "shadow")),
    ],
)
async def test_what_would_not_be_done_is_refused(
    wanted: str, said: tuple[Control, ...], words: tuple[str, ...]
) -> None:
    """One line says why, and nothing is asked of the executor."""
    bus, log = await log_with(*said)
    with pytest.raises(InputError) as refused:
        await undo(bus, STACK, asked(wanted))

    assert all(word in str(refused.value) for word in words), refused.value
    assert wishes(log) == []


@pytest.mark.parametrize("words", [(), ("7", "--all"), ("--all", "--list")])
def test_one_thing_has_to_be_named(
    words: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Neither nor both is one line with exit code 2."""
    assert main(["undo", *words, "--state", str(tmp_path)]) == 2
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert "DECISION" in line
    assert "--all" in line


def test_a_run_says_why_it_leaves_what_stands() -> None:
    """Wished for, killed or in shadow mode; only what nobody wished counts as falling short."""
    given = {"run.kubeconfig": "k", "run.mode": "active", "run.namespaces": ("shop",)}
    settings = resolve(None, {}, given)
    kept = resolve(None, {}, {**given, "run.keep": True})
    active = Overview().after(stamp_event(make_config("executor", mode="active"), cycle=0))
    killed = active.after(stamp_event(make_control(Command.KILL), cycle=0))

    assert why_kept(settings, active) == ""
    assert why_kept(kept, active) == "--keep was given"
    assert why_kept(settings, killed) == "the kill switch is on"
    started = make_execution(phase=STARTED, operations=(CAP,))
    left = StandingActions().after(stamp_event(started)).actions
    short = [
        summary_of(UndoneAtEnd(0, left, why_kept(one, view)))["given_back_short"]
        for one, view in ((kept, active), (settings, killed))
    ]
    assert short == [False, True]
    assert summary_of(None) == {}


def test_the_twin_keeps_nothing() -> None:
    """`--keep` is for a cluster of the user's own."""
    with pytest.raises(InputError, match="keep is for a cluster of yours"):
        resolve(None, {}, {"run.keep": True})
