"""What snapshots tell of attempts: each start and end once, whichever way it was seen."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from features.codes import code_of, program_of
from features.history import Anchors, Kind
from features.live.checkpoint import decode_history, encode_history
from features.live.live_history import FEATURE_SET, LiveHistory
from features.live.pod_changes import MICROSECONDS
from schemas.snapshot import SnapshotPlacements
from schemas.view import ObservationView, update_view
from tests.builders import cycle_time
from tests.forecast.live.world import World

JOB = "default/Job/report-1"


class EventReader:
    """Follows a world as inference does."""

    def __init__(self) -> None:
        """Know nothing yet."""
        self.live = LiveHistory()
        self.view: ObservationView | None = None

    def read(self, events: list[Any], *, asked: bool = True) -> EventReader:
        """Fold one cycle's events."""
        placements, workloads, observation = events
        self.live = self.live.with_placements(placements.data).with_workloads(workloads.data)
        self.view = update_view(self.view, observation)
        assert self.view is not None
        self.live = self.live.with_observation(self.view, with_changes=asked)
        return self

    def value(self, name: str, *, node: str = "n1", job: str = JOB) -> float:
        """Return one feature of a job on a node, at the newest observation."""
        assert self.view is not None
        anchors = Anchors.of(
            time_us=[round(self.view.cluster_time_seconds * MICROSECONDS)],
            job=[code_of(job)],
            user=[code_of("default")],
            machine=[code_of(node)],
        )
        row = self.live.history.features(anchors)[0]
        return float(row[FEATURE_SET.names.index(name)])


@pytest.fixture
def world() -> World:
    """Two nodes with nothing on them."""
    return World()


def test_a_pod_that_fails_is_one_start_and_one_failure(world: World) -> None:
    """Seen pending, running and Failed over three cycles it counts once."""
    reader = EventReader().read(world.next_cycle())
    world.start("a")
    reader.read(world.next_cycle())
    assert (reader.value("job_starts"), reader.value("job_running")) == (1.0, 1.0)

    world.fail("a")
    reader.read(world.next_cycle())
    reader.read(world.next_cycle())

    assert reader.value("job_fails_60m") == reader.value("job_quick_fails_60m") == 1.0
    assert reader.value("job_running") == 0.0
    assert reader.value("machine_fails_60m") == reader.value("user_fails_60m") == 1.0


def test_a_pod_that_starts_and_ends_between_two_looks_counts(world: World) -> None:
    """It never was in a placement, and is known by its row alone."""
    reader = EventReader().read(world.next_cycle())
    world.start("a", phase="Succeeded", ended=2)
    reader.read(world.next_cycle())

    assert reader.value("job_starts") == reader.value("job_finishes") == 1.0
    assert reader.value("job_running") == 0.0


def test_a_restarted_container_is_a_failure_and_a_start(world: World) -> None:
    """The pod stays, the attempt does not."""
    reader = EventReader().read(world.next_cycle())
    world.start("a")
    reader.read(world.next_cycle())
    world.change("a", restarts=2)
    reader.read(world.next_cycle())
    reader.read(world.next_cycle())

    assert (reader.value("job_fails"), reader.value("job_starts")) == (2.0, 3.0)
    assert reader.value("job_running") == 1.0


def test_a_pod_that_goes_unseen_was_killed(world: World) -> None:
    """Nothing lists it any more, and the sum on its node is one less."""
    reader = EventReader().read(world.next_cycle())
    world.start("a")
    reader.read(world.next_cycle())
    world.vanish("a")
    reader.read(world.next_cycle())

    assert (reader.value("job_kills"), reader.value("job_running")) == (1.0, 0.0)


def test_a_pod_lost_with_its_node_was_evicted(world: World) -> None:
    """The node is not ready: that is no decision about the pod."""
    reader = EventReader().read(world.next_cycle())
    world.start("a")
    reader.read(world.next_cycle())
    world.ready["n1"] = False
    world.vanish("a")
    reader.read(world.next_cycle())

    assert (reader.value("job_evicts"), reader.value("job_kills")) == (1.0, 0.0)


def test_a_deleted_pod_counts_once(world: World) -> None:
    """Listed as ending for some cycles, then gone: one KILL."""
    reader = EventReader().read(world.next_cycle())
    world.start("a")
    reader.read(world.next_cycle())
    for _ in range(2):
        world.change("a", deleting=True)
        reader.read(world.next_cycle())
    assert reader.value("job_running") == 1.0
    world.vanish("a")
    reader.read(world.next_cycle())

    assert (reader.value("job_kills"), reader.value("job_starts")) == (1.0, 1.0)
    assert reader.value("job_running") == 0.0


def test_pods_that_ran_before_anybody_looked_run(world: World) -> None:
    """They count as running, and as started long ago."""
    world.start("a")
    world.start("b")
    reader = EventReader().read(world.next_cycle())

    assert reader.value("job_running") == 2.0
    assert reader.value("job_starts_60m") == 0.0


