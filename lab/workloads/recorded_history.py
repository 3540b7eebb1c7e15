"""The history that a recording's observations tell, as a table that the collector reads."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

from bus.errors import InputError
from bus.recording import open_recording
from lab.rerun.trusted import read_event
from schemas.observation import Observation
from schemas.registry import UnknownEvent
from schemas.view import ObservationView, update_view
from services.inference.workloads import FollowedParts, Workloads, after_event, after_view

COLUMNS = ("series", "t_s", "value")
KEPT = FollowedParts(history=True)


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
    workloads = Workloads()
    view: ObservationView | None = None
    for message in open_recording(path):
        try:
            event = read_event(message)
        except UnknownEvent:
            continue
        if isinstance(event.data, Observation):
            view = update_view(view, event)
            if view is not None:
                workloads = after_view(workloads, view, KEPT)
        else:
            workloads = after_event(workloads, event.data, KEPT)
    rows = _rows(workloads)
    if not rows:
        raise InputError("recording", path.name, "give one of at least ten minutes of cluster time")
    with out.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows(rows)
    return len(rows)


def _rows(workloads: Workloads) -> list[tuple[str, int, str]]:
    if workloads.followed is None:
        return []
    history = workloads.followed.history
    names = sorted(history.ids)
    times, values = history.pasts(names)
    return [
        (name, int(times[place]), f"{values[row, place]:.6g}")
        for row, name in enumerate(names)
        for place in np.flatnonzero(~np.isnan(values[row])).tolist()
    ]
