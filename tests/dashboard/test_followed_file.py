"""A recording that is still being written is shown as it grows, until it is sealed or nobody writes it any more."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
import time
from contextlib import aclosing
from pathlib import Path

import httpx
import pytest

from bus.port import StoredMessage
from bus.recording import RecordingWriter, followed, open_recording
from bus.recording.followed import FollowedRecording
from tests.dashboard.test_file_view import RECORDING, opened_recording
from tests.dashboard.test_page import CHROMIUM, FLAGS, PATIENCE_MILLISECONDS
from tests.patience import HANGS_SECONDS

HALF = 150


def half_written(path: Path) -> tuple[RecordingWriter, list[StoredMessage]]:
    """Begin to write a recording; return its writer and all of its messages."""
    source = open_recording(RECORDING)
    messages = list(source)
    writer = RecordingWriter(path, source.header)
    for message in messages[:HALF]:
        writer.write(message)
    writer.flush()
    return writer, messages


async def test_what_is_added_comes_and_half_a_frame_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every message once and in order, those of a frame that was cut off after its rest has come; a seal ends it."""
    monkeypatch.setattr(followed, "POLL_SECONDS", 0.01)
    path, whole = tmp_path / "run.fslog", tmp_path / "whole.fslog"
    writer, messages = half_written(whole)
    begun = whole.stat().st_size
    for message in messages[HALF:]:
        writer.write(message)
    writer.flush()
    open_end = whole.stat().st_size
    writer.seal()
    written = whole.read_bytes()
    path.write_bytes(written[:begun])
    bus = FollowedRecording(path)
    seen: list[int] = []

    async def read() -> None:
        async with aclosing(bus.read([">"])) as stream:
            async for message in stream:
                seen.append(message.seq)  # noqa: PERF401 - it is looked at meanwhile

    reading = asyncio.create_task(read())
    async with asyncio.timeout(HANGS_SECONDS):
        while len(seen) < HALF:
            await asyncio.sleep(0.01)
        path.write_bytes(written[: begun + 10])
        await asyncio.sleep(0.1)
        assert (len(seen), bus.grows, bus.damage) == (HALF, True, "")
        path.write_bytes(written[:open_end])
        while len(seen) < len(messages):
            await asyncio.sleep(0.01)
        assert bus.grows
        path.write_bytes(written)
        while bus.grows:
            await asyncio.sleep(0.01)
    reading.cancel()

    assert seen == [message.seq for message in messages]
    assert (bus.damage, (await bus.info()).last_seq) == ("", messages[-1].seq)
    stretch = bus.history([">"], start_seq=HALF, end_seq=HALF + 2)
    assert [message.seq async for message in stretch] == seen[HALF - 1 : HALF + 2]
    assert await bus.last(messages[-1].subject) == messages[-1]


def test_the_page_follows_a_file_that_is_being_written(tmp_path: Path) -> None:
    """Its events appear while it is written, the page says so, and ends to say so once it is sealed."""
    path = tmp_path / "run.fslog"
    writer, messages = half_written(path)
    command = [sys.executable, "-m", "foresail", "dashboard", str(path)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    url = process.stdout.readline().split()[1]
    with httpx.Client(base_url=url, transport=httpx.HTTPTransport(retries=9)) as http:

        def head_at(seq: int, *, grows: bool) -> dict[str, object]:
            end = time.monotonic() + HANGS_SECONDS
            while time.monotonic() < end:
                head: dict[str, object] = http.get("/api/state").json()["sections"]["head"]
                if (head["seq"], head["grows"]) == (seq, grows):
                    return head
                time.sleep(0.1)
            raise AssertionError(head)

        head_at(messages[HALF - 1].seq, grows=True)
        for message in messages[HALF:]:
            writer.write(message)
        writer.flush()
        head = head_at(messages[-1].seq, grows=True)
        writer.seal()
        head_at(messages[-1].seq, grows=False)
    process.terminate()
    _, said = process.communicate(timeout=HANGS_SECONDS)

    assert head["file"] == "run.fslog"
    assert "is not sealed: what is added to it is shown, too" in said


@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="needs chromium on PATH")
def test_a_file_whose_writer_was_killed_is_said_to_have_stopped_growing(tmp_path: Path) -> None:
    """The badge says since when, and each layer; it stays in the bar's one line and follows once more is written."""
    playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright")
    path = tmp_path / "before-the-rolling-update.fslog"
    writer, messages = half_written(path)
    killed_s = time.time() - 600  # told in minutes, and some of them pass on a slow machine
    os.utime(path, (killed_s, killed_s))
    with opened_recording(path) as url, playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.set_default_timeout(PATIENCE_MILLISECONDS)
        page.goto(url)
        badge = page.get_by_test_id("live")
        playwright.expect(badge).to_have_text(re.compile(r"^stopped growing\d\d min ago$"))
        playwright.expect(page.get_by_test_id("layer-decision")).to_contain_text(
            re.compile(r"\d\d min ago")
        )
        name = page.locator("header.bar h1").bounding_box()
        assert abs(badge.bounding_box()["y"] - name["y"]) < name["height"]
        for message in messages[HALF:]:
            writer.write(message)
        writer.flush()
        playwright.expect(badge).to_have_attribute("data-state", "follows")
        assert abs(badge.bounding_box()["y"] - name["y"]) < name["height"]
        writer.seal()
        playwright.expect(badge).to_have_attribute("data-state", "file")
        assert abs(badge.bounding_box()["y"] - name["y"]) < name["height"]
        browser.close()
