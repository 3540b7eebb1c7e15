"""The thinnest chain: snapshot to outcome in virtual time, recorded, and the same every time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from bus.recording import open_recording
from foresail.audit import audit
from foresail.settings import resolve
from foresail.stack.virtual import run_virtual_stack
from schemas.envelope import attributes_of
from schemas.export import json_schema
from schemas.registry import BY_TYPE, LAYERS


def run(record: Path, **flags: Any) -> dict[str, Any]:
    """Run a small stack in virtual time and return its summary."""
    given: dict[str, Any] = {
        "run.virtual_time": True,
        "agents.profile": "baseline-rules",
        "run.for_seconds": 150.0,
        "run.nodes": 20,
        "run.record": str(record),
    }
    given.update({f"run.{name}": value for name, value in flags.items()})
    return run_virtual_stack(resolve(None, {}, given), quiet=True)


@pytest.fixture(scope="module")
def virtual_run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """Run openb with the exerciser once for this module."""
    path = tmp_path_factory.mktemp("run") / "run.fslog"
    return path, run(path, workload="openb", exercise=True, for_seconds=250.0)


def test_a_snapshot_becomes_an_outcome(virtual_run: tuple[Path, dict[str, Any]]) -> None:
    """Every decision's causes lead back to a snapshot, and no proposal is lost silently."""
    audit_result = audit(open_recording(virtual_run[0]))

    assert [] == audit_result.problems
    assert 29 <= audit_result.decisions == audit_result.complete_chains
    assert 0 == audit_result.proposals["undecided"]


def test_every_layer_speaks_in_every_cycle(virtual_run: tuple[Path, dict[str, Any]]) -> None:
    """Six layers and reactions are there, one observation, decision and reaction for each cycle."""
    events = virtual_run[1]["events"]

    assert all(events[layer] for layer in LAYERS)
    assert (
        virtual_run[1]["cycles"]
        == events["observation"]
        == events["decision"]
        == events["reaction"]
    )


def test_every_event_fits_its_published_schema(virtual_run: tuple[Path, dict[str, Any]]) -> None:
    """What travels is what schemas/exported says, by a validator that is not ours."""
    validators = {name: Draft202012Validator(json_schema(kind)) for name, kind in BY_TYPE.items()}
    for message in open_recording(virtual_run[0]):
        validators[attributes_of(message.headers)["type"]].validate(json.loads(message.data))


def test_all_three_agents_win(virtual_run: tuple[Path, dict[str, Any]]) -> None:
    """The exerciser brings each agent to its turn, and actions are applied to the twin."""
    assert {"AgentA", "AgentB", "AgentC"} <= set(virtual_run[1]["wins"])
    assert virtual_run[1]["executions"]["succeeded"]
    assert virtual_run[1]["verifications"]["verified"]
    assert virtual_run[1]["rewards_scored"]


def test_the_same_seed_gives_the_same_recording(tmp_path: Path) -> None:
    """Two runs with one seed are equal byte for byte; another seed gives another run."""
    for name, seed in (("a", 3), ("b", 3), ("c", 4)):
        run(tmp_path / name, workload="openb", seed=seed, for_seconds=60.0)
    first, second, other = ((tmp_path / name).read_bytes() for name in "abc")

    assert first == second
    assert first != other


def test_shadow_mode_changes_nothing(tmp_path: Path) -> None:
    """In shadow mode executions are said to have happened and the twin stays as it was."""
    summary = run(tmp_path / "a", workload="idle", mode="shadow", for_seconds=60.0)

    assert summary["executions"]["succeeded"]
    assert {"unverifiable"} == set(summary["verifications"])
    assert 0 == summary["reactions"].get("scale_up", 0)
