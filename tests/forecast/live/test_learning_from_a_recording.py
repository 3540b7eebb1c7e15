"""A recording is training data: the same attempts, the same features, uncertain labels marked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from bus.port import StoredMessage
from bus.recording import RecordingWriter, open_recording
from features.codes import code_of
from features.history import Anchors, Kind
from features.live.live_history import FEATURE_SET, LiveHistory
from lab.forecast import features
from lab.forecast.dataset_build import DatasetPlan, build_dataset
from lab.forecast.parts import write_table
from lab.traces.recording import RecordedAttempts
from schemas.actions import ActionKind
from schemas.envelope import Event
from schemas.outcome import ExecutionPhase, Mode, Operation, Verb
from schemas.registry import encode
from services.inference.state import InferenceState, Outputs, evolve
from tests.builders import cycle_time, make_action, make_execution, stamp_event
from tests.forecast.live.world import World

CYCLES = 60


def lively() -> list[list[Event[Any]]]:
    """Return cycles in which pods of three programs start, fail, restart, end and vanish."""
    world, told = World(), []
    for cycle in range(CYCLES):
        world.start(f"p{cycle}", node=f"n{cycle % 2 + 1}", workload=f"default/Job/run-{cycle % 3}")
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


def messages(events: list[Event[Any]]) -> list[StoredMessage]:
    """Return events as the log holds them."""
    encoded = [encode(event) for event in events]
    return [
        StoredMessage(
            seq=number,
            time_ns=number,
            subject=message.subject,
            headers=message.headers,
            data=message.data,
        )
        for number, message in enumerate(encoded, start=1)
    ]


def write_recording(folder: Path, events: list[Event[Any]]) -> Path:
    """Write events as a recording."""
    path = folder / "run.fslog"
    writer = RecordingWriter(path, {"cluster": "twin", "incarnation": "i1"})
    for message in messages(events):
        writer.write(message)
    writer.seal()
    return path


def acted_on(node: str, cycle: int) -> Event[Any]:
    """Return an execution that changed a node."""
    action = make_action("efficiency", ActionKind.DVFS, node)
    write = Operation(verb=Verb.PATCH, resource="nodes", name=node, text="slow down")
    return stamp_event(
        make_execution(
            action=action,
            phase=ExecutionPhase.FINISHED,
            mode=Mode.ACTIVE,
            operations=(write,),
            cycle=cycle,
            cluster_time_seconds=cycle_time(cycle) + 1.0,
        )
    )


def test_training_and_live_inference_compute_the_same_values(tmp_path: Path) -> None:
    """One history through the batch builder and through the live fold: every value is equal."""
    live, attempts = InferenceState(), RecordedAttempts(0)
    outputs = Outputs(history=True, history_each_cycle=True)
    parts: list[Any] = []
    rows: list[Anchors] = []
    for events in lively():
        for event in events:
            live = evolve(live, event, outputs)
        for message in messages(events):
            attempts.add(message)
        current: Any = live.live
        assert isinstance(current, LiveHistory)
        assert current.newest is not None
        assert live.view is not None
        anchors = current.anchors(live.view, np.arange(len(current.newest.placed)))
        rows.append(anchors)
        parts.append(current.history.features(anchors))
    whole = rows[0]
    for row in rows[1:]:
        whole = whole.concat(row)
    _write(tmp_path, attempts, whole)

    features.write_features(tmp_path, FEATURE_SET.name, lambda _done, _all: None)

    batch = pl.read_parquet(tmp_path / "features" / "*.parquet").to_numpy()
    expected = np.concatenate(parts)
    assert batch.shape == expected.shape
    different = ~((batch == expected) | (np.isnan(batch) & np.isnan(expected)))
    assert [] == [FEATURE_SET.names[column] for column in np.flatnonzero(different.any(axis=0))]


def _write(folder: Path, told: RecordedAttempts, anchors: Anchors) -> None:
    """Write what a recording told as the tables of a dataset, with the live codes for names."""
    tasks = pl.DataFrame(told.tasks, infer_schema_length=None)
    coded = tasks.with_columns(
        pl.col(name).map_elements(code_of, return_dtype=pl.Int64).fill_null(-1)
        for name in ("job", "name", "user", "machine")
    )
    ends = coded.with_columns(pl.lit(-1, pl.Int64).alias("attempt_start_us"))
    write_table(ends.lazy(), folder / "events.parquet")
    machines = pl.DataFrame(told.machines).with_columns(
        pl.col("machine").map_elements(code_of, return_dtype=pl.Int64)
    )
    write_table(machines.lazy(), folder / "machine_events.parquet")
    columns = {name: getattr(anchors, name) for name in anchors.__dataclass_fields__}
    write_table(pl.DataFrame(columns).lazy(), folder / "anchors.parquet")


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """Return a recording in which node n2 was acted upon in cycle 30."""
    cycles = lively()
    events = [event for cycle in cycles[:30] for event in cycle]
    events.append(acted_on("n2", 30))
    events += [event for cycle in cycles[30:] for event in cycle]
    return write_recording(tmp_path, events)


def test_a_dataset_is_built_from_a_recording(recording: Path, tmp_path: Path) -> None:
    """Attempts, ends and nodes come from the log alone; the live features are there."""
    plan = DatasetPlan("recording", recording, "own", feature_set="live")

    manifest, _ = build_dataset(plan, tmp_path / "processed", lambda *_: None)

    kinds = manifest["events_by_kind"]
    assert kinds["SCHEDULE"] >= CYCLES
    assert min(kinds[kind] for kind in ("FAIL", "FINISH", "KILL")) > 5
    assert manifest["machine_events"] == 2
    assert manifest["features"]["feature_set"] == "live"
    assert manifest["anchors"]["by_horizon"][0]["excluded_uncertain"] > 0


def test_what_we_acted_upon_is_marked_uncertain(recording: Path) -> None:
    """Attempts that ran on the node then, and no others, have labels that nobody can know."""
    attempts = RecordedAttempts(0)
    for message in open_recording(recording):
        attempts.add(message)
    attempts.mark()
    starts = [row for row in attempts.tasks if row["kind"] == Kind.SCHEDULE]
    marked = [row for row in starts if row["uncertain"]]
    at = round((cycle_time(30) + 1.0) * 1e6)

    assert marked
    assert {row["machine"] for row in marked} == {"n2"}
    assert all(row["time_us"] <= at for row in marked)
    assert any(row["machine"] == "n2" and not row["uncertain"] for row in starts)
