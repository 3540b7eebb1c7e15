"""One small recording for the whole folder, and a way to change what it says."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bus.port import StoredMessage
from bus.recording import RecordingWriter, open_recording
from foresail.__main__ import main
from lab.rerun.stage import Recorded
from schemas.envelope import Event
from schemas.registry import encode, to_json
from tests.made_once import made_once

Change = Callable[[StoredMessage], StoredMessage | None]


@pytest.fixture(scope="session")
def recorded_run() -> Path:
    """Record 26 cycles of 8 busy nodes, with the exerciser, on virtual time."""
    return (
        made_once("rerun", lambda folder: record(folder / "run.fslog", seconds=130)) / "run.fslog"
    )


def record(path: Path, seconds: int) -> Path:
    """Record as many seconds of 8 busy nodes, a cycle every five."""
    flags = f"--virtual-time --for {seconds}s --nodes 8 --seed 3 --exercise --speed 2 --interval 5"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FORESAIL_EXERCISER__PATIENCE_CYCLES", "0")  # every phase within these cycles
        patch.delenv("FORESAIL_DATA", raising=False)  # the same run with and without real traces
        assert 0 == main(["up", *flags.split(), "--json", "--record", str(path)])
    return path


def rewritten(path: Path, to: Path, change: Change, header: dict[str, Any] | None = None) -> Path:
    """Write a recording again with changed messages; None leaves one out."""
    recording = open_recording(path)
    kept = {
        key: value for key, value in recording.header.items() if key not in {"format", "version"}
    }
    writer = RecordingWriter(to, {**kept, **(header or {})})
    for message in change_messages(recording, change):
        writer.write(message)
    writer.seal()
    return to


def change_messages(messages: Iterable[StoredMessage], change: Change) -> Iterable[StoredMessage]:
    """Yield messages after `change`."""
    for message in messages:
        one = change(message)
        if one is not None:
            yield one


def with_data(message: StoredMessage, change: Callable[[dict[str, Any]], None]) -> StoredMessage:
    """Return a message whose data were changed in place."""
    content = json.loads(message.data)
    change(content)
    return replace(message, data=to_json(content))


def recorded_of(event: Event[Any]) -> Recorded:
    """Return an event as a re-run reads it from a recording."""
    encoded = encode(event)
    message = StoredMessage(event.seq, 0, encoded.subject, encoded.headers, encoded.data)
    attributes = {name.removeprefix("ce-"): value for name, value in encoded.headers.items()}
    return Recorded(message, attributes)
