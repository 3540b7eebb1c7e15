"""Whether somebody still writes a recording: it has no end yet, and was written to a moment ago."""

from __future__ import annotations

from pathlib import Path

from bus.recording.frames import CUT_OFF
from bus.recording.reader import NOT_SEALED

SILENT_SECONDS = 60
"""After which a file that nobody sealed is not taken for one that grows, as on a page (web/src/lib/late.ts)."""


def changed_ms(path: Path) -> int | None:
    """Return when a file was last written to, in milliseconds of wall time; None once it is gone."""
    try:
        return path.stat().st_mtime_ns // 1_000_000
    except OSError:
        return None


def still_written(damage: str, changed: int | None, now_ms: int) -> bool:
    """Say whether what reading called damage is only that the file's writer is still at it.

    Args:
        damage: what reading it said of its end.
        changed: when it was last written to, in milliseconds of wall time; None: it is gone.
        now_ms: wall time.
    """
    open_end = damage == NOT_SEALED or damage.startswith(CUT_OFF)
    return open_end and changed is not None and now_ms - changed <= SILENT_SECONDS * 1_000
