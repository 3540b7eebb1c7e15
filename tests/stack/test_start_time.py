"""When the simulated cluster's time starts is an input of the run: chosen once, and in the log."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from bus.clock import ManualClock
from foresail.settings import StackSettings, resolve
from foresail.stack.cluster import with_start
from foresail.stack.run_events import announced_settings
from foresail.stack.twin_process import TwinProcess
from foresail.stack.workload import choose_workload

NOW_NS = 1_800_000_000_987_654_321
NOW = "2027-01-15T08:00:00"


def settings(**run: str) -> StackSettings:
    """Return the settings of a stack."""
    return resolve(None, {}, {f"run.{name}": value for name, value in run.items()})


def test_a_live_stack_starts_now_and_says_so(tmp_path: Path) -> None:
    """The wall clock's second stands in the settings that are published, and on the twin's line."""
    filled = with_start(settings(workload="idle"), ManualClock(NOW_NS))

    assert filled.run.start_time == datetime(2027, 1, 15, 8, tzinfo=UTC)
    assert announced_settings(filled)["run"]["start_time"] == f"{NOW}Z"
    command = TwinProcess(filled, choose_workload(filled.run, tmp_path), tmp_path)._command()
    assert command[command.index("--start-time") + 1] == f"{NOW}+00:00"


def test_what_was_given_stays() -> None:
    """A start that somebody set is not overwritten; a real cluster has none."""
    given = settings(start_time="2020-02-29T12:00:00Z")
    assert with_start(given, ManualClock(NOW_NS)) == given
    real = settings(kubeconfig="file")
    assert with_start(real, ManualClock(NOW_NS)).run.start_time is None
