"""What a program complains about in its log, and which complaints it would make on a real cluster as well."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path

_KLOG = re.compile(r"[EF]\d{4} ")
_LEVELS = frozenset({"error", "dpanic", "panic", "fatal"})
_CRASH = re.compile(r"panic: |fatal error: |goroutine \d+ \[running\]")
EVERYWHERE = {
    r"leader election lost|leaderelection lost|failed to renew lease.*context canceled": "it was told to end",
    r"context canceled|http: Server closed": "it was told to end",
}
"""Patterns with the reason why a line is no complaint about the server."""


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


def complaints(log: Path, allowed: Mapping[str, str]) -> list[str]:
    """Return the complaints of a log for which no reason is known."""
    harmless = [re.compile(pattern) for pattern in (*EVERYWHERE, *allowed)]
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    return [
        line
        for line in lines
        if is_complaint(line) and not any(pattern.search(line) for pattern in harmless)
    ]
