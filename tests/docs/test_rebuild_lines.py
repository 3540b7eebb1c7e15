"""The lines that docs/tap-and-record.md gives to plain NATS users rebuild the state."""

from __future__ import annotations

import json
import re
from typing import Any

from bus.recording import open_recording
from schemas.frames import FramedData, FullState, apply_frame
from schemas.registry import decode
from tests.architecture.source_tree import ROOT

PAGE = ROOT / "docs" / "tap-and-record.md"


def lines_of_the_page() -> Any:
    """Return the page's function."""
    (code,) = re.findall(
        r"```python\n(def rebuild.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL
    )
    names: dict[str, Any] = {}
    exec(code, names)
    return names["rebuild"]


def test_they_give_the_same_state_as_our_own_reader() -> None:
    """After every observation and snapshot of a recorded run, deltas and keyframes alike."""
    rebuild = lines_of_the_page()
    theirs: dict[str, dict[str, Any]] = {}
    ours: dict[str, FullState] = {}
    kinds = set()
    for message in open_recording(ROOT / "tests" / "golden" / "v1.fslog"):
        if message.subject.split(".")[2] not in {"snapshot", "observation"}:
            continue
        event = decode(message.subject, message.headers, message.data)
        assert isinstance(event.data, FramedData)
        state = ours[event.type] = apply_frame(ours.get(event.type), event.data)
        tables = theirs.setdefault(event.type, {})
        rebuild(tables, json.loads(message.data))
        kinds.add((event.type, event.data.frame.frame))
        whole = {name: table.model_dump(mode="json") for name, table in state.tables.items()}
        assert tables == whole
    assert len(kinds) == 8
