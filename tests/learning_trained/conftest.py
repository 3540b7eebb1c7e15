"""Tests that train: they need the extra `learn`, so `make test-learn` runs them in an environment of its own."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

NEEDED = ("gymnasium", "sb3_contrib", "stable_baselines3", "tensorboard", "torch")
MISSING = [name for name in NEEDED if find_spec(name) is None]


@pytest.fixture(autouse=True)
def _with_the_extra() -> None:
    if MISSING:
        pytest.skip(f"needs the extra `learn` ({', '.join(MISSING)} missing): make test-learn")
