"""A run that an exception or Ctrl-C ends says so in its log: the stage has failed, the run is over, and why."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import pytest

from bus.clock import Clock
from bus.exit_codes import ExitCode
from foresail.__main__ import main
from foresail.run_status import read_run
from foresail.stack import ending, real, virtual
from foresail.stack.watch import Watch
from schemas.envelope import Event
from schemas.observation import Observation

IDLE = ("up", "--nodes", "3", "--workload", "idle")
FULL = "OSError: no space left"


def _full_disk() -> None:
    raise OSError("no space\nleft")


def _ctrl_c() -> None:
    signal.raise_signal(signal.SIGINT)


def _check(path: Path, status: str, reason: str, capsys: pytest.CaptureFixture[str]) -> None:
    run = read_run(path)
    assert run.complete is not None
    assert run.complete.status == status
    assert run.complete.summary["cycles"] >= 1
    assert (run.stages["live"].status, run.stages["live"].detail) == ("failed", reason)
    assert [one.text for one in run.errors] == ([reason] if status == "failed" else [])
    capsys.readouterr()
    assert main(["status", "--run", str(path)]) == ExitCode.DIFFERS
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].endswith(f": {status}")
    assert any(line.startswith("stage live: failed") and reason in line for line in lines)


@pytest.mark.parametrize(
    ("act", "status", "reason"),
    [
        (_full_disk, "failed", FULL),
        (_ctrl_c, "interrupted", "stopped by Ctrl-C or a signal"),
    ],
)
def test_a_virtual_run_that_ends_early(
    act: Any,
    status: str,
    reason: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """In its seventh cycle; what was recorded until then is kept, and its recording is whole."""
    followed = virtual.follow_with_trace

    def following(path: str | None, watch: Watch) -> Any:
        def listen(event: Event[Any]) -> None:
            if isinstance(event.data, Observation) and event.data.cycle == 6:
                act()

        watch.listeners.append(listen)
        return followed(path, watch)

    monkeypatch.setattr(virtual, "follow_with_trace", following)
    path = tmp_path / "run.fslog"
    words = [*IDLE, "--virtual-time", "--for", "60s", "--record", str(path)]
    if status == "failed":
        with pytest.raises(OSError, match="no space"):
            main(words)
    else:
        assert main(words) == ExitCode.INTERRUPTED
    _check(path, status, reason, capsys)
    assert main(["verify", str(path)]) == ExitCode.GOOD


@pytest.mark.nats
@pytest.mark.twin
def test_a_run_in_real_time_that_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Once its first cycle was seen; the error goes on to whoever called, as before."""

    async def failing(watch: Watch, clock: Clock, _: int | None) -> None:
        await ending.wait_for_cycles(watch, clock, 1)
        _full_disk()

    monkeypatch.setattr(real, "wait_for_cycles", failing)
    path = tmp_path / "run.fslog"
    words = ["--interval", "1s", "--dashboard-port", "0", "--state", str(tmp_path / "state")]
    with pytest.raises(OSError, match="no space"):
        main([*IDLE, *words, "--record", str(path)])
    _check(path, "failed", FULL, capsys)
