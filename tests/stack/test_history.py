"""A stack on a simulated cluster begins with the history that its workload names."""

from __future__ import annotations

from pathlib import Path

from foresail.settings import resolve
from foresail.stack.virtual import run_virtual_stack
from schemas.envelope import Event
from schemas.history import HistoryFilled
from schemas.model import EventData

WORKLOAD = """record,name,time_seconds,cpu_request_millicores,memory_request_bytes,kind,traffic,history
arrival,web,0,100,1000000,service,constant requests_per_second=5,past.csv
"""


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
    assert told(tmp_path, **{"collector.history_files": ()}) == []
