"""The build of a dataset: read, normalise, label, compute features; each a stage that is done once.

Guarantee: a dataset is whole or absent, and its manifest says what was read, set aside, excluded
and censored, with the share of each kind of end within the horizon.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from bus.errors import ConfigError, InputError
from features.history import FEATURE_SETS
from lab.forecast import features
from lab.forecast.anchors import GRIDS, Grid, schedule_anchors, write_attempts
from lab.forecast.builds import Build, Json, finished_build, provenance, sha256_of
from lab.forecast.counting import COUNTED_ROWS, count_file, count_rows
from lab.forecast.labels import LabelChoice
from lab.forecast.normalise import (
    write_job_events,
    write_machine_events,
    write_task_events,
    write_usage,
)
from lab.forecast.parts import write_table
from lab.forecast.window_anchors import write_windows
from lab.forecast.workspace import PARTIAL
from lab.traces.codes import CODES_FILE, Codes
from lab.traces.common_options import AS_IT_IS, CommonOptions
from lab.traces.event_reader import EventReader, TraceInput
from lab.traces.registry import event_reader
from lab.traces.repair import RepairLog, SchemaDrift

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,60}")
DATASET_VERSION = 2
"""Goes up when the same input gives other tables or another manifest."""
NO_FEATURES = "none"
ANCHORS = ("schedule", "grid", "hazard", "window")
Progress = Callable[[str, int, int], None]
"""Called with a stage's name, what is done and what there is (0: unknown)."""


@dataclass(frozen=True)
class DatasetPlan:
    """What to build."""

    trace: str
    given: Path
    name: str
    anchor: str = "schedule"
    choice: LabelChoice = field(default_factory=LabelChoice)
    feature_set: str = "full"
    repair: bool = False
    replace: bool = False
    common: CommonOptions = AS_IT_IS
    """How an input of the common form differs from it."""


def build_dataset(plan: DatasetPlan, processed: Path, progress: Progress) -> tuple[Json, bool]:
    """Build, or find built; returns the manifest and whether it was there already.

    Raises:
        SchemaDrift: the input is not in its trace's form.
        ConfigError: the name is taken by another build.
        InputError: it has features to learn from, but no row has a label.
    """
    reader = event_reader(plan.trace, plan.common)
    if plan.anchor == "window" and reader.windows is None:
        raise ConfigError(
            "--anchor", "window", f"{plan.trace} has no windows of its own; take grid"
        )
    source = reader.find(plan.given)
    progress("hash", 0, 0)
    recipe = _recipe(plan, source)
    folder = processed / plan.name
    there = finished_build(folder, recipe, replace=plan.replace)
    if there is not None:
        return there, True
    build = Build(folder, recipe)
    read = build.stage("read", lambda: _read(plan, reader, source, build.folder, progress))
    segments = {
        segment["segment"]: (segment["first_us"], segment["end_us"]) for segment in read["segments"]
    }
    labelled = build.stage(
        "label",
        lambda: _label(plan, reader, source, read["events"], segments, build.folder, progress),
    )
    if plan.feature_set != NO_FEATURES:  # without features nothing is learned from it
        _check_labels(plan, labelled)
    features = build.stage("features", lambda: _features(plan, build.folder, progress))
    return build.finish(_manifest_of(plan, reader, source, read, labelled, features)), False


def _check(plan: DatasetPlan, reader: EventReader) -> None:
    if plan.anchor == "window" and reader.windows is None:
        raise ConfigError(
            "--anchor", "window", f"{plan.trace} has no windows of its own; take grid"
        )
    if plan.feature_set not in (*FEATURE_SETS, NO_FEATURES):
        known = ", ".join((*FEATURE_SETS, NO_FEATURES))
        raise ConfigError("--features", plan.feature_set, f"give one of {known}")
    if not _NAME.fullmatch(plan.name) or plan.name.endswith(PARTIAL):
        raise ConfigError("--name", plan.name, "give small letters, digits, dots and dashes")


def _recipe(plan: DatasetPlan, source: TraceInput) -> Json:
    return {
        "trace": plan.trace,
        "anchor": plan.anchor,
        "failures": [kind.name for kind in plan.choice.failures],
        "horizon_minutes": plan.choice.horizon_minutes,
        "feature_set": plan.feature_set,
        "feature_set_version": _version(plan.feature_set),
        "dataset_version": DATASET_VERSION,
        "repair": plan.repair,
        **plan.common.given,
        "inputs": [
            {
                "table": table,
                "file": source.name_of(path),
                "bytes": path.stat().st_size,
                "sha256": sha256_of(path),
            }
            for table, path in source.files()
        ],
        **provenance(),
    }


