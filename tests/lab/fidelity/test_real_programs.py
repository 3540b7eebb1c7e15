"""The harness on the real programs, where they are at hand."""

from __future__ import annotations

import asyncio
import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from bus.clock import SystemClock
from lab.fidelity.compare import compare
from lab.fidelity.real.play import play_on_real
from lab.fidelity.real.processes import CONTROL_PLANE
from lab.fidelity.scenario import Scenario, read_scenario
from lab.fidelity.twin_side import play_in_twin
from tests.real_api_server import ASSETS

pytestmark = pytest.mark.slow


@pytest.fixture
def binaries() -> Path:
    """Return the folder of the real programs; skip where one is missing."""
    folder = os.environ.get(ASSETS, "")
    missing = [name for name in CONTROL_PLANE if not shutil.which(name, path=folder)]
    if not folder or missing:
        pytest.skip(f"no {', '.join(missing)} in {ASSETS}")
    return Path(folder)


def short(scenario: Scenario) -> Scenario:
    """Return a scenario without what would need its later half."""
    return replace(scenario, seconds=25.0)


def test_real_programs_are_played_and_agree(binaries: Path) -> None:
    """What real programs refuse and grant in a resize is measured anew, and is what the twin does."""
    scenario = short(read_scenario("resize-rules"))
    real = asyncio.run(play_on_real(scenario, binaries, SystemClock(), None))
    assert real.programs["kube-apiserver"].startswith("v1.")
    assert [one.name for one in real.pods] == ["burstable", "guaranteed"]
    assert all(one.ready is not None for one in real.pods)
    rows = compare(scenario, play_in_twin(scenario, 1), [real]).rows
    assert [row.promise.text for row in rows if not (row.holds or row.promise.cause)] == []
