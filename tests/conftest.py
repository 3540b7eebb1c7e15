"""The folder of what is made once for all workers of a run (`tests/made_once.py`)."""

from __future__ import annotations

import os
import shutil
from tempfile import mkdtemp

import pytest

from tests.made_once import VARIABLE

OWN_FOLDER = pytest.StashKey[str]()


def pytest_configure(config: pytest.Config) -> None:
    """Make the folder; workers are told by their environment."""
    if VARIABLE not in os.environ:
        config.stash[OWN_FOLDER] = os.environ[VARIABLE] = mkdtemp(prefix="foresail-tests-")


def pytest_unconfigure(config: pytest.Config) -> None:
    """Remove it, where this process made it."""
    if (folder := config.stash.get(OWN_FOLDER, None)) is not None:
        del os.environ[VARIABLE]
        shutil.rmtree(folder, ignore_errors=True)
