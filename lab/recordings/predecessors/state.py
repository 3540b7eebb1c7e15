"""The predecessor's state file, how a run stood at one moment, as the lines of an event file that it sums up.

It keeps the last of each thing: one snapshot, one decision, up to 80 rewards. Stages, trials, files and errors carry
their own times; what has none is of the moment when the state was written.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from lab.recordings.predecessors.carried import CarriedEvent, LeftOut, word_for_word
from lab.recordings.predecessors.events import line_events
from lab.recordings.predecessors.forms import StateFile
from lab.recordings.predecessors.reading import Rows, fit

LATEST = {"cluster": 1, "decision": 2}
"""In this order, after what else is of the same moment."""


def state_events(
    path: Path, rows: Rows, left_out: LeftOut, *, exact: bool = False
) -> Iterator[CarriedEvent]:
    """Yield the events of a state file; `exact`: the file word for word, too.

    Raises:
        InputError: a part does not fit its form.
    """
    number, content = rows[0]
    state = fit(StateFile, path, number, content)
    lines = sorted(_lines(state), key=lambda line: (_at(line), LATEST.get(line["kind"], 0)))
    if exact:
        yield word_for_word("state", number, content, _at(lines[0]).timestamp())
    yield from line_events(path, [*enumerate(lines, start=1)], left_out)


def _at(line: dict[str, Any]) -> datetime:
    return datetime.fromisoformat(line["time"])


def _lines(state: StateFile) -> Iterator[dict[str, Any]]:
    """Yield what an event file would say of each part."""
    now = state.updated_at.isoformat()
    for stage in state.stages:
        yield {"time": now, "kind": "stage", "message": stage.get("detail") or "", **_timed(stage)}
    study = state.optuna.get("study")
    for trial in state.optuna.get("history") or []:
        yield {"time": now, "kind": "optuna", "study": study, **trial}
    for kind, parts in (("artifact", state.artifacts), ("reward", state.rewards)):
        for part in parts:
            yield {"time": now, "kind": kind, **part}
    for error in state.errors:
        said = error if isinstance(error, dict) else {"message": str(error)}
        yield {"time": now, "kind": "error", **said}
    if state.cluster:
        yield {**state.cluster, "time": now, "kind": "cluster"}
    if state.decision:
        yield {**state.decision, "time": now, "action_kind": state.decision.get("kind"),
               "kind": "decision"}  # fmt: skip


def _timed(stage: dict[str, Any]) -> dict[str, Any]:
    at = stage.get("updated_at")
    return stage if at is None else {**stage, "time": at}
