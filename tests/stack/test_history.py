"""A stack on a simulated cluster begins with the history that its workload names."""

from __future__ import annotations

from pathlib import Path

import pytest

from bus.errors import InputError
from foresail.settings import resolve
from foresail.stack.virtual import run_virtual_stack
from schemas.envelope import Event
from schemas.history import HistoryFilled
from schemas.model import EventData

WORKLOAD = """record,name,time_seconds,cpu_request_millicores,memory_request_bytes,kind,traffic,history
arrival,web,0,100,1000000,service,constant requests_per_second=5,past.csv
"""

NOTHING = {"collector.history_files": ()}


def told(folder: Path, **given: object) -> list[HistoryFilled]:
    """Return what a minute's run on the workload tells of the time before it."""
    (folder / "w.csv").write_text(WORKLOAD)
    (folder / "past.csv").write_text("series,t_s,value\nservice/default/web,-300,4\n")
    found: list[HistoryFilled] = []

    def take(event: Event[EventData]) -> None:
        if isinstance(event.data, HistoryFilled):
            found.append(event.data)

    run = {"workload": str(folder / "w.csv"), "nodes": 2, "speed": 1.0, "for_seconds": 60.0}
    flags = {f"run.{name}": value for name, value in {**run, "virtual_time": True}.items()}
    run_virtual_stack(resolve(None, {}, {**flags, **given}), quiet=True, listener=take)
    return found


def test_the_workload_s_own_history_is_filled_in(tmp_path: Path) -> None:
    """One step of five minutes, of the Service that the row names."""
    (filled,) = told(tmp_path)
    assert filled.source == "table"
    assert [(one.id, one.values) for one in filled.series] == [("service/default/web", (4.0,))]


def test_a_table_that_the_user_names_takes_its_place(tmp_path: Path) -> None:
    """Also none at all."""
    assert told(tmp_path, **NOTHING) == []


def test_a_recording_tells_of_the_time_before(tmp_path: Path) -> None:
    """Requests and requested cores of its whole steps, marked as recorded, for a run that begins after it."""
    recording = tmp_path / "run.fslog"
    recorded = {
        "run.record": str(recording),
        "run.for_seconds": 700.0,
        "run.interval_seconds": 20.0,
    }
    told(tmp_path, **NOTHING, **recorded)
    later = {"run.start_time": "2026-01-01T00:15:00Z", "collector.history_files": (str(recording),)}

    (filled,) = told(tmp_path, **later)

    assert filled.source == "recording"
    series = {one.id: one.values for one in filled.series}
    assert series["service/default/web"] == pytest.approx((5.0, 5.0), rel=0.15)
    assert series["nodes/all"][0] == pytest.approx(0.1, abs=0.02)


def test_a_recording_without_a_whole_step_is_refused(tmp_path: Path) -> None:
    """It says how long one is to be, before anything starts."""
    recording = tmp_path / "short.fslog"
    told(tmp_path, **NOTHING, **{"run.record": str(recording)})
    with pytest.raises(InputError, match="give one of at least ten minutes"):
        told(tmp_path, **{"collector.history_files": (str(recording),)})
