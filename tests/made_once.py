"""What several files of tests look at and takes long to make: made by one worker of a run, for all of them."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from pathlib import Path

VARIABLE = "TESTS_MADE_ONCE"
"""Names the run's folder, which `tests/conftest.py` makes and removes."""


def made_once(name: str, make: Callable[[Path], object]) -> Path:
    """Return the folder of this name, which `make` has filled; whoever comes meanwhile waits. Nobody changes it."""
    place = Path(os.environ[VARIABLE])
    folder = place / name
    with (place / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            part = place / f"{name}.{os.getpid()}.part"
            part.mkdir()
            make(part)
            part.rename(folder)
    return folder
