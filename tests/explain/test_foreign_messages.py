"""Logs that hold what this version cannot read: the verbs say so and go on."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from bus.port import StoredMessage
from foresail.__main__ import main
from schemas.envelope import Event
from schemas.registry import encode
from tests.explain.theatre import RISKY, Theatre
from tests.tap.conftest import write_recording


def _foreign(event: Event[Any], seq: int, subject: str) -> StoredMessage:
    """Return a message as a newer version might write it: with headers that fit, and other data."""
    encoded = encode(event)
    headers = {**encoded.headers, "ce-type": "foresail.decision.v99"}
    return StoredMessage(seq, 1, subject, headers, b'{"other": true}')


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Record one cycle, an event of a newer version, and text that is nothing at all."""
    theatre = Theatre()
    asyncio.run(theatre.play(RISKY))
    decided = next(event for event in theatre.events if event.type == "foresail.decision.v2")
    newer = _foreign(decided, 900, "foresail.test.outcome.verification")
    nothing = StoredMessage(901, 2, "foresail.test.reaction", {}, b"not JSON")
    return write_recording(tmp_path / "run.fslog", theatre.events, newer, nothing)


@pytest.mark.parametrize(
    ("arguments", "expected_text"),
    [
        (("explain", "1"), "this version cannot read 900"),
        (("tap",), "901  foresail.test.reaction  not an event"),
        (("tap", "reaction", "--json"), "not JSON"),
        (("timeline",), "no incident"),
    ],
)
def test_what_cannot_be_read_is_named(
    file: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], expected_text: str
) -> None:
    """No verb breaks on it, and each shows what it can."""
    assert main([*arguments, "--recording", str(file)]) == 0
    assert expected_text in capsys.readouterr().out


def test_json_lists_what_cannot_be_read(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Scripts see the positions."""
    assert main(["explain", "1", "--json", "--recording", str(file)]) == 0
    assert json.loads(capsys.readouterr().out)["unreadable"] == [900]
