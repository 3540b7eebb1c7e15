"""A run with a switchback from end to end: what is held, taken back, estimated, verified and shown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bus.events import read_entry
from bus.exit_codes import ExitCode
from bus.recording import open_recording
from foresail.__main__ import main
from foresail.settings import resolve
from foresail.stack.virtual import run_virtual_stack
from schemas.envelope import Event
from schemas.model import EventData
from schemas.outcome import ExecutionPhase, OutcomeExecution
from schemas.reasons import Reason
from schemas.switchback import OutcomeSwitchback
from tests.foresail.readable_numbers import unreadable_numbers

BLOCK, WASH_OUT, CYCLE, PAIRS = 40.0, 10.0, 10.0, 4


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the recording of an idle cluster whose nodes are sent to sleep in some blocks only."""
    path = tmp_path_factory.mktemp("switchback") / "run.fslog"
    given = {
        "run.virtual_time": True,
        "agents.profile": "baseline-rules",
        "run.workload": "idle",
        "run.nodes": 4,
        "run.speed": 1.0,
        "run.interval_seconds": CYCLE,
        "run.for_seconds": 2 * PAIRS * BLOCK + 2 * CYCLE,
        "run.weather": "off",
        "run.untouched": "off",
        "run.record": str(path),
        "switchback.unit": "time",
        "switchback.block_seconds": BLOCK,
        "switchback.wash_out_seconds": WASH_OUT,
    }
    summary = run_virtual_stack(resolve(None, {}, given), quiet=True)
    assert summary["acting_text"]
    return path


def events_of(recording: Path) -> list[Event[EventData]]:
    """Return every event."""
    events = [read_entry(message).event for message in open_recording(recording)]
    return [event for event in events if event is not None]


def test_blocks_act_hold_and_give_back_and_each_pair_is_estimated(recording: Path) -> None:
    """Decisions are refused in half of the blocks, what stood is taken back, and sleep saves energy."""
    events = events_of(recording)
    executions = [event.data for event in events if isinstance(event.data, OutcomeExecution)]
    held = [execution for execution in executions if execution.reason is Reason.SWITCHBACK]
    begun = [
        execution
        for execution in executions
        if execution.phase is ExecutionPhase.FINISHED and not execution.rollback_of
    ]
    back = [
        execution
        for execution in executions
        if execution.phase is ExecutionPhase.FINISHED and execution.rollback_of
    ]
    assert begun
    assert len(back) in {len(begun), len(begun) - 1}  # the run may end in a block that acts
    holding = {int(execution.cluster_time_seconds // BLOCK) for execution in held}
    acting = {int(execution.cluster_time_seconds // BLOCK) for execution in begun}
    assert not holding & acting
    estimates = [event.data for event in events if isinstance(event.data, OutcomeSwitchback)]
    assert [estimate.pairs for estimate in estimates] == list(range(1, PAIRS + 1))
    newest = estimates[-1]
    assert (newest.executions, newest.held) == (len(begun), len(held))
    assert newest.effect_money_per_hour is not None
    assert newest.effect_money_per_hour > 0


def test_verify_computes_every_estimate_again(
    recording: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The scoreboard's schedule comes from the recording, so the estimates are equal to the byte."""
    assert main(["verify", str(recording), "--json"]) == ExitCode.GOOD
    found = json.loads(capsys.readouterr().out)
    assert found["layers"]["outcome"]["different"] == 0
    assert found["holds"]


def test_a_held_decision_is_explained(recording: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The screen says which block holds and until when."""
    cycle = next(
        event.cycle
        for event in events_of(recording)
        if isinstance(event.data, OutcomeExecution) and event.data.reason is Reason.SWITCHBACK
    )
    main(["explain", str(cycle), "--recording", str(recording)])
    shown = " ".join(capsys.readouterr().out.split())
    assert "switchback FAILED [switchback] held: switchback block" in shown
    assert "does not act (until 2026-01-01 00:" in shown


def test_the_verb_reads_the_same_estimate_from_the_scores(
    recording: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the wash-out of the settings it is the stored one; other wash-outs stand beside it."""
    assert main(["switchback", "--recording", str(recording), "--json"]) == ExitCode.GOOD
    found = json.loads(capsys.readouterr().out)
    own = next(row for row in found["by_wash_out"] if row["wash_out_seconds"] == WASH_OUT)
    for name, stored in (("per_hour", "effect"), ("low", "low"), ("high", "high")):
        assert own["effect"][name] == pytest.approx(
            found["stored"][f"{stored}_money_per_hour"], abs=1e-6
        )
    assert [pair["counts"] for pair in found["pairs"]] == [True] * PAIRS
    assert len(found["by_wash_out"]) > 1

    assert main(["switchback", "--recording", str(recording)]) == ExitCode.GOOD
    shown = capsys.readouterr().out
    assert f"({PAIRS} pairs of 40 s blocks, " in " ".join(shown.split())
    assert unreadable_numbers(shown) == []


def test_a_log_without_one_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 4, and how to begin one."""
    golden = Path(__file__).parents[1] / "golden" / "v1.fslog"
    assert main(["switchback", "--recording", str(golden)]) == ExitCode.NOTHING_COMPARED
    assert "foresail up --switchback time" in capsys.readouterr().out
