"""A cluster that dies while a stack runs: `status`, the live view and the plain lines say so."""

from __future__ import annotations

from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from bus.clock import LoopClock
from bus.exit_codes import ExitCode
from bus.memory_adapter import MemoryBus, MemoryLog
from bus.virtual_loop import run_virtual
from foresail import up
from foresail.__main__ import main
from foresail.stack import real
from foresail.stack.live_view import view
from foresail.stack.showing import LinePrinter
from foresail.stack.state_folder import StackFile
from foresail.status import gather
from projections.overview import Overview
from schemas.envelope import Event
from schemas.registry import encode
from schemas.snapshot import SnapshotNodes
from tests import builders

STACK = StackFile("test", "1", "foresail_test", "nats://127.0.0.1:1", embedded=True, pid=1)


def snapshot_event(*, readable: bool) -> Event[Any]:
    """Return the snapshot of a cycle in which the cluster can be read or not."""
    (data, *_) = builders.make_snapshot(2 if readable else 0, cycle=2)
    assert isinstance(data, SnapshotNodes)
    changes = {
        "ok": readable,
        "message": "" if readable else "connection refused",
        "failing_since_seconds": None if readable else builders.START_SECONDS + 7,
    }
    sources = tuple(source.model_copy(update=changes) for source in data.sources)
    return builders.stamp_event(data.model_copy(update={"sources": sources}))


def status_after(event: Event[Any]) -> dict[str, Any]:
    """Return what `status` gathers from a log that holds one event."""

    async def gathered() -> dict[str, Any]:
        bus = MemoryBus(MemoryLog(), "test")
        await bus.publish([encode(event)])
        return await gather(bus, STACK, LoopClock(0))

    return run_virtual(gathered)


def test_status_says_since_when_the_cluster_cannot_be_read() -> None:
    """It is a trouble, so that the exit code is not 0, and a field of the JSON."""
    status = status_after(snapshot_event(readable=False))
    assert status["cluster_outage"]["since_seconds"] == builders.START_SECONDS + 7
    (trouble,) = status["troubles"]
    assert "since 2026-01-01 00:00:07 cluster time" in trouble
    assert "connection refused" in trouble

    well = status_after(snapshot_event(readable=True))
    assert (well["cluster_outage"], well["troubles"]) == (None, [])


def test_the_live_view_shows_the_outage_and_its_end() -> None:
    """In the place of the cluster's figures, which are old then."""
    overview = Overview().after(snapshot_event(readable=False))
    console = Console(width=200, file=StringIO())
    with console.capture() as printed:
        console.print(view(overview, [], 0, "Foresail", {}))
    assert "cannot be read since 2026-01-01 00:00:07" in printed.get()

    assert overview.after(snapshot_event(readable=True)).outage is None


@pytest.mark.parametrize(
    ("speed", "title"),
    [
        (20.0, "cluster time, 20 times as fast as wall time"),
        (1.0, "cluster time"),
        (None, "cluster time"),
    ],
)
def test_the_live_view_says_how_fast_the_cluster_runs(speed: float | None, title: str) -> None:
    """Its time runs ahead of the wall's when it is faster, which looks wrong unless it is said."""
    overview = Overview().after(builders.stamp_event(builders.make_observation(cycle=2)))
    if speed is not None:
        config = builders.make_config("stack", run={"speed": speed})
        overview = overview.after(builders.stamp_event(config))
    console = Console(width=200, file=StringIO())
    with console.capture() as printed:
        console.print(view(overview, [], 0, "Foresail", {}))
    (line,) = [line for line in printed.get().splitlines() if "cluster, cycle 2" in line]
    assert f"{title} ─" in line


def test_plain_lines_say_when_it_begins_and_ends(capsys: pytest.CaptureFixture[str]) -> None:
    """Once each, not in every cycle."""
    take = LinePrinter(print)
    for readable in (True, False, False, True):
        take(snapshot_event(readable=readable))
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2
    assert "cannot be read since" in lines[0]
    assert lines[1] == "the cluster can be read again"


def test_a_run_that_ends_in_an_outage_is_not_green(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`up --for` ends with 1 and the line."""
    said = "the cluster cannot be read since then"
    summary: dict[str, Any] = {"status": "complete", "cluster_outage": said}
    monkeypatch.setattr(real, "run_real_stack", lambda *_, **__: summary)
    monkeypatch.setattr(up, "print_summary", lambda *_: None)
    command = ["up", "--for", "1s", "--state", str(tmp_path)]

    assert ExitCode.DIFFERS == main(command)
    assert said in capsys.readouterr().err
    summary["cluster_outage"] = None
    assert ExitCode.GOOD == main(command)
