"""How attempts ended, a file each in the session's folder: known even if the runner was killed before it was told."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

from lab.sessions.engines.port import Ending
from lab.sessions.job_supervisor import ENDED


class EndingFiles:
    """The endings of one session."""

    def __init__(self, folder: Path) -> None:
        """Keep them below `folder`, the session's own."""
        self._folder = folder / ENDED

    def find(self, name: str) -> Ending | None:
        """Return how an attempt ended; None where it has not, or nobody knows."""
        try:
            return ending_of(json.loads((self._folder / f"{name}.json").read_bytes()))
        except (OSError, ValueError, KeyError):
            return None

    def names(self) -> frozenset[str]:
        """Return the attempts whose ending is known."""
        return frozenset(path.stem for path in self._folder.glob("*.json"))

    def write(self, ending: Ending) -> None:
        """Keep an ending, whole or not at all; raises OSError where the disk is full."""
        self._folder.mkdir(parents=True, exist_ok=True)
        path = self._folder / f"{ending.name}.json"
        unfinished = path.with_suffix(".part")
        content = {
            "ended": ending.name,
            "code": ending.exit_code,
            "seconds": ending.seconds,
            "timed_out": ending.timed_out,
            "reason": ending.reason,
            "log_tail": ending.log_tail,
        }
        unfinished.write_text(json.dumps(content), encoding="utf-8")
        unfinished.replace(path)


def ending_of(told: dict[str, Any]) -> Ending:
    """Return an ending as a file or the supervisor tells it; raises KeyError for anything else."""
    code = told["code"]
    reason = told.get("reason", "")
    if "why" in told:
        reason = f"it did not start ({told['why']})"
    elif code is not None and code < 0:
        reason = reason or f"ended by {signal.Signals(-code).name}"
    return Ending(
        told["ended"],
        code,
        told["seconds"],
        timed_out=told.get("timed_out", False),
        reason=reason,
        log_tail=tuple(told.get("log_tail", ())),
    )
