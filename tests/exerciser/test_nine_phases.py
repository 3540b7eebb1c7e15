"""Nine phases that really happen, told from the events of the whole stack alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from bus.events import event_of
from bus.recording import open_recording
from foresail.settings import resolve
from foresail.stack.virtual import run_virtual_stack
from schemas.decision import Decision
from schemas.envelope import Event
from schemas.outcome import (
    ExecutionPhase,
    OutcomeExecution,
    OutcomeVerification,
    VerificationStatus,
)
from schemas.reasons import Reason
from schemas.stimulus import Stimulus
from services.exerciser.phases import PHASES

NODES = 12
LOADED = Path(__file__).with_name("loaded.csv")
GIVES_BACK = {"open", "on", "down"}


@dataclass
class Seen:
    """What the log says of one phase and the action that it intends."""

    decided: int = 0
    executed: set[tuple[int, int]] = field(default_factory=set)
    verified: set[tuple[int, int]] = field(default_factory=set)
    given_back: set[tuple[int, int]] = field(default_factory=set)
    others_left: set[tuple[int, int]] = field(default_factory=set)
    """Executions of other actions that were begun in the phase and not given back."""


def play(record: Path, **flags: Any) -> list[Event[Any]]:
    """Return the log of a stack with the exerciser, by the predecessor's rules, without weather."""
    given: dict[str, Any] = {
        "run.virtual_time": True,
        "run.exercise": True,
        "run.nodes": NODES,
        "run.weather": "off",
        "run.untouched": "off",
        "run.speed": 1.0,
        "run.record": str(record),
        "exerciser.rounds": 1,
        **flags,
    }
    run_virtual_stack(resolve(None, {}, given), quiet=True)
    return [event_of(message) for message in open_recording(record)]


def phases_of(events: Iterable[Event[Any]]) -> Mapping[int, Seen]:
    """Return what became of each phase; an event counts to the newest phase that was applied before it."""
    seen: dict[int, Seen] = {}
    now: int | None = None
    for data in (event.data for event in events):
        match data:
            case Stimulus(status="applied"):
                now = data.phase
                seen[now] = Seen()
            case Stimulus(status="cleaned_up"):
                now = None
            case Decision() if now is not None:
                seen[now].decided += data.action.full_kind == PHASES[now].intention
            case OutcomeExecution() | OutcomeVerification() if now is not None:
                _note(seen[now], now, data)
            case _:
                pass
    return seen


def _note(seen: Seen, phase: int, data: OutcomeExecution | OutcomeVerification) -> None:
    place = data.cycle, data.part
    if isinstance(data, OutcomeVerification):
        if place in seen.executed and data.status is VerificationStatus.VERIFIED:
            seen.verified.add(place)
    elif data.rollback_of:
        if data.phase is ExecutionPhase.FINISHED and data.succeeded:
            seen.given_back |= {place} & seen.executed
            seen.others_left.discard(place)
    elif data.phase is ExecutionPhase.FINISHED and data.succeeded:
        if data.action.full_kind == PHASES[phase].intention:
            seen.executed.add(place)
        elif data.direction not in GIVES_BACK:
            seen.others_left.add(place)


@pytest.mark.parametrize(
    ("workload", "speed"), [("idle", 1.0), (str(LOADED), 1.0), (str(LOADED), 20.0)]
)
def test_all_nine_are_decided_executed_verified_and_given_back(
    tmp_path: Path, workload: str, speed: float
) -> None:
    """On an idle cluster and beside work of others; nothing that was done in between stays either."""
    flags = {"run.workload": workload, "run.speed": speed, "run.for_seconds": 340.0}
    seen = phases_of(play(tmp_path / "run.fslog", **flags))

    assert list(seen) == list(range(9))
    for index, phase in seen.items():
        name = PHASES[index].name
        assert phase.decided >= 1, name
        assert phase.executed, name
        assert phase.verified, name
        assert phase.given_back == phase.executed, name
        assert not phase.others_left, name


def test_each_cleaned_up_phase_says_what_became_of_it(tmp_path: Path) -> None:
    """The record of a phase: intention, load, rollout, and how often it was decided, executed, verified, given back."""
    events = play(tmp_path / "run.fslog", **{"run.workload": "idle", "run.for_seconds": 280.0})
    told = [event.data for event in events if isinstance(event.data, Stimulus)]
    applied = {one.phase: one for one in told if one.status == "applied"}
    ended = {one.phase: one for one in told if one.status == "cleaned_up"}

    assert [one.operation for one in applied.values()] == [
        "",
        "create 12 Deployments",
        "create 12 Deployments",
        "create 1 Deployment",
        "create 4 Deployments",
        "create 4 Deployments",
        "create 1 Deployment and 4 Jobs",
        "create 1 Deployment and 4 Jobs",
        "create 1 Deployment",
    ]
    assert applied[6].node_selector == "foresail.dev/exercise-slot=unavailable"
    assert (applied[6].intended_admission, applied[6].replicas) == ("queue", 12)
    assert ended[1].rollout == "12 of 12 replicas ready"
    for one in ended.values():
        counts = (one.decided, one.executed, one.verified, one.given_back)
        assert min(counts) >= 1, (one.name, counts)


def test_a_new_phase_every_cycle(tmp_path: Path) -> None:
    """The rhythm of the predecessor's `--exercise-interval-iterations 1`, in its namespace, with its labels."""
    flags = {
        "run.workload": "idle",
        "run.for_seconds": 48.0,
        "exerciser.phase_cycles": 1,
        "exerciser.patience_cycles": 0,
        "exerciser.namespace": "borg-orchestrator-exercise",
        "exerciser.marks": "borg-orchestrator",
    }
    events = play(tmp_path / "run.fslog", **flags)
    told = [event.data for event in events if isinstance(event.data, Stimulus)]
    applied = [one for one in told if one.status == "applied"]

    assert [(one.phase, one.cycle) for one in applied] == [(i, i + 1) for i in range(9)]
    assert {one.namespace for one in told} == {"borg-orchestrator-exercise"}
    assert applied[6].node_selector == "borg-orchestrator/exercise-slot=unavailable"


def test_in_shadow_mode_the_load_is_real_and_nothing_else(tmp_path: Path) -> None:
    """Every action is a dry run, so none of them is given back, and a phase ends once it was looked at."""
    flags = {"run.workload": "idle", "run.mode": "shadow", "run.for_seconds": 280.0}
    events = play(tmp_path / "run.fslog", **flags)
    acted = [event.data for event in events if isinstance(event.data, OutcomeExecution)]
    told = [event.data for event in events if isinstance(event.data, Stimulus)]

    assert {one.mode for one in acted} == {"shadow"}
    assert any(one.phase is ExecutionPhase.FINISHED for one in acted)
    assert "giving_back" not in {one.status for one in told}
    ended = [one for one in told if one.status == "cleaned_up"]
    assert ended[1].rollout == "12 of 12 replicas ready"
    assert all(one.decided for one in ended)
    missed = [one.name for one in ended if not one.executed]
    assert missed == ["admission-deprioritize"]  # its cool-down, which no dry run gives back


def test_nothing_is_begun_while_a_phase_is_given_back(tmp_path: Path) -> None:
    """A decision that its load brought about late is refused with the reason."""
    events = play(tmp_path / "run.fslog", **{"run.workload": "idle", "run.for_seconds": 60.0})
    refused = [
        event.data
        for event in events
        if isinstance(event.data, OutcomeExecution) and event.data.reason is Reason.TAKEN_BACK
    ]

    assert refused
    assert all("phase" in one.text for one in refused)
