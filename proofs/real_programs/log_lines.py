"""What a program complains about in its log, and which complaints it makes on a real API server as well.

`log_lines.tsv` is the evidence: a line is allowed on the twin only if it was seen on a real server (1.36.2
with its controllers, and pods whose statuses `lab/fidelity/real/node_keeper.py` writes).
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

_KLOG = re.compile(r"[EF]\d{4} ")
_LEVELS = frozenset({"error", "dpanic", "panic", "fatal"})
_CRASH = re.compile(r"panic: |fatal error: |goroutine \d+ \[running\]")
_TRACE = re.compile(r"goroutine \d+ \[running\]")
EVERYWHERE = {
    r"leader election lost|leaderelection lost|failed to renew lease.*context canceled": "it was told to end",
    r"context canceled|http: Server closed": "it was told to end",
}
"""Patterns with the reason why a line is no complaint about the server."""


_TABLE = Path(__file__).with_name("log_lines.tsv")
_COLUMNS = ("program", "version", "pattern", "real", "twin", "reason")


@dataclass(frozen=True, slots=True)
class KnownLine:
    """A pattern of complaints that a real server causes."""

    program: str
    version: str
    pattern: str
    real: int
    """How many were seen on a real server, and then on a twin."""
    twin: int
    reason: str


def known_lines() -> list[KnownLine]:
    """Read the evidence; raises ValueError for a row that is not complete."""
    rows = []
    for number, line in enumerate(_TABLE.read_text(encoding="utf-8").splitlines(), 1):
        if not line or line.startswith(("#", "program\t")):
            continue
        cells = line.split("\t")
        if len(cells) != len(_COLUMNS):
            raise ValueError(
                f"{_TABLE.name}:{number}: give {', '.join(_COLUMNS)}, with tabs between"
            )
        program, version, pattern, real, twin, reason = cells
        rows.append(KnownLine(program, version, pattern, int(real), int(twin), reason))
    return rows


def allowed_of(*programs: str) -> dict[str, str]:
    """Return the patterns of programs with their reasons."""
    return {row.pattern: row.reason for row in known_lines() if row.program in programs}


def is_complaint(line: str) -> bool:
    """Say whether a line is of level error or above, in klog's form or as JSON, or tells of a crash."""
    if _KLOG.match(line) or _CRASH.search(line):
        return True
    if not line.startswith("{"):
        return False
    try:
        found = json.loads(line)
    except ValueError:
        return False
    return str(found.get("level", "")).lower() in _LEVELS


def tally(logs: Iterable[Path], allowed: Mapping[str, str]) -> Counter[str]:
    """Count the complaints of logs by the first pattern that they meet."""
    met: Counter[str] = Counter()
    for log in logs:
        for line in log.read_text(encoding="utf-8", errors="replace").splitlines():
            first = (one for one in (*EVERYWHERE, *allowed) if re.search(one, line))
            if is_complaint(line) and (pattern := next(first, None)) is not None:
                met[pattern] += 1
    return met


def complaints(log: Path, allowed: Mapping[str, str]) -> list[str]:
    """Return the complaints of a log for which no reason is known; a crash gives its own before its trace."""
    harmless = [re.compile(pattern) for pattern in (*EVERYWHERE, *allowed)]
    found, explained = [], False
    for line in log.read_text(encoding="utf-8", errors="replace").splitlines():
        if not is_complaint(line):
            continue
        if not (explained and _TRACE.match(line)):
            explained = any(pattern.search(line) for pattern in harmless)
            if not explained:
                found.append(line)
    return found
