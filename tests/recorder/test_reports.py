"""What the recorder leaves is what `foresail report` reads: a folder or a bucket, each event once."""

from __future__ import annotations

import asyncio
import json
import shutil
from pathlib import Path

import pytest

from bus.recording import open_recording
from bus.recording.log_part import LogPart
from foresail.__main__ import main
from foresail.report_sources import needed
from schemas.identity import Origin
from services.recorder.bucket import Bucket
from services.recorder.rolling import RecordingFolder
from services.recorder.settings import RecorderSettings
from tests.recorder.s3_server import running_s3
from tests.timeline.scripted import play_incident


@pytest.fixture
def rolled(tmp_path: Path) -> Path:
    """Return a folder with a run in recordings of one minute each, and the whole beside it."""
    shutil.copy(play_incident("node-failure").recording, tmp_path / "whole.fslog")
    recording = open_recording(tmp_path / "whole.fslog")
    origin = Origin(recording.header["cluster"], recording.header["incarnation"])
    folder = RecordingFolder(
        RecorderSettings(folder=str(tmp_path / "rolled"), roll_seconds=60), origin
    )
    folder.path.mkdir()
    for message in recording:
        if not folder.covers(message):
            folder.seal()
            folder.open(message, LogPart(message.seq, message.seq, complete=False, whole=False), {})
        folder.write(message)
    folder.seal()
    return tmp_path


def report(capsys: pytest.CaptureFixture[str], *arguments: object) -> dict[str, object]:
    """Return a report as JSON values."""
    capsys.readouterr()
    assert main(["report", "--json", *map(str, arguments)]) == 0
    found: dict[str, object] = json.loads(capsys.readouterr().out)
    return found


def test_rolled_recordings_say_what_the_whole_says(
    rolled: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same figures, of all of it and of its end; a file that had ended before that is not read."""
    whole, parts = rolled / "whole.fslog", rolled / "rolled"
    files = sorted(parts.glob("*.fslog"))
    assert len(files) >= 4
    assert report(capsys, "--recording", parts) == report(capsys, "--recording", whole)

    files[0].write_bytes(files[0].read_bytes()[:-200])  # read, it would be an error
    since = ("--since", "90s")
    assert report(capsys, "--recording", parts, *since) == report(
        capsys, "--recording", whole, *since
    )


def test_a_log_that_began_anew_under_its_name_counts_as_well(
    rolled: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """After `foresail reset` positions begin anew: later events at old positions are no doubles."""
    once = report(capsys, "--recording", rolled / "rolled")
    recording = open_recording(rolled / "whole.fslog")
    origin = Origin(recording.header["cluster"], recording.header["incarnation"])
    again = RecordingFolder(RecorderSettings(folder=str(rolled / "rolled")), origin)
    later = [
        type(one)(one.seq, one.time_ns + 10**14, one.subject, one.headers, one.data)
        for one in recording
    ]
    again.open(later[0], LogPart(1, 1, complete=True, whole=True), {})
    for message in later:
        again.write(message)
    again.seal()
    twice = report(capsys, "--recording", rolled / "rolled")
    assert once["modes"]
    assert twice["modes"] == {mode: 2 * count for mode, count in dict(once["modes"]).items()}  # type: ignore[call-overload]


@pytest.mark.timeout(400)
def test_a_bucket_is_read_as_a_folder(
    rolled: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`--recording s3://...` says what the folder says; a bucket that is not there is one line, exit code 2."""
    with running_s3() as s3:
        monkeypatch.setenv("AWS_ENDPOINT_URL", s3.url)
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
        s3.make_bucket("week")
        bucket = Bucket("s3://week/shop", endpoint=s3.url)

        async def upload() -> None:
            for file in (rolled / "rolled").glob("*.fslog"):
                await bucket.upload(file)

        asyncio.run(upload())
        assert report(capsys, "--recording", "s3://week/shop") == report(
            capsys, "--recording", rolled / "rolled"
        )
        assert main(["report", "--recording", "s3://other"]) == 2
        assert "--recording = s3://other: see that it can be read" in capsys.readouterr().err


def test_only_what_may_hold_the_time_is_fetched() -> None:
    """Of a week in a bucket, the last two hours are the files that reach into them, of every start."""
    names = [
        "c.i1.20261126T100000Z.000000000001.fslog",
        "c.i1.20261126T110000Z.000000000101.fslog",
        "c.i1.20261126T120000Z.000000000201.fslog",
        "c.i2.20261126T130000Z.000000000001.fslog",
        "c.i2.20261126T140000Z.000000000301.fslog",
        "notes.txt",
    ]
    assert needed(names, 2 * 3600) == names[2:5]
    assert needed(names, None) == names[:5]
