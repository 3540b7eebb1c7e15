"""`what-if --plant twin`: the simulated cluster continues from the recorded state."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bus.errors import InputError
from bus.exit_codes import ExitCode
from bus.recording import open_recording
from foresail.__main__ import main
from foresail.twin.export import from_recording
from lab.rerun.recorded_workload import write_recorded_workload
from tests.rerun.conftest import rewritten
from twin.port.workloads import open_workload


def test_the_plant_begins_with_the_recorded_state_and_gets_the_recorded_demand(
    recorded_run: Path, tmp_path: Path
) -> None:
    """Nodes and pods are those of the cycle; what was there later arrives, what went ends."""
    newest = rewritten(
        recorded_run,
        tmp_path / "until.fslog",
        lambda one: one if one.seq <= _seq_of(recorded_run, cycle=12) else None,
    )
    _, tables, _ = from_recording(newest)

    plant = write_recorded_workload(recorded_run, 12, tmp_path / "plant.jsonl")

    workload = open_workload(str(plant.workload), nodes=1, seed=1)
    arrivals = list(workload.arrivals)
    at_start = [arrival for arrival in arrivals if arrival.time_seconds == 0.0]
    assert [node.name for node in workload.nodes] == list(tables.nodes.ids)
    placed = sorted(node for one in at_start for node in one.start_nodes)
    held = zip(tables.placements.ids, tables.placements.pods, strict=True)
    assert placed == sorted(row.partition("|")[0] for row, pods in held for _ in range(pods))
    assert len(arrivals) > len(at_start)
    assert any(arrival.duration_seconds is not None for arrival in arrivals)
    assert (plant.first_cycle, plant.cycles) == (12, 15)


def _seq_of(path: Path, cycle: int) -> int:
    return next(
        message.seq
        for message in open_recording(path)
        if message.subject.endswith(".observation") and json.loads(message.data)["cycle"] == cycle
    )


def test_a_change_that_cannot_take_effect_is_refused(
    recorded_run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The run sets the executor's mode itself; a change of it would be listed and do nothing."""
    given = ["what-if", str(recorded_run), "--plant", "twin", "--set", "executor.mode=shadow"]

    assert ExitCode.BAD_INPUT == main(given)
    (line,) = capsys.readouterr().err.splitlines()
    assert "executor.mode=shadow: leave it out: with --plant twin the run itself sets it" in line


def test_both_sides_are_simulated_and_the_changes_alone_tell_them_apart(
    recorded_run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing changed: the same decisions. Something changed: a closed-loop result that says so."""
    command = ["what-if", str(recorded_run), "--plant", "twin", "--at", "8", "--json"]

    assert 0 == main(command)
    same = json.loads(capsys.readouterr().out)
    assert 0 == main([*command, "--set", "agents.efficiency.sleep=0.001"])
    other = json.loads(capsys.readouterr().out)

    assert same["decisions"]["same"] > 10
    assert same["differing"] == []
    assert other["differing"]
    assert other["loop"].startswith("closed-loop")
    assert any(note.startswith("simulated:") for note in other["notes"])


def test_a_cycle_that_is_not_there_is_named(recorded_run: Path, tmp_path: Path) -> None:
    """The start must lie before the recording's end."""
    with pytest.raises(InputError, match="--at"):
        write_recorded_workload(recorded_run, 4_000, tmp_path / "plant.jsonl")
