"""The world without us in virtual time: the same bytes as a run in which nobody acted."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from bus.recording import open_recording
from foresail.settings import resolve
from foresail.stack.virtual import run_virtual_stack
from twin.port.engine import Engine

SAME = {
    "untouched.observation": "observation",
    "untouched.nodes": "snapshot.nodes",
    "untouched.placements": "snapshot.placements",
    "untouched.workloads": "snapshot.workloads",
}
COMMON = {
    "run.virtual_time": True,
    "agents.profile": "baseline-rules",
    "run.workload": "google2011",
    "run.nodes": 8,
    "run.speed": 6.0,
    "run.interval_seconds": 5.0,
    "run.weather": "rough",
}
Log = Mapping[str, list[bytes]]


def played(record: Path, **flags: Any) -> Log:
    """Run the virtual stack; return the data of all its events by the subject after the cluster."""
    given = {**COMMON, "run.record": str(record), **{f"run.{name}": flags[name] for name in flags}}
    run_virtual_stack(resolve(None, {}, given), quiet=True)
    log: dict[str, list[bytes]] = {}
    for message in open_recording(record):
        log.setdefault(message.subject.split(".", 2)[2], []).append(message.data)
    return log


def differences(log: Log) -> list[dict[str, Any]]:
    """Return every counterfactual."""
    return [json.loads(data) for data in log["outcome.counterfactual"]]


def numbers_of(difference: dict[str, Any]) -> set[float]:
    """Return everything that two worlds differ by."""
    parts = difference["components"]
    return {part[name] for part in parts for name in ("step", "total", "total_money")}


@pytest.fixture(scope="module")
def acting(tmp_path_factory: pytest.TempPathFactory) -> Log:
    """Return the log of a run that acts."""
    return played(tmp_path_factory.mktemp("acting") / "run.fslog", for_seconds=100.0)


def test_the_untouched_world_is_a_run_in_shadow_mode_to_the_byte(
    acting: Log, tmp_path: Path
) -> None:
    """Failures, weather and workload meet both alike; only the executor's writes are missing."""
    shadow = played(tmp_path / "run.fslog", for_seconds=100.0, mode="shadow")
    assert acting["observation"] != acting["untouched.observation"]
    for untouched, alone in SAME.items():
        assert acting[untouched] == shadow[alone], untouched
    assert len(differences(shadow)) == len(shadow["observation"]) - 1
    assert {number for one in differences(shadow) for number in numbers_of(one)} == {0.0}


def test_acting_differs_from_the_untouched_world_by_what_the_scores_say(acting: Log) -> None:
    """The newest score minus the untouched world's own jobs is the newest difference."""
    newest, score = differences(acting)[-1], json.loads(acting["outcome.score"][-1])
    assert newest["cycle"] == score["cycle"]
    assert numbers_of(newest) != {0.0}
    first, last = (json.loads(acting["untouched.observation"][place])["work"] for place in (0, -1))
    ours = {part["name"]: part["total"] for part in score["components"]}
    theirs = {part["name"]: part["total"] for part in newest["components"]}
    evictions = last["evictions"] - first["evictions"]
    assert theirs["evictions"] == ours["evictions"] - evictions


def test_the_exercisers_writes_are_mirrored(tmp_path: Path) -> None:
    """Load that the exerciser adds is in both worlds, so that a shadow run differs by nothing."""
    log = played(
        tmp_path / "run.fslog", for_seconds=60.0, mode="shadow", exercise=True, workload="idle"
    )
    assert any(b'"applied"' in data for data in log["stimulus"])
    assert log["untouched.observation"] == log["observation"]
    pods = [json.loads(data)["totals"]["pods_total"] for data in log["untouched.observation"]]
    assert max(pods) > 0


def test_as_long_as_nobody_acts_there_is_one_world(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A shadow run simulates no second cluster, though the exerciser writes; one that acts parts once."""
    clones = []

    def clone(engine: Engine) -> Engine:
        clones.append(engine.now)
        return whole(engine)

    whole = Engine.clone
    monkeypatch.setattr(Engine, "clone", clone)
    alone = played(tmp_path / "shadow.fslog", for_seconds=30.0, mode="shadow", exercise=True)
    assert alone["untouched.observation"] == alone["observation"]
    assert clones == []
    played(tmp_path / "acting.fslog", for_seconds=30.0)
    assert len(clones) == 1


def test_it_can_be_switched_off(tmp_path: Path) -> None:
    """Without it there is no untouched world and nothing to compare with, but still a score."""
    log = played(tmp_path / "run.fslog", for_seconds=20.0, untouched="off")
    assert not [subject for subject in log if subject.startswith("untouched")]
    assert "outcome.counterfactual" not in log
    assert log["outcome.score"]
