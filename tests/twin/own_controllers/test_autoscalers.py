"""Karpenter and Cluster Autoscaler with their kwok providers on the twin decide as the twin's own ones do.

`python -m proofs.real_programs karpenter --minutes 15` plays the same scenarios over and over.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest

from proofs.real_programs.cluster import Cluster
from proofs.real_programs.log_lines import complaints
from proofs.real_programs.processes import Missing
from proofs.real_programs.programs import PROGRAMS, Program

NAMES = ("karpenter", "cluster-autoscaler")
pytestmark = [pytest.mark.twin, pytest.mark.slow, pytest.mark.timeout(400)]
SCENARIOS = [
    pytest.param(name, scenario.__name__, id=f"{name} {scenario.__name__}")
    for name in NAMES
    for scenario in PROGRAMS[name].scenarios
]
Run = tuple[Program, Cluster, Sequence[Path]]


class Worlds:
    """One cluster at a time, kept while the same is asked for."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: tuple[str, Run] | None = None
        self._stack = ExitStack()

    def of(self, name: str, *, real: bool) -> Run:
        """Return a program's cluster; skip where the program is not on this machine."""
        key = f"{name} {'real' if real else 'built-in'}"
        if self._known is None or self._known[0] != key:
            self.close()
            program, place = PROGRAMS[name], self._folder / key.replace(" ", "-")
            place.mkdir()
            try:
                run = (program.real if real else program.built_in)(place)
                cluster, logs = self._stack.enter_context(run)
            except Missing as missing:
                pytest.skip(str(missing))
            self._known = (key, (program, cluster, logs))
        return self._known[1]

    def close(self) -> None:
        """End what runs."""
        self._known = None
        self._stack.close()


@pytest.fixture(scope="module")
def worlds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worlds]:
    """Start clusters as they are asked for."""
    made = Worlds(tmp_path_factory.mktemp("autoscalers"))
    yield made
    made.close()


@pytest.mark.parametrize(("name", "scenario"), SCENARIOS)
def test_the_twins_own_one_decides_so(worlds: Worlds, name: str, scenario: str) -> None:
    """Each scenario holds for the built-in one, some cluster seconds each second."""
    _play(*worlds.of(name, real=False)[:2], scenario)


@pytest.mark.parametrize(("name", "scenario"), SCENARIOS)
def test_the_real_one_decides_so(worlds: Worlds, name: str, scenario: str) -> None:
    """Each scenario holds for the program, unchanged, at speed 1 and with rights of its own."""
    program, cluster, logs = worlds.of(name, real=True)
    _play(program, cluster, scenario)
    assert [line for log in logs for line in complaints(log, program.allowed)] == []


def _play(program: Program, cluster: Cluster, scenario: str) -> None:
    try:
        next(one for one in program.scenarios if one.__name__ == scenario)(cluster)
    finally:
        program.clear(cluster)