def test_a_cycle_without_pods_changes_nothing(world: World) -> None:
    """A failed read is no mass death; what happened meanwhile is caught up."""
    reader = EventReader().read(world.next_cycle())
    world.start("a")
    reader.read(world.next_cycle())
    reader.read(world.next_cycle(pods_missing=True))
    assert (reader.value("job_running"), reader.value("job_kills")) == (1.0, 0.0)
    world.fail("a")
    reader.read(world.next_cycle())

    assert (reader.value("job_fails"), reader.value("job_kills")) == (1.0, 0.0)


def test_a_lost_frame_is_noticed_and_mended_by_the_next_keyframe(world: World) -> None:
    """Between the two nothing is counted; afterwards everything that is left."""
    reader = EventReader().read(world.next_cycle())
    world.start("a")
    world.next_cycle()
    world.start("b")
    lost = reader.read(world.next_cycle())
    assert lost.live.placed is None
    assert lost.value("job_starts") == 0.0
    world.frames.clear()
    reader.read(world.next_cycle())

    assert reader.value("job_running") == 2.0


def busy(world: World, cycles: int) -> list[list[Any]]:
    """Return cycles in which pods start, fail, restart, end and vanish on two nodes."""
    told = []
    for cycle in range(cycles):
        node, name = f"n{cycle % 2 + 1}", f"p{cycle}"
        world.start(name, node=node, workload=f"default/Job/report-{cycle % 3}")
        before = f"p{cycle - 3}"
        if before in world.pods:
            if cycle % 4 == 0:
                world.fail(before)
            elif cycle % 4 == 1:
                world.change(before, phase="Succeeded", ended=world.cycle + 1)
            elif cycle % 4 == 2:
                world.change(before, restarts=1)
            else:
                world.vanish(before)
        told.append(world.next_cycle())
    return told


def matrix(reader: EventReader) -> Any:
    """Return every feature of every placed row."""
    assert reader.live.newest is not None
    assert reader.view is not None
    rows = np.arange(len(reader.live.newest.placed))
    return reader.live.history.features(reader.live.anchors(reader.view, rows))


def test_frames_and_keyframes_give_the_same_history() -> None:
    """The history does not depend on which cycles travelled whole."""
    by_delta, whole = EventReader(), EventReader()
    for events in busy(World(keyframe_every=50), 30):
        by_delta.read(events)
    for events in busy(World(keyframe_every=1), 30):
        whole.read(events)

    assert isinstance(events[0].data, SnapshotPlacements)
    assert np.array_equal(matrix(by_delta), matrix(whole), equal_nan=True)


def test_counting_later_gives_the_same_history() -> None:
    """What is held back while no model asks changes no value."""
    at_once, later = EventReader(), EventReader()
    for number, events in enumerate(busy(World(), 31)):
        at_once.read(events)
        later.read(events, asked=number % 5 == 0)

    assert np.array_equal(matrix(at_once), matrix(later), equal_nan=True)


def test_a_restored_history_goes_on_as_if_nothing_had_been() -> None:
    """Packed into a checkpoint at any cycle and unpacked, every later feature is the same."""
    told = busy(World(), 45)
    whole, restored = EventReader(), EventReader()
    for number, events in enumerate(told):
        whole.read(events, asked=number % 2 == 0)
        restored.read(events, asked=number % 2 == 0)
        if number in (3, 22, 23):
            text = encode_history(restored.live)
            assert text is not None
            again = decode_history(text)
            assert again is not None
            assert encode_history(again) == text
            restored.live = again

    assert np.array_equal(matrix(whole), matrix(restored), equal_nan=True)


def test_events_lie_before_the_snapshot_that_showed_them(world: World) -> None:
    """A feature never counts what was recorded at its own moment or later."""
    reader = EventReader().read(world.next_cycle())
    for events in busy(world, 12):
        reader.read(events, asked=False)

    times = [one.time_us for one in reader.live.held]
    assert times == sorted(times)
    assert times[-1] < round(cycle_time(world.cycle) * MICROSECONDS)
    assert {one.kind for one in reader.live.held} >= {Kind.SCHEDULE, Kind.FAIL, Kind.FINISH}


def test_a_clock_that_goes_back_loses_nothing(world: World) -> None:
    """What happens while the cluster's clock repeats itself counts, at the newest moment."""
    reader = EventReader().read(world.next_cycle())
    world.start("a")
    world.start("b")
    reader.read(world.next_cycle())
    reader.live = replace(
        reader.live, history=reader.live.history.trim(round(1e6 * cycle_time(50)))
    )
    world.fail("a")
    reader.read(world.next_cycle())
    later = Anchors.of(
        time_us=[round(1e6 * cycle_time(60))],
        job=[code_of(JOB)],
        user=[code_of("default")],
        machine=[code_of("n1")],
    )

    row = reader.live.history.features(later)[0]
    assert row[FEATURE_SET.names.index("job_fails")] == 1
    assert reader.view is not None
    assert reader.live.anchors(reader.view, np.array([0])).time_us[0] >= 1e6 * cycle_time(50)


def test_runs_of_one_program_share_a_name() -> None:
    """A number or a time that a controller appended does not make another program."""
    assert program_of("batch/Job/report-28391") == program_of("batch/Job/report-28392")
    assert program_of("batch/Job/report") != program_of("batch/Job/bill")
