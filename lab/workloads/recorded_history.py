"""The history that a recording's observations tell, as a table that the collector reads."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

from bus.errors import InputError
from bus.recording import open_recording
from features.workload_history.history import WorkloadHistory
from lab.rerun.trusted import read_event
from schemas.history import HistoryBlock, HistoryFilled
from schemas.identity import Origin
from schemas.observation import Observation
from schemas.registry import UnknownEvent
from schemas.snapshot import SnapshotUsage
from services.inference.service import build
from services.inference.settings import InferenceSettings

COLUMNS = ("series", "t_s", "value")
TOLD_BY = (Observation, SnapshotUsage, HistoryFilled, HistoryBlock)
HISTORY_ALONE = InferenceSettings(shadow_models=(), demand_bands=False, replica_capacity=False)


def write_recorded_history(path: Path, out: Path) -> int:
    """Write requests, use and requested cores in steps of five minutes, as inference follows them.

    Args:
        path: a recording.
        out: the table to write: `series`, `t_s` (s of cluster time, Unix), `value`.

    Returns:
        How many rows it has.

    Raises:
        InputError: it is no recording, or holds no whole step.
    """
    recording = open_recording(path)
    handler = build(HISTORY_ALONE, Origin("recording", path.stem))
    state = handler.initial()
    for message in recording:
        try:
            event = read_event(message)
        except UnknownEvent:
            continue
        if isinstance(event.data, TOLD_BY):
            state = handler.evolve(state, event)
    followed = state.workloads.followed
    rows = [] if followed is None else _rows(followed.history)
    if not rows:
        raise InputError("recording", path.name, "give one of at least ten minutes of cluster time")
    with out.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows(rows)
    return len(rows)


def _rows(history: WorkloadHistory) -> list[tuple[str, int, str]]:
    names = sorted(history.ids)
    times, values = history.pasts(names)
    return [
        (name, int(times[place]), f"{values[row, place]:.6g}")
        for row, name in enumerate(names)
        for place in np.flatnonzero(~np.isnan(values[row])).tolist()
    ]
