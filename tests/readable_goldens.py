"""Goldens as readable text files.

They are written anew by `UPDATE_GOLDENS=1 make test PYTEST_ARGS="tests/explain tests/timeline tests/projections"`; look
at the difference before you commit it.
"""

from __future__ import annotations

import io
import os
from pathlib import Path

from rich.console import Console, RenderableType

COLUMNS, ROWS = 100, 40
"""The terminal that usual screens fit."""


def plain_text(what: RenderableType) -> str:
    """Return what a terminal without colour shows."""
    file = io.StringIO()
    Console(file=file, width=COLUMNS, no_color=True, highlight=False).print(what)
    return "\n".join(line.rstrip() for line in file.getvalue().splitlines()) + "\n"


def check(path: Path, text: str) -> None:
    """Compare a text with its golden file, or write the file when asked to."""
    if os.environ.get("UPDATE_GOLDENS"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == text
