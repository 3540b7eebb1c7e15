"""One run on virtual time, recorded, for every test of this folder that needs a real log."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from foresail.settings import resolve
from foresail.stack.virtual import run_virtual_stack
from tests.made_once import made_once


@pytest.fixture(scope="session")
def run_file() -> Path:
    """Return the recording of 60 cycles on 6 nodes, in which every kind of event occurs."""
    return made_once("recordings", _play) / "run.fslog"


def _play(folder: Path) -> None:
    given: dict[str, Any] = {
        "run.virtual_time": True,
        "run.for_seconds": 300.0,
        "run.nodes": 6,
        "run.exercise": True,
        "exerciser.patience_cycles": 0,  # every phase within these cycles
        "run.record": str(folder / "run.fslog"),
    }
    run_virtual_stack(resolve(None, {}, given), quiet=True)
