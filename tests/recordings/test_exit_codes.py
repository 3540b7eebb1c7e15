"""A green run means that everything was looked at: what else there is has a code of its own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bus.errors import BusUnavailable, Permanent
from bus.exit_codes import ExitCode, verdict
from bus.port import StoredMessage
from bus.recording import RecordingWriter, open_recording
from foresail import __main__ as command_line
from foresail import doctor, verify
from foresail.__main__ import main
from lab.rerun.engine import LAYERS


def without(run_file: Path, to: Path, *layers: str) -> str:
    """Write a recording that lacks some layers; return its name."""
    recording = open_recording(run_file)
    writer = RecordingWriter(to, recording.header)
    for message in recording:
        if message.subject.split(".")[2] not in layers:
            writer.write(message)
    writer.seal()
    return str(to)


def unreadable(message: StoredMessage) -> StoredMessage:
    """Return a decision as something that is no event."""
    return replace(message, data=b"{}") if message.subject.endswith(".decision") else message


def test_verify_is_not_green_where_nothing_was_compared(run_file: Path, tmp_path: Path) -> None:
    """Snapshots and settings alone give nothing to compare, whatever layer is asked for."""
    path = without(run_file, tmp_path / "a", *LAYERS)

    for layer in LAYERS:
        assert ExitCode.NOTHING_COMPARED == main(["verify", path, "--from", layer])


def test_verify_is_not_green_where_half_of_the_layers_is_missing(
    run_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A layer asked for that is not in the recording was not verified; it is named."""
    path = without(run_file, tmp_path / "a", "outcome", "decision")

    assert ExitCode.NOTHING_COMPARED == main(["verify", path])
    assert "nothing was compared of: decision, outcome" in capsys.readouterr().out


def test_diff_is_not_green_where_nothing_was_compared(run_file: Path, tmp_path: Path) -> None:
    """Two logs without decisions are not the same; one without them differs from one with them."""
    path = without(run_file, tmp_path / "a", "decision")

    assert ExitCode.NOTHING_COMPARED == main(["diff", path, path])
    assert ExitCode.DIFFERS == main(["diff", path, str(run_file)])


def test_diff_is_not_green_where_decisions_cannot_be_read(run_file: Path, tmp_path: Path) -> None:
    """A decision that is no event of today's schemas was not compared, on both sides alike."""
    recording = open_recording(run_file)
    writer = RecordingWriter(tmp_path / "a", recording.header)
    for message in recording:
        writer.write(unreadable(message) if message.seq > 500 else message)
    writer.seal()

    assert ExitCode.DIFFERS == main(["diff", str(tmp_path / "a"), str(tmp_path / "a")])


def test_what_if_and_sweep_are_not_green_without_decisions(run_file: Path, tmp_path: Path) -> None:
    """A computation over no decision says nothing about any policy."""
    path = without(run_file, tmp_path / "a", "decision")
    param = ["--param", "agents.safety.replicate=0.8"]

    assert ExitCode.NOTHING_COMPARED == main(["what-if", path])
    assert ExitCode.NOTHING_COMPARED == main(["sweep", path, *param])


def test_what_if_is_not_green_where_nothing_was_computed(run_file: Path, tmp_path: Path) -> None:
    """Decisions that stand for themselves, since their inputs lie before the recording, do not count."""
    part = str(tmp_path / "part")
    assert ExitCode.GOOD == main(["recording", "cut", str(run_file), part, "--cycle", "1..3"])

    assert ExitCode.NOTHING_COMPARED == main(["what-if", part])


def test_a_sweep_whose_points_are_all_refused_is_not_green(run_file: Path, tmp_path: Path) -> None:
    """Values that do not go together compute nothing."""
    param = ["--param", "agents.efficiency.sleep_demand_ratio=0.5", "--out", str(tmp_path / "o")]

    assert ExitCode.NOTHING_COMPARED == main(["sweep", str(run_file), *param])


def test_doctor_is_not_green_when_a_check_could_not_be_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A check that fails to run is unknown, not well; one that finds something wrong weighs more."""

    def broken(*_: Any) -> Any:
        raise PermissionError(13, "Permission denied")

    given = ["doctor", "--state", str(tmp_path / "state")]
    monkeypatch.setattr(
        doctor, "dashboard_port", lambda *_: doctor.Finding("dashboard port", True, "free")
    )
    before = main(given)
    monkeypatch.setattr("foresail.doctor.shutil.disk_usage", broken)
    assert ExitCode.GOOD == before
    assert ExitCode.NOTHING_COMPARED == main(given)
    assert "disk: could not be checked (Permission denied)" in capsys.readouterr().out
    monkeypatch.setattr(doctor, "OLDEST_PYTHON", (9, 0))
    assert ExitCode.DIFFERS == main(given)


async def test_doctor_does_not_call_a_silent_stack_well(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Processes that should send heartbeats and do not are named; no heartbeat at all is no praise."""
    seen: dict[str, Any] = {}

    class Nobody:
        """A connection that is not used."""

        async def __aenter__(self) -> None:
            """Enter."""

        async def __aexit__(self, *_: object) -> None:
            """Leave."""

    class Stack:
        """What a state folder says."""

        processes = seen

    async def heard(*_: Any) -> dict[str, Any]:
        return {}

    monkeypatch.setattr(doctor, "connect", lambda *_: Nobody())
    monkeypatch.setattr(doctor, "collect_heartbeats", heard)
    monkeypatch.setattr(doctor.StateFolder, "read", lambda _: Stack())
    with pytest.raises(OSError, match="no process has sent a heartbeat"):
        await doctor._stack(tmp_path)
    seen["referee"] = 1
    with pytest.raises(doctor.Temporary, match="referee: no heartbeat"):
        await doctor._stack(tmp_path)


@pytest.mark.parametrize(
    ("raised", "code"),
    [
        (BusUnavailable("no server answers"), ExitCode.UNREACHABLE),
        (Permanent("it is over"), ExitCode.FAILED),
        (KeyboardInterrupt(), ExitCode.INTERRUPTED),
        (BrokenPipeError(), ExitCode.BROKEN_PIPE),
    ],
)
def test_what_ends_a_verb_is_its_code(
    monkeypatch: pytest.MonkeyPatch, run_file: Path, raised: BaseException, code: ExitCode
) -> None:
    """An outage does not look like bad input, and an interrupt not like a finding."""

    def raising(*_: Any) -> Any:
        raise raised

    monkeypatch.setattr(verify, "verify", raising)
    monkeypatch.setattr(command_line, "_leave_stdout", lambda: None)
    assert code == main(["verify", str(run_file)])


def test_what_argparse_refuses_is_bad_input() -> None:
    """Its own exit code is the table's."""
    for given in (["verify"], ["diff", "a", "b", "--window", "x"]):
        with pytest.raises(SystemExit) as ended:
            main(given)
        assert ExitCode.BAD_INPUT == ended.value.code


def test_of_several_findings_the_worst_is_the_code() -> None:
    """A difference, then what was not looked at, then an early end."""
    assert ExitCode.GOOD == verdict()
    assert ExitCode.CUT_OFF == verdict(cut_off=True)
    assert ExitCode.NOTHING_COMPARED == verdict(nothing_compared=True, cut_off=True)
    assert ExitCode.DIFFERS == verdict(differs=True, nothing_compared=True, cut_off=True)
