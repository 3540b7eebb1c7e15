"""Where the pack of real traces is: FORESAIL_DATA, or `shared/data` beside the repository."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.architecture.source_tree import ROOT


def pack_file(name: str) -> Path:
    """Return a file of the pack; skips the test, saying so, where there is none."""
    folder = Path(os.environ.get("FORESAIL_DATA") or ROOT.parent / "shared" / "data")
    path = folder / name
    if not path.exists():
        pytest.skip(f"needs {name} of the trace pack: set FORESAIL_DATA to its folder")
    return path
