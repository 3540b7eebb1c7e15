"""A trap's file: what is refused, and what a check says of a log."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bus.errors import InputError
from foresail.__main__ import main
from foresail.experiment.traps_action import EXAMPLES
from lab.traps.markdown import markdown
from lab.traps.results import answer, bounds_text
from lab.traps.trap import TrapCheck, read_trap, read_traps
from lab.traps.trap_log import TrapLog, TrapObservation
from schemas.actions import ReplicateAction, Target, TargetKind
from schemas.outcome import ExecutionPhase, Mode, Operation, OperationResult, OutcomeExecution, Verb
from schemas.reasons import Reason

GOOD = """
title = "A trap"
situation = "Something happens."
operator = "Acts."
minutes = 1
rows = []
[[must]]
text = "acts"
what = "executed"
at_least = 1
[[must_not]]
text = "evicts"
what = "written"
verb = "evict"
at_most = 0
"""


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("at_least = 1", "", "give at_least or at_most; without, it cannot fail"),
        ('verb = "evict"', 'service = "a/b"', "service means nothing to written; leave it out"),
        ('what = "executed"', 'what = "replicas"', "replicas needs service, as namespace/name"),
        ('what = "executed"', 'what = "difference"', "difference needs component"),
        ("minutes = 1", "minutes = 400", "minutes = 400: Input should be less than or equal to 30"),
        ('title = "A trap"', "", "title: Field required"),
    ],
)
def test_what_does_not_fit_is_one_line(tmp_path: Path, old: str, new: str, complaint: str) -> None:
    """A check that could not fail, a filter that means nothing, and a missing field are refused by name."""
    path = tmp_path / "trap.toml"
    path.write_text(GOOD.replace(old, new, 1))
    with pytest.raises(InputError) as caught:
        read_trap(path)
    assert complaint in str(caught.value)
    path.write_text(GOOD)
    assert read_trap(path).name == "trap"


def test_a_folder_without_traps_is_refused(tmp_path: Path) -> None:
    """An empty suite would pass everything."""
    with pytest.raises(InputError, match="name a folder with TOML files of traps"):
        read_traps(tmp_path)


def execution(minute: float, replicas: int, phase: ExecutionPhase, **more: Any) -> OutcomeExecution:
    """Return an execution of a replicate at a minute."""
    target = Target(kind=TargetKind.WORKLOAD, name="default/Deployment/shop")
    return OutcomeExecution(
        cycle=int(minute * 4),
        cluster_time_seconds=60.0 * minute,
        decision_id="d",
        phase=phase,
        mode=Mode.ACTIVE,
        action=ReplicateAction(target=target, replicas=replicas),
        text="",
        **more,
    )


def log_of_a_see_saw() -> TrapLog:
    """Return a log with replicas up, down and up again, one refusal and one noop."""
    log = TrapLog()
    operation = Operation(verb=Verb.SCALE, resource="deployments", name="shop", text="")
    applied = OperationResult(status="applied")
    for minute, replicas in ((1, 5), (2, 7), (3, 4), (4, 6)):
        log.executions.append(
            execution(minute, replicas, ExecutionPhase.STARTED, operations=(operation,))
        )
        log.executions.append(
            execution(minute, replicas, ExecutionPhase.FINISHED, succeeded=True, results=(applied,))
        )
    refused = execution(5, 9, ExecutionPhase.REFUSED, reason=Reason.PING_PONG)
    log.executions += [refused, execution(5, 9, ExecutionPhase.REFUSED, reason=Reason.NOOP)]
    log.observations += [
        TrapObservation(
            seconds=15.0 * step, waiting=waiting, asleep=step, replicas={"default/shop": step}
        )
        for step, waiting in enumerate((0, 3, 3, 0, 1, 1, 1, 0))
    ]
    return log


@pytest.mark.parametrize(
    ("given", "measured"),
    [
        ({"what": "executed"}, 4),
        ({"what": "executed", "after_minute": 2, "until_minute": 4}, 2),
        ({"what": "executed", "target": "node-*"}, 0),
        ({"what": "executed", "kind": "power_state:*"}, 0),
        ({"what": "refused"}, 1),
        ({"what": "written", "resource": "deployments", "verb": "scale"}, 4),
        ({"what": "written", "verb": "evict"}, 0),
        ({"what": "turns"}, 2),
        ({"what": "replicas", "service": "default/shop"}, 7),
        ({"what": "replicas", "service": "default/shop", "until_minute": 0.5}, 2),
        ({"what": "asleep", "until_minute": 1}, 4),
        ({"what": "waiting_seconds"}, 45),
        ({"what": "waiting_seconds", "until_minute": 0.75}, 30),
        ({"what": "gain"}, 0),
    ],
)
def test_a_check_measures_the_log(given: dict[str, Any], measured: float) -> None:
    """Each measure is counted as its sentence says, within its filters; a noop is no refusal."""
    check = TrapCheck.model_validate({"text": "it", "at_least": 0, **given})
    assert log_of_a_see_saw().measure(check) == measured


def test_bounds_decide(tmp_path: Path) -> None:
    """A trap passes when every number is within its bounds, and says which one is not."""
    path = tmp_path / "trap.toml"
    path.write_text(GOOD)
    log = log_of_a_see_saw()
    assert answer(read_trap(path), "foresail", log).passes
    path.write_text(GOOD.replace('verb = "evict"', 'verb = "scale"'))
    played = answer(read_trap(path), "foresail", log)
    assert played.failures == ("evicts: 4 is not at most 0",)
    assert bounds_text(played.trap.must[0]) == "at least 1"
    page = markdown([played.trap], {"foresail": [played]})
    assert "`foresail` passes 0 of 1." in page
    assert "| must not | evicts | at most 0 | **4** |" in page


def test_an_unknown_name_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """The names that would do are listed, and nothing is played."""
    assert main(["experiment", "traps", "no-such"]) == 2
    assert "use one of: api-outage, " in capsys.readouterr().err
    assert EXAMPLES
