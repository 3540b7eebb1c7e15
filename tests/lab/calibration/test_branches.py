"""Twin branches: the same world with and without one action."""

from __future__ import annotations

from dataclasses import replace

import pytest

from foresail.experiment import calibration_run
from foresail.experiment.branch_run import measure
from foresail.experiment.branching import BranchPoint, BranchRecorder
from foresail.experiment.calibration_run import CalibrationTask, record_points
from foresail.settings import StackSettings
from lab.calibration.samples import ActionSample
from lab.random_worlds.draw import RandomWorld

CORES, GIB = 4_000, 2**30
WORLD = RandomWorld(
    seed=1,
    rows=(
        *(
            {"record": "node", "name": f"n{i}", "cpu_millicores": CORES, "memory_bytes": 8 * GIB}
            for i in range(3)
        ),
        {
            "record": "arrival",
            "name": "web",
            "time_seconds": 0,
            "kind": "service",
            "cpu_request_millicores": 500,
            "memory_request_bytes": GIB // 2,
            "replicas": 1,
            "traffic": "constant requests_per_second=70",
            "request_cpu_seconds": 0.02,
            "request_cv": 1.0,
        },
    ),
    faults=(),
)
"""Three machines, and a Service of one replica that would need more than its machine."""
SECONDS = 240.0


@pytest.fixture(scope="module")
def recorder() -> BranchRecorder:
    """Return four minutes of that world, branched at its first action."""
    patch = pytest.MonkeyPatch()
    patch.setattr(calibration_run, "draw_branched_world", lambda _: WORLD)
    try:
        return record_points(CalibrationTask(seed=3, profile="foresail", seconds=SECONDS))
    finally:
        patch.undo()


def copied(point: BranchPoint, **changes: object) -> BranchPoint:
    """Return a point whose engines may be used up."""
    return replace(
        point,
        with_action=point.with_action.clone(),
        without=point.without.clone(),
        started=point.started.model_copy(update=changes),
    )


def measured(recorder: BranchRecorder, **changes: object) -> ActionSample:
    """Return what came of the first action, changed so."""
    assert isinstance(recorder.settings, StackSettings)
    return measure(copied(recorder.points[0], **changes), recorder.settings, recorder.began_seconds)


def test_a_world_branches_just_before_a_write(recorder: BranchRecorder) -> None:
    """Both copies are the world without the action, and the expectation is that of the decision."""
    (point,) = recorder.points

    assert point.kind == "replicate:more"
    assert point.with_action.state_hash() == point.without.state_hash()
    assert point.effect.terms["slo_services"] > 0.0 > point.effect.terms["capacity"]
    assert recorder.executed["replicate:more"] >= 1


def test_an_action_that_writes_nothing_changes_nothing(recorder: BranchRecorder) -> None:
    """The null case: without writes both branches come out equal, to the last digit."""
    sample = measured(recorder, operations=())

    assert (sample.score, sample.capacity, sample.components) == (0.0, 0.0, {})


def test_an_action_is_worth_what_it_changes(recorder: BranchRecorder) -> None:
    """Replicas that are needed end minutes of violation, and take the capacity of what they request."""
    sample = measured(recorder)
    action = recorder.points[0].started.action
    added = (action.replicas or 0) - 1  # type: ignore[union-attr]
    most = added * (0.5 * 0.031611 + 0.5 * 0.004237) * sample.horizon_seconds / 3_600.0

    assert sample == measured(recorder)
    assert sample.components["slo_services"] > 0.1
    assert sample.score == pytest.approx(sum(sample.components.values()), abs=1e-6)
    assert 0.0 < -sample.capacity <= most
    assert sample.stated == recorder.points[0].effect.net
