"""Sealed recordings go into an S3-compatible bucket: once each, again after a failure, and old files go only then."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from bus.errors import ConfigError
from services.recorder.bucket import Bucket, BucketUnavailable
from services.recorder.retention import KeptFile, to_remove
from tests.recorder.conftest import Log, log_lines, until
from tests.recorder.s3_server import S3Server, running_s3

SECRET = "secret-of-the-test"


@pytest.fixture
def s3(monkeypatch: pytest.MonkeyPatch) -> Iterator[S3Server]:
    """Return a server with no bucket, and its keys in the environment."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    with running_s3() as server:
        yield server


@pytest.mark.nats
@pytest.mark.timeout(400)
async def test_an_upload_that_fails_is_shown_and_tried_again(
    log: Log, tmp_path: Path, s3: S3Server
) -> None:
    """Without its bucket the recorder says so once and records on; then every recording arrives, byte for byte."""
    folder, output = tmp_path / "recordings", tmp_path / "recorder.log"
    settings = {
        "folder": str(folder),
        "roll_seconds": 1,
        "bucket": "s3://week/shop",
        "bucket_endpoint": s3.url,
        "retry_seconds": 0.5,
        "max_age_seconds": 60,
    }
    process = await log.start_recorder(settings, output)
    for _ in range(25):
        await log.write(5)
        await asyncio.sleep(0.1)
    await until(lambda: any(line["level"] == "error" for line in log_lines(output)))
    await asyncio.sleep(1.5)
    assert not any(line["event"] == "uploaded" for line in log_lines(output))

    await asyncio.to_thread(s3.make_bucket, "week")
    await until(lambda: any(line["event"] == "is well again" for line in log_lines(output)))
    await log.write(5)
    process.send_signal(signal.SIGTERM)
    assert await process.wait() == 0

    (error,) = [line["event"] for line in log_lines(output) if line["level"] == "error"]
    assert "to be uploaded: s3://week/shop: 404 Not Found NoSuchBucket" in error
    files = sorted(folder.glob("*.fslog"))
    assert len(files) >= 3
    bucket = Bucket("s3://week/shop", endpoint=s3.url)
    for file in files:
        await bucket.download(file.name, tmp_path / "back")
        assert (tmp_path / "back").read_bytes() == file.read_bytes()
    assert SECRET not in output.read_text(encoding="utf-8")
    told = [one for one in await log.stored() if one.subject.endswith("run.error.recorder")]
    assert len(told) == 1


@pytest.mark.nats
@pytest.mark.timeout(400)
async def test_what_the_bucket_holds_is_not_sent_again(
    log: Log, tmp_path: Path, s3: S3Server
) -> None:
    """A recorder that starts asks the bucket what is there; a bucket is read back name by name."""
    await asyncio.to_thread(s3.make_bucket, "week")
    folder, output = tmp_path / "recordings", tmp_path / "recorder.log"
    settings = {"folder": str(folder), "bucket": "s3://week", "bucket_endpoint": s3.url}
    for _ in range(2):
        process = await log.start_recorder(settings, output)
        await log.write(5)
        await asyncio.sleep(0.5)
        process.send_signal(signal.SIGTERM)
        assert await process.wait() == 0
    uploaded = [line["recording"] for line in log_lines(output) if line["event"] == "uploaded"]
    files = sorted(file.name for file in folder.glob("*.fslog"))
    assert sorted(uploaded) == files
    assert len(files) == 2

    bucket = Bucket("s3://week", endpoint=s3.url)
    assert sorted(await bucket.sizes()) == files
    await bucket.download(files[0], tmp_path / "back")
    assert (tmp_path / "back").read_bytes() == (folder / files[0]).read_bytes()
    with pytest.raises(BucketUnavailable, match="s3://other: 404 Not Found NoSuchBucket"):
        await Bucket("s3://other", endpoint=s3.url).sizes()


def test_old_recordings_go_but_none_that_is_only_here() -> None:
    """By age goes what is safe, by size the oldest of all, and nothing that fits."""

    def file(name: str, end: float, safe: bool) -> KeptFile:
        return KeptFile(name, end - 10, end, 100, safe)

    files = [file("a", 10, True), file("b", 20, False), file("c", 900, True), file("d", 990, True)]

    def gone(max_bytes: int) -> list[tuple[str, str]]:
        removals = to_remove(files, now_seconds=1000, max_age_seconds=500, max_bytes=max_bytes)
        return [(removal.file.name, removal.reason) for removal in removals]

    assert gone(1000) == [("a", "age")]
    assert gone(300) == [("a", "age")]
    assert gone(250) == [("a", "age"), ("b", "size")]
    assert gone(50) == [("a", "age"), ("b", "size"), ("c", "size"), ("d", "size")]


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the extra, a bucket is refused in one line that says what to install."""
    monkeypatch.setitem(sys.modules, "obstore", None)
    with pytest.raises(ConfigError, match=r"recorder.bucket = s3://b: .*foresail\[s3\]"):
        Bucket("s3://b")