def _version(feature_set: str) -> int:
    return 0 if feature_set == NO_FEATURES else FEATURE_SETS[feature_set].version


def _read(
    plan: DatasetPlan, reader: EventReader, source: TraceInput, folder: Path, progress: Progress
) -> Json:
    ledger, codes = RepairLog(plan.repair), Codes()
    for note in reader.notes:
        ledger.note(note)
    progress("read jobs", 0, 0)
    names = write_job_events(reader, source, ledger, codes, folder)
    machine_events = write_machine_events(reader, source, ledger, codes, folder)
    progress("read tasks", 0, 0)
    read = write_task_events(reader, source, ledger, codes, names, folder)
    if not read["events"]:
        raise SchemaDrift("empty", plan.given.name, "0 events", "no row is left after the checks")
    usage = write_usage(reader, source, ledger, codes, folder)
    write_table(codes.table().lazy(), folder / CODES_FILE)
    return {
        **read,
        "machine_events": machine_events,
        "usage_windows": usage,
        "set_aside": ledger.report(),
        "notes": ledger.notes,
    }


def _label(
    plan: DatasetPlan,
    reader: EventReader,
    source: TraceInput,
    events: int,
    segments: dict[int, tuple[int, int]],
    folder: Path,
    progress: Progress,
) -> Json:
    progress("label", 0, 0)
    ends = {segment: end for segment, (_, end) in segments.items()}
    anchors_file = folder / "anchors.parquet"
    if plan.anchor == "window":
        write_windows(reader, source, plan.choice, ends, folder)
        return count_file(plan.choice, anchors_file)
    write_attempts(folder, events)
    attempts = folder / "attempts.parquet"
    if plan.anchor in GRIDS:
        grid = Grid(
            pl.read_parquet(attempts),
            plan.choice,
            segments,
            reader.starts_at_us,
            with_placements=plan.anchor == "hazard",
        )
        return count_rows(plan.choice, grid.frames(COUNTED_ROWS))
    anchors = schedule_anchors(pl.scan_parquet(attempts), plan.choice, ends, reader.starts_at_us)
    write_table(anchors, anchors_file)
    attempts.unlink()
    return count_file(plan.choice, anchors_file)


def _check_labels(plan: DatasetPlan, labelled: Json) -> None:
    """Refuse a dataset that nothing can be learned from: every outcome lies beyond the trace's end, or is unknown."""
    if any(horizon["positives"] + horizon["negatives"] for horizon in labelled["by_horizon"]):
        return
    value = f"0 of {labelled['rows']} rows"
    minutes = plan.choice.horizons[0]
    remedy = f"the trace must go on for more than {minutes} minutes after some decision: check the unit of its times"
    raise InputError(f"--trace {plan.trace} rows with a label", value, remedy)


def _features(plan: DatasetPlan, folder: Path, progress: Progress) -> Json:
    """Compute features, unless they are computed as they are read (a grid) or not wanted."""
    if plan.feature_set == NO_FEATURES:
        return {"feature_set": NO_FEATURES, "feature_names": []}
    if plan.anchor in GRIDS:
        return features.describe_feature_set(FEATURE_SETS[plan.feature_set])
    written = features.write_features(
        folder, plan.feature_set, lambda done, all_: progress("features", done, all_)
    )
    return dict(written)


def _manifest_of(
    plan: DatasetPlan,
    reader: EventReader,
    source: TraceInput,
    read: Json,
    labelled: Json,
    computed: Json,
) -> Json:
    return {
        "name": plan.name,
        "kind": "dataset",
        "trace": plan.trace,
        "anchor": plan.anchor,
        "starts_at_us": reader.starts_at_us,
        "label": {
            "failures": [kind.name for kind in plan.choice.failures],
            "horizon_minutes": plan.choice.horizon_minutes,
            "horizons_minutes": list(plan.choice.horizons),
        },
        "not_read": list(source.not_read),
        **read,
        "anchors": labelled,
        "features": computed,
    }
