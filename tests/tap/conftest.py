"""A small recording of every layer, and the command line over it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from bus.port import StoredMessage
from bus.recording import RecordingWriter
from foresail.__main__ import main
from projections.event_text import HEADING
from schemas.actions import ActionKind
from schemas.envelope import Event
from schemas.frames import apply_frame
from schemas.reaction import ReactionItem, ReactionKind
from schemas.registry import encode
from tests.builders import (
    START_SECONDS,
    make_action,
    make_decision,
    make_demand,
    make_execution,
    make_observation,
    make_proposal,
    make_reaction,
    make_risk,
    stamp_event,
)

SECOND_NS = 1_000_000_000


def events_of_layers() -> list[Event[Any]]:
    """Return three cycles: node-1 gets hot, A wins, node-1 goes."""
    first = make_observation({"node-0": {}, "node-1": {}}, cycle=1)
    hot = {"node-0": {}, "node-1": {"cpu_requested_ratio": 0.9}}
    second = make_observation(hot, cycle=2, previous=apply_frame(None, first))
    item = ReactionItem(
        kind=ReactionKind.NODE_GONE,
        object="node-1",
        node="node-1",
        time_seconds=START_SECONDS + 10,
        lag_seconds=None,
        text="node node-1 is gone",
    )
    action = make_action("safety", ActionKind.REPLICATE, "node-1")
    data = [
        first,
        make_risk({"node-0": 0.1, "node-1": 0.2}, cycle=1),
        make_proposal("admission", cycle=1, score=0.9),
        second,
        make_risk({"node-0": 0.1, "node-1": 0.95}, cycle=2),
        make_demand({"node-0": 0.1, "node-1": 0.7}, cycle=2),
        make_proposal("safety", ActionKind.REPLICATE, cycle=2, target="node-1", score=0.95),
        make_proposal("admission", cycle=2, score=0.2),
        make_decision(action, cycle=2),
        make_execution(action, cycle=2),
        make_reaction(cycle=3, reactions=(item,)),
    ]
    return [stamp_event(one, seq=number) for number, one in enumerate(data, start=1)]


def write_recording(path: Path, events: Sequence[Event[Any]], *foreign: StoredMessage) -> Path:
    """Write events as a recording, one a second, and messages that are no events behind them."""
    writer = RecordingWriter(path, {"cluster": "test", "incarnation": "1"})
    for event in events:
        encoded = encode(event)
        at = round(START_SECONDS) * SECOND_NS + event.seq * SECOND_NS
        writer.write(
            StoredMessage(event.seq, at, encoded.subject, dict(encoded.headers), encoded.data)
        )
    for message in foreign:
        writer.write(message)
    writer.seal()
    return path


@pytest.fixture
def tap(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., list[str]]:
    """Run `foresail tap` over the recording and return what it prints below its heading, line by line."""
    file = write_recording(tmp_path / "run.fslog", events_of_layers())

    def run(*arguments: str, code: int = 0) -> list[str]:
        assert main(["tap", *arguments, "--recording", str(file)]) == code
        output = capsys.readouterr()
        lines = (output.out if code == 0 else output.err).splitlines()
        return lines[1:] if lines[:1] == [HEADING] else lines

    return run
