"""The exerciser on the embedded cluster, through real services, in virtual time."""

from __future__ import annotations

import json
from typing import Any

import pytest

from schemas.decision import Decision
from schemas.reasons import Reason
from schemas.stimulus import Stimulus
from services.cluster import JSON
from services.exerciser.cluster import NAMESPACE, load_manifest
from services.exerciser.phases import PHASES
from services.exerciser.plan import PlannedLoad
from services.exerciser.settings import ExerciserSettings
from tests.exerciser.world import World
from twin.port.api import InProcessTwin

CYCLES = 3
ROUND_SECONDS = (len(PHASES) * CYCLES + 1) * 5.0
DEPLOYMENTS = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments"


def _stimuli(world: World, *statuses: str) -> list[Stimulus]:
    found = [event.data for event in world.events(Stimulus)]
    return [one for one in found if one.status in statuses]


NOTHING = {"deployments": 0, "pods": 0}


@pytest.mark.parametrize("randomise", [False, True], ids=["fixed", "drawn"])
@pytest.mark.parametrize("speed", [1.0, 20.0])
def test_nine_phases_end_in_the_decision_they_intend(*, randomise: bool, speed: float) -> None:
    """On the last cycle of each phase, agent, kind and referee rule are the intended ones."""
    settings = ExerciserSettings(
        patience_cycles=0, phase_cycles=CYCLES, rounds=1, randomise=randomise, seed=11
    )
    world = World(settings, seconds=ROUND_SECONDS, speed=speed).run()
    decisions = {event.cycle: event.data for event in world.events(Decision)}
    applied = _stimuli(world, "applied")
    assert [one.phase for one in applied] == list(range(9))
    for one in applied:
        decision = decisions[one.cycle + CYCLES]
        assert decision.action.agent == one.intended_agent, one.name
        assert decision.action.kind is one.intended_kind, one.name
        assert decision.rule.value == one.intended_rule, one.name


def test_each_phase_is_cleaned_up_before_the_next() -> None:
    """Applied and cleaned up alternate, and after a round nothing is left on the cluster."""
    world = World(
        ExerciserSettings(patience_cycles=0, phase_cycles=CYCLES, rounds=1),
        seconds=ROUND_SECONDS + 10,
    ).run()
    told = [(one.sequence, one.status) for one in _stimuli(world, "applied", "cleaned_up")]
    assert told == [
        (number, status) for number in range(1, 10) for status in ("applied", "cleaned_up")
    ]
    assert world.left == NOTHING


def test_stopping_in_mid_phase_removes_the_load() -> None:
    """Whenever it is stopped, its Deployments and pods go, and the log says so."""
    world = World(ExerciserSettings(patience_cycles=0, phase_cycles=CYCLES), seconds=22.0).run()
    assert _stimuli(world, "applied")[-1].phase == 1
    assert _stimuli(world, "cleaned_up")[-1].phase == 1
    assert world.left == NOTHING


def test_leftovers_of_an_earlier_run_are_removed_first() -> None:
    """Load that a killed exerciser left behind is gone before the first phase counts."""

    def leave(twin: InProcessTwin) -> None:
        _create(twin, "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
        load = PlannedLoad("exercise-8", 130, 100, 2**26)
        _create(twin, DEPLOYMENTS, load_manifest(load, "pause", {}))

    world = World(
        ExerciserSettings(patience_cycles=0, phase_cycles=CYCLES), seconds=9.0, prepare=leave
    ).run()
    assert world.left == NOTHING
    assert [one.phase for one in _stimuli(world, "applied")][:1] != [8]


def test_a_phase_that_cannot_work_is_skipped_with_the_reason() -> None:
    """Efficiency phases make way for those that still can work while a pod of others waits."""

    def wait(twin: InProcessTwin) -> None:
        load = PlannedLoad("waits", 1, 100, 2**26)
        body = load_manifest(load, "pause", {})
        body["metadata"]["labels"] = {}
        _create(twin, "/apis/apps/v1/namespaces/default/deployments", body)

    world = World(
        ExerciserSettings(patience_cycles=0, phase_cycles=CYCLES), seconds=7.0, prepare=wait
    ).run()
    skipped = _stimuli(world, "skipped")
    assert [one.phase for one in skipped] == [0, 1, 2]
    assert {one.reason for one in skipped} == {Reason.PHASE_UNREACHABLE}
    assert "agent C would win" in skipped[0].text
    assert _stimuli(world, "applied")[0].phase == 3


def test_a_restart_goes_on_with_the_next_phase() -> None:
    """A new process removes the old load, says so, and numbers on."""
    settings = ExerciserSettings(patience_cycles=0, phase_cycles=CYCLES)
    world = World(settings, seconds=22.0).run()
    again = World(settings, seconds=22.0, log=world.log).run()
    sequences = [one.sequence for one in _stimuli(again, "applied")]
    assert sequences == sorted(set(sequences))
    phases = [one.phase for one in _stimuli(again, "applied")]
    assert phases == [number % 9 for number in range(len(phases))]


def _create(twin: InProcessTwin, path: str, body: dict[str, Any]) -> None:
    status, answer = twin.request("POST", path, {}, json.dumps(body).encode(), JSON)
    assert status == 201, answer
    twin.engine.advance(twin.engine.now + 5.0)
